"""Broken files: what a fuzzer tries, and what it once found."""
