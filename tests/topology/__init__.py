"""Tests of how topologies are read, stored and reported."""
