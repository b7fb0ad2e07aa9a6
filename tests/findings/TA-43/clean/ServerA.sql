CREATE DATABASE DatabaseA;
GO
USE DatabaseA;
GO
CREATE QUEUE InitiatorQueue WITH ACTIVATION (
    STATUS = ON, PROCEDURE_NAME = ReadReplies, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
CREATE SERVICE InitiatorService ON QUEUE InitiatorQueue;
CREATE QUEUE TargetQueue;
CREATE SERVICE TargetService ON QUEUE TargetQueue ([DEFAULT]);
GO
CREATE PROCEDURE PlaceOrder AS
    DECLARE @dialog uniqueidentifier;
    BEGIN DIALOG @dialog
        FROM SERVICE InitiatorService TO SERVICE 'TargetService' WITH ENCRYPTION = OFF;
    SEND ON CONVERSATION @dialog (0x00);
GO
CREATE PROCEDURE ReadReplies AS
    DECLARE @dialog uniqueidentifier, @type sysname;
    RECEIVE TOP (1) @dialog = conversation_handle, @type = message_type_name FROM InitiatorQueue;
    IF @type IN (N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                 N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
        END CONVERSATION @dialog;
GO
CREATE PROCEDURE ReadOrders AS
    DECLARE @dialog uniqueidentifier;
    RECEIVE TOP (1) @dialog = conversation_handle FROM TargetQueue;
    END CONVERSATION @dialog;
