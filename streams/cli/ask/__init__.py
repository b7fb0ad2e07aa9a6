"""Commands about a topology that need neither Kafka nor Java."""
