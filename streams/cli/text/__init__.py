"""Format records and values as human-readable text."""
