"""All checks, in the order of their codes. A new check needs a function and a row."""

from __future__ import annotations

from itertools import chain

from streams.analysis.check import (
    addresses,
    arriving,
    back,
    begins,
    contracts,
    endpoints,
    expectations,
    expiring,
    forward_memory,
    groups,
    identity,
    last_resort,
    leaks,
    names,
    passing_on,
    priorities,
    queues,
    reach,
    resilience,
    routers,
    security,
    statements,
    suppress,
    targets,
    unenforced,
    unused,
    validations,
)
from streams.analysis.check.registry import Check

_THEMES = (
    addresses.CHECKS,
    arriving.CHECKS,
    back.CHECKS,
    begins.CHECKS,
    contracts.CHECKS,
    endpoints.CHECKS,
    expectations.CHECKS,
    expiring.CHECKS,
    forward_memory.CHECKS,
    groups.CHECKS,
    passing_on.CHECKS,
    identity.CHECKS,
    last_resort.CHECKS,
    leaks.CHECKS,
    names.CHECKS,
    priorities.CHECKS,
    queues.CHECKS,
    reach.CHECKS,
    resilience.CHECKS,
    routers.CHECKS,
    security.CHECKS,
    statements.CHECKS,
    suppress.CHECKS,
    targets.CHECKS,
    unenforced.CHECKS,
    unused.CHECKS,
    validations.CHECKS,
)

CHECKS: tuple[Check, ...] = tuple(sorted(chain(*_THEMES), key=lambda check: check.code))
