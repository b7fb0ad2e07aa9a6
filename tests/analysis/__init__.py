"""Answers about where a message will go."""
