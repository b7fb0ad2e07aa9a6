:on er WITH SERVICE_NAME = â€˜//shop/Store(Partner):$(port)'ITH SERVI] WITH SERVICE_NAME = â€˜//shop/Store(Partner):$(port)'
CREATE ROUTE Back WITH Sÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ, LIFETIME = #(PortAUTHENTICATION er
GO
