:on error exit
:setvar Database "Shop Desk"
:setvar Partner Store
:setvar Port 4022
:r common.sql
GO
USE [$(Database)]
GO 2
CREATE ROUTE $(Partner)Route WITH SERVICE_NAME = '//shop/$(Partner)', ADDRESS = 'tcp://$(Partner):$(port)'
CREATE ROUTE Back WITH SERVICE_NAME = '$(Unknown)', ADDRESS = "tcp://Desk:4022", LIFETIME = $(Port)
:connect other
GO
