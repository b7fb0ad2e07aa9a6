CREATE ENDPOINT BrokerEndpoint
    STATE = STARTED
    AS TCP (LISTENER_PORT = 4022)
    FOR SERVICE_BROKER (AUTHENTICATION = WINDOWS);
GO

USE DatabaseB;
GO

CREATE QUEUE TargetQueue;
CREATE SERVICE TargetService ON QUEUE TargetQueue ([DEFAULT]);
GO

-- The way back, for replies and acknowledgements.
CREATE ROUTE InitiatorRoute
    WITH SERVICE_NAME = 'InitiatorService',
         BROKER_INSTANCE = 'DatabaseA',
         ADDRESS = 'tcp://ServerA:4022';
GO
