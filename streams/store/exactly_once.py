"""Whether exactly-once delivery is kept, as far as the monitor has read the queues."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streams.store.freshness import SILENT, Freshness

_QUERIES = ("repeats", "gaps")


class Verdict(Enum):
    """The verdict on exactly-once delivery."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    """The queues have not yet been read once."""


@dataclass(frozen=True, slots=True)
class ExactlyOnce:
    """A verdict, the time up to which it is valid (epoch ms), and whether that is long ago."""

    verdict: Verdict
    until: int | None
    old: bool


def exactly_once(repeats: int, gaps: int, fresh: Freshness, end: int) -> ExactlyOnce:
    """Judge the numbers of repeats and gaps; ``end`` is the end of the period of interest.

    A repeat or a gap is a fact, whatever else has not been read. Their absence is a fact only up to
    the time that was read.
    """
    until = fresh.until(*_QUERIES)
    old = not fresh.covers(min(end, fresh.now) - SILENT, *_QUERIES)
    if repeats or gaps:
        return ExactlyOnce(Verdict.BROKEN, until, old)
    return ExactlyOnce(Verdict.UNKNOWN if until is None else Verdict.KEPT, until, old)
