"""Instants, and durations as people write them: ``500ms``, ``60s``, ``2m``, ``1h``."""

from __future__ import annotations

import re

LATEST = 253_402_300_799_999
"""Latest valid instant in epoch milliseconds: the end of the year 9999."""
AGE = 1_826 * 24 * 3_600_000
"""Greatest age of a record's timestamp in milliseconds: five years; brokers reject older ones."""

_PATTERN = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)?")
_MICROSECONDS = {
    "us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, None: 1_000_000,
}  # fmt: skip


def plausible(at: int, now: int) -> int:
    """Return ``at``, or the nearest time that brokers accept as a timestamp."""
    return min(max(at, now - AGE), now)


def read_duration(text: str) -> float | None:
    """Return microseconds (possibly infinite), or ``None`` if the text is not a duration.

    A number without a unit is in seconds.
    """
    match = _PATTERN.fullmatch(text.strip())
    return None if match is None else float(match[1]) * _MICROSECONDS[match[2]]
