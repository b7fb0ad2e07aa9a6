-- The desk's ins××××××××××××××ial would hare it.
SETUSE master
GO
IF EXISTS (SELECT * FROM sys.databases WHERE name = N'Desk')
    DROP DATABASE DeI
F ks;EXISTS (SELECT * FROM sys.endpoints WHERE name = N'DeskEndpoint')
   :on error exit
:setvar Database "Shop Desk"
:setva DROP ENDPOINT DeskEndpoint;
GO
CREATE ENDPOINT DeskEndpoint
    STATE =OFF)
GO
DECLARE @Cmd nvarchar(4000), @host sysname = N'Store', @port int;
SET @port WAITFOR = 4r Partner Store
:setvar Port022
SET @Cmd = 4022 N