"""All checks, in the order of their codes. A new one is a function and a row."""

from __future__ import annotations

from itertools import chain

from streams.analysis.check import (
    back,
    expectations,
    hops,
    identity,
    names,
    reach,
    resilience,
    statements,
    targets,
    unused,
)
from streams.analysis.check.registry import Check

_THEMES = (
    back.CHECKS,
    expectations.CHECKS,
    hops.CHECKS,
    identity.CHECKS,
    names.CHECKS,
    reach.CHECKS,
    resilience.CHECKS,
    statements.CHECKS,
    targets.CHECKS,
    unused.CHECKS,
)

CHECKS: tuple[Check, ...] = tuple(sorted(chain(*_THEMES), key=lambda check: check.code))
