Here is what I do on each server –– it’s easy:

-- 1. the route
CREATE ROUTE [StoreRoute] WITH SERVICE_NAME = ‘//shop/Store’, BROKER_INSTANCE = N’8A5C2A49-6F15-4A4E-9B9B-2C5F7C0C0F11’,
ADDRESS = 'tcp://Store:4022’
–– 2. the “queue”
CREATE QUEUE “My Queue”
— done
CREATE SERVICE [//shop/Desk] ON QUEUE [My Queue]
