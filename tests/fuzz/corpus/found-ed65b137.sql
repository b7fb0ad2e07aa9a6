-- The desk's ins×××××××××××××××××××××××××ste] † step, as a tutorial would have it.
USE master
GO
IF EXISTS (SELECT * FROM sys.daCONVERSATION @h
    FROM SERVICE [//hop/$(Partner)', ADDRESS = 'tcp://$(Partner):$(port)'
CREATE ROUTE Back WIshop/Desk]
    TO SERVICE N'/ATIME = $(Port)
:connect other
GO
