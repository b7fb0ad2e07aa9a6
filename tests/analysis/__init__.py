"""Tests of the analyses that predict where messages go."""
