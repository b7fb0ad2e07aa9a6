"""System views and queues, answered from what the workers have written to Kafka."""
