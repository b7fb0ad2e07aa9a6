"""System views and queues, computed from the workers' records in Kafka."""
