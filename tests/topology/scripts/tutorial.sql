-- The desk's instance, step by step, as a tutorial would have it.
USE master
GO
IF EXISTS (SELECT * FROM sys.databases WHERE name = N'Desk')
    DROP DATABASE Desk;
IF EXISTS (SELECT * FROM sys.endpoints WHERE name = N'DeskEndpoint')
    DROP ENDPOINT DeskEndpoint;
GO
CREATE ENDPOINT DeskEndpoint
    STATE = STARTED
    AS TCP ( LISTENER_PORT = 4023, LISTENER_IP = ALL )
    FOR SERVICE_BROKER (
        AUTHENTICATION = WINDOWS KERBEROS CERTIFICATE TransportCert,
        ENCRYPTION = SUPPORTED ALGORITHM AES RC4,
        MESSAGE_FORWARDING = ENABLED,
        MESSAGE_FORWARD_SIZE = 15 );
GO
CREATE LOGIN [SHOP\store$] FROM WINDOWS;
GRANT CONNECT ON ENDPOINT::DeskEndpoint TO [SHOP\store$], [SHOP\spare$];
CREATE DATABASE Desk
GO
USE Desk
GO
CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'not a real one';
CREATE USER DeskUser WITHOUT LOGIN
CREATE CERTIFICATE DeskCert
    AUTHORIZATION DeskUser
    ENCRYPTION BY PASSWORD = 'neither'
    WITH SUBJECT = N'The desk''s certificate', START_DATE = '2024-01-31', EXPIRY_DATE = N'12/31/2030'
    ACTIVE FOR BEGIN_DIALOG = ON;
BACKUP CERTIFICATE DeskCert TO FILE = N'C:\certs\desk.cer';
CREATE CERTIFICATE StoreCert AUTHORIZATION StoreUser FROM FILE = N'C:\certs\store.cer'
    WITH PRIVATE KEY (FILE = 'C:\certs\store.pvk', DECRYPTION BY PASSWORD = 'x')
GO
/* The service comes before its queue and its contract
   /* on purpose */ . */
CREATE SERVICE [//shop/Desk] AUTHORIZATION DeskUser ON QUEUE dbo.DeskQueue ([//shop/Callback])
CREATE MESSAGE TYPE [//shop/Order] VALIDATION = WELL_FORMED_XML
CREATE MESSAGE TYPE "//shop/Reply" VALIDATION = NONE
CREATE CONTRACT [//shop/Contract] ([//shop/Order] SENT BY INITIATOR, [//shop/Reply] SENT BY TARGET)
CREATE QUEUE DeskQueue WITH STATUS = ON, RETENTION = OFF,
    ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.ReadReplies, MAX_QUEUE_READERS = 4, EXECUTE AS OWNER),
    POISON_MESSAGE_HANDLING (STATUS = OFF)
GO
DECLARE @Cmd nvarchar(4000), @host sysname = N'Store', @port int;
SET @port = 4022
SET @Cmd = N'USE Desk;
CREATE ROUTE StoreRoute
WITH SERVICE_NAME = N''//shop/Store'',
     ADDRESS = N''TCP://' + @host + N':' + CAST(@port AS nvarchar(10)) + N''';';
EXEC (@Cmd);
SELECT @Cmd = N'CREATE ROUTE DeskRoute WITH SERVICE_NAME = N''//shop/Desk'', ADDRESS = N''LOCAL'''
EXECUTE msdb.sys.sp_executesql @stmt = @Cmd;
GO
CREATE REMOTE SERVICE BINDING StoreBinding TO SERVICE N'//shop/Store' WITH USER = StoreUser, ANONYMOUS = ON;
GRANT SEND ON SERVICE::[//shop/Desk] TO StoreUser, [public]
DENY SEND ON SERVICE :: [//shop/Desk] TO Guest CASCADE
REVOKE SEND ON SERVICE::[//shop/Desk] FROM [PUBLIC]
GO
CREATE BROKER PRIORITY Urgent FOR CONVERSATION
    SET (CONTRACT_NAME = [//shop/Contract], LOCAL_SERVICE_NAME = ANY, PRIORITY_LEVEL = 8)
GO
DECLARE @h uniqueidentifier;
BEGIN TRANSACTION;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//shop/Desk]
    TO SERVICE N'//shop/Store', N'CURRENT DATABASE'
    ON CONTRACT [//shop/Contract]
    WITH RELATED_CONVERSATION_GROUP = @g, LIFETIME = 600, ENCRYPTION = OFF;
SEND ON CONVERSATION @h MESSAGE TYPE [//shop/Order] (N'<order/>');
COMMIT TRANSACTION;
GO
