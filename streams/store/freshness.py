"""How far the monitor has read: the one decision for alarms, metrics and pages.

A verdict about a dialog or a message is valid up to the time that was read, not up to the present.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

QUERIES = ("deliveries", "events", "messages", "dialogs", "gaps", "repeats")
"""The names of the monitor's queries."""
ARRIVALS = "arrivals"
"""The name under which the query ``messages`` stores the time up to which it has evaluated queues.

Until then, ``found_messages`` has every message that arrived although it was counted as missing.
"""
SILENT = 60_000
"""Milliseconds after which figures are too old to describe the present."""


class Reading(Enum):
    """Whether the figures describe the present."""

    CURRENT = "current"
    """All queries have read all records that are at least a minute old."""
    BEHIND = "behind"
    """The monitor runs, but a query has not read the records of the last minute."""
    STOPPED = "stopped"
    """The monitor has written nothing for a minute."""
    UNKNOWN = "unknown"
    """The monitor has never written how far it has read."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """The time up to which each query has read all records, and the time of the last samples.

    Times are epoch milliseconds. A query that has not yet read all records once is not in
    ``reached``.
    """

    now: int
    reached: Mapping[str, int] = field(default_factory=dict)
    looked_at: int | None = None

    def until(self, *queries: str) -> int | None:
        """Return the time up to which these queries have read, at most now; None if unknown."""
        if any(query not in self.reached for query in queries):
            return None
        return min(self.now, *(self.reached[query] for query in queries))

    def covers(self, instant: int, *queries: str) -> bool:
        """Return whether these queries have read up to an instant."""
        until = self.until(*queries)
        return until is not None and until >= instant

    @property
    def as_of(self) -> int | None:
        """Return the time up to which all queries have read; None if unknown."""
        return self.until(*QUERIES)

    @property
    def last_written(self) -> int | None:
        """Return the last time at which the monitor is known to have run."""
        times = (*self.reached.values(), self.looked_at)
        return max((time for time in times if time is not None), default=None)

    @property
    def behind(self) -> tuple[str, ...]:
        """Return the queries that have not read the records of the last minute."""
        return tuple(query for query in QUERIES if not self.covers(self._recent, query))

    @property
    def reading(self) -> Reading:
        """Return whether the figures describe the present."""
        if self.last_written is None:
            return Reading.UNKNOWN
        if self.last_written < self._recent:
            return Reading.STOPPED
        return Reading.BEHIND if self.behind else Reading.CURRENT

    @property
    def _recent(self) -> int:
        return self.now - SILENT
