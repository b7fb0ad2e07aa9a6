"""A forwarder without Kafka: ``decide`` takes a record and returns its outcome."""
