"""Fuzzing with broken files, and regression tests for what the fuzzer has found."""
