"""All checks, in the order of their codes. A new one is a function and a row."""

from __future__ import annotations

from itertools import chain

from streams.analysis.check import (
    addresses,
    arriving,
    contracts,
    endpoints,
    expiring,
    forwarders,
    groups,
    last_resort,
    leaks,
    priorities,
    queues,
    routers,
    statements,
    suppress,
)
from streams.analysis.check.registry import Check

_THEMES = (
    addresses.CHECKS,
    arriving.CHECKS,
    contracts.CHECKS,
    endpoints.CHECKS,
    expiring.CHECKS,
    forwarders.CHECKS,
    groups.CHECKS,
    last_resort.CHECKS,
    leaks.CHECKS,
    priorities.CHECKS,
    queues.CHECKS,
    routers.CHECKS,
    statements.CHECKS,
    suppress.CHECKS,
)

CHECKS: tuple[Check, ...] = tuple(sorted(chain(*_THEMES), key=lambda check: check.code))
