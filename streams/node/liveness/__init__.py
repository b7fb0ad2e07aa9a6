"""Heartbeats: reachable instances, slot owners, and Kafka's clock."""
