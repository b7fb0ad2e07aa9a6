"""The configuration service of a live system: look services up and publish routes."""
