"""Format records and values for people."""
