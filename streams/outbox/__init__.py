"""Messages committed with an application's rows: an outbox, its relay to Kafka, and an inbox."""
