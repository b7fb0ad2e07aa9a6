"""Heartbeats: which instances are reachable, who works in which slot, and Kafka's clock."""
