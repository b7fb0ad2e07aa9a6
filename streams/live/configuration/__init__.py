"""The configuration service of a live system: it looks services up and publishes routes."""
