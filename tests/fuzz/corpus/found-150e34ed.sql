:on erroop Desk"
:setvar Partner Store
:setvar Port $022úÅßcommon.sql
GO’USE [$(Database)]
GO 2
CREATE ROUTEÿCE_NAME = '$(Unknown)', ADDRESS = "tcp://Desk:4022", LIFETIME = $(Port)
:connect other
GO
