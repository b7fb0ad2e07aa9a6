"""All checks, in the order of their codes. A new one is a function and a row."""

from __future__ import annotations

from streams.analysis.check import statements
from streams.analysis.check.registry import Check

CHECKS: tuple[Check, ...] = tuple(sorted(statements.CHECKS, key=lambda check: check.code))
