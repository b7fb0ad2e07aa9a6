"""A forwarder without Kafka: ``decide`` takes a record, and returns what becomes of it."""
