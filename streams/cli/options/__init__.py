"""Shared options, and their parameter types."""
