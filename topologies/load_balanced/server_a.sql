CREATE ENDPOINT BrokerEndpoint
    STATE = STARTED
    AS TCP (LISTENER_PORT = 4022)
    FOR SERVICE_BROKER (AUTHENTICATION = WINDOWS);
GO

USE DatabaseA;
GO

CREATE QUEUE InitiatorQueue;
CREATE SERVICE InitiatorService ON QUEUE InitiatorQueue;
GO

-- Two routes for one service, each with the broker id of another database: a dialog's id decides.
CREATE ROUTE LoadBalancingRoute1
    WITH SERVICE_NAME = 'TargetService',
         BROKER_INSTANCE = 'DatabaseB',
         ADDRESS = 'tcp://ServerB:4022';

CREATE ROUTE LoadBalancingRoute2
    WITH SERVICE_NAME = 'TargetService',
         BROKER_INSTANCE = 'DatabaseC',
         ADDRESS = 'tcp://ServerC:4022';
GO
