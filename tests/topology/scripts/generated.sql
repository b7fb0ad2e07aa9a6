USE [Store]
GO
/****** Object:  Database [Store]    Script Date: 03/04/2019 10:11:12 ******/
IF NOT EXISTS (SELECT name FROM sys.databases WHERE name = N'Store')
BEGIN
CREATE DATABASE [Store] ON  PRIMARY
( NAME = N'Store', FILENAME = N'D:\Data\Store.mdf' , SIZE = 3072KB , MAXSIZE = UNLIMITED, FILEGROWTH = 1024KB )
 LOG ON
( NAME = N'Store_log', FILENAME = N'D:\Data\Store_log.ldf' , SIZE = 1024KB , FILEGROWTH = 10%)
END
GO
ALTER DATABASE [Store] SET COMPATIBILITY_LEVEL = 150
GO
IF (1 = FULLTEXTSERVICEPROPERTY('IsFullTextInstalled'))
begin
EXEC [Store].[dbo].[sp_fulltext_database] @action = 'enable'
end
GO
ALTER DATABASE [Store] SET  ENABLE_BROKER WITH ROLLBACK IMMEDIATE
GO
ALTER DATABASE [Store] SET HONOR_BROKER_PRIORITY ON
GO
SET ANSI_NULLS ON
GO
SET QUOTED_IDENTIFIER ON
GO
IF NOT EXISTS (SELECT * FROM sys.objects WHERE object_id = OBJECT_ID(N'[dbo].[ReadOrders]') AND type in (N'P', N'PC'))
BEGIN
EXEC dbo.sp_executesql @statement = N'CREATE PROCEDURE [dbo].[ReadOrders] AS'
END
GO
/* What the queue's readers do */
ALTER PROCEDURE [dbo].[ReadOrders]
    @timeout AS int = 5000,
    @backup nvarchar(256) = N'//shop/Backup'
WITH EXECUTE AS OWNER
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @h uniqueidentifier, @type sysname, @body varbinary(max), @again uniqueidentifier;
    DECLARE @audit nvarchar(256) = N'//shop/' + N'Audit';
    WHILE (1 = 1)
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;
            WAITFOR (
                RECEIVE TOP (1)
                    @h = conversation_handle,
                    @type = message_type_name,
                    @body = message_body
                FROM [dbo].[OrderQueue]
            ), TIMEOUT 5000;
            IF @@ROWCOUNT = 0
            BEGIN
                ROLLBACK TRANSACTION;
                BREAK;
            END
            SELECT @again = CASE WHEN @type = N'//shop/Order'
                THEN NEWID()
                ELSE NULL
                END
            UPDATE dbo.Orders
            SET Status = 2, Note = N'it''s read'
            WHERE Handle = @h
            IF @type = N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'
                END CONVERSATION @h;
            ELSE IF @type = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'
            BEGIN
                EXEC dbo.LogError @h, @body;
                END CONVERSATION @h WITH CLEANUP;
            END
            ELSE
            BEGIN
                BEGIN DIALOG @again
                    FROM SERVICE [//shop/Store] TO SERVICE @audit
                    WITH RELATED_CONVERSATION = @h;
                BEGIN DIALOG @again
                    FROM SERVICE [//shop/Store] TO SERVICE @backup, @id
                    ON CONTRACT @contract;
                SEND ON CONVERSATION @again MESSAGE TYPE [//shop/Order] (@body);
            END
            COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0 ROLLBACK TRANSACTION;
            END CONVERSATION @h WITH ERROR = 500 DESCRIPTION = N'failed';
        END CATCH
    END
    DROP ROUTE Stale
    EXEC (N'END CONVERSATION ''' + @h + N'''')
    EXEC sp_executesql N'GET CONVERSATION GROUP @g FROM sales.Spare', N'@g uniqueidentifier OUTPUT', @g OUTPUT
END
GO
CREATE TRIGGER dbo.OnOrder ON dbo.Orders AFTER INSERT, UPDATE
AS
IF UPDATE(Status)
    EXEC @rc = [dbo].[SendOrder] @id = 5
GO
CREATE OR ALTER FUNCTION dbo.Plain (@a AS int) RETURNS int AS BEGIN RETURN @a END
GO
IF  EXISTS (SELECT * FROM sys.services WHERE name = N'//shop/Store')
DROP SERVICE [//shop/Store]
GO
CREATE QUEUE [dbo].[OrderQueue] WITH STATUS = ON , RETENTION = OFF , POISON_MESSAGE_HANDLING (STATUS = ON)  ON [PRIMARY]
GO
CREATE SERVICE [//shop/Store]  AUTHORIZATION [dbo]  ON QUEUE [dbo].[OrderQueue] ([//shop/Contract])
GO
IF NOT EXISTS (SELECT * FROM sys.routes WHERE name = N'DeskRoute')
    CREATE ROUTE [DeskRoute]   AUTHORIZATION [dbo]   WITH  SERVICE_NAME  = N'//shop/Desk' ,  ADDRESS  = N'TCP://Desk:4023'
ELSE
    ALTER ROUTE [DeskRoute] WITH ADDRESS = N'TCP://Elsewhere:1'
GO
BEGIN TRY
    CREATE ROUTE DeskRoute WITH ADDRESS = 'LOCAL'
END TRY
BEGIN CATCH
    PRINT ERROR_MESSAGE()
    ALTER ROUTE DeskRoute WITH ADDRESS = 'tcp://never:1'
END CATCH
GO
