"""All checks, in the order of their codes. A new one is a function and a row."""

from __future__ import annotations

from itertools import chain

from streams.analysis.check import statements, suppress
from streams.analysis.check.registry import Check

_THEMES = (
    statements.CHECKS,
    suppress.CHECKS,
)

CHECKS: tuple[Check, ...] = tuple(sorted(chain(*_THEMES), key=lambda check: check.code))
