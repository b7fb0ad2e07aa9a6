"""The local broker, and the topics and rights that a cluster needs."""
