"""Messages that commit with an application's rows: outbox, its relay to Kafka, and inbox."""
