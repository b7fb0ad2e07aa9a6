"""Commands that run a system, or change one that runs."""
