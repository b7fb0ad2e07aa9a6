"""Queries of reports: percentiles over all windows, duplicates by cause."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from streams.errors import EventKind, Number
from streams.store.drops import IS_LOSS
from streams.store.event_sums import most_frequent, sums
from streams.store.kinds import KINDS
from streams.store.message_rows import CopiedMessage, Gap
from streams.store.missing import Missing, count_missing, find_missing
from streams.store.quantiles import merged, percentiles
from streams.store.rollup import FOREVER, Columns, Condition, read_latencies
from streams.store.rows import Cause, EventWindow, LatencyWindow, MalformedWindow, Repeat
from streams.store.store import Store
from streams.store.tables import EVENTS, LATENCY, MOST_WINDOWS

COPY_COLUMNS = {
    "retries": Cause.RETRY,
    "redeliveries": Cause.REDELIVERY,
    "several_routes": Cause.SEVERAL_ROUTES,
    "several_targets": Cause.SEVERAL_TARGETS,
    "replays": Cause.REPLAY,
    "unknown": Cause.UNKNOWN,
}
"""The column that counts each cause of a message with copies."""

_COPIES_BY = ("window_start", "window_end", "event", "error", "cause")
_TOTALS_BY = ("event", "error", "instance", "route")
_REFUSED_BY = ("event", "error", "instance", "database")

LATENCY_DIMENSIONS = ("from_service", "to_service", "target", "path", "leg_from", "leg_to")
"""The columns by which :meth:`Report.latency` can group messages."""


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """Latency in milliseconds over all windows; ``key`` contains one value per dimension."""

    key: tuple[str, ...]
    count: int
    attempts: int
    min: int
    max: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class EventTotal:
    """The number of times that an event happened at an instance, over all windows."""

    event: int
    error: int
    instance: str
    count: int


class Report:
    """Queries on a store. Every call computes the result again.

    With ``between``, two instants [start, end) in epoch milliseconds, the queries cover the windows
    that begin in that period: adjacent periods share no window, and their totals add up.
    """

    def __init__(self, store: Store, between: tuple[int, int] | None = None) -> None:
        self._store, self._between = store, between

    def as_of(self) -> int | None:
        """Return the time of the figures, in epoch milliseconds; None if unknown."""
        return self._store.as_of()

    def latency_windows(self, leg: int | None = 0) -> tuple[LatencyWindow, ...]:
        """Return the latencies of a leg (None: of all legs) per window and path, oldest first."""
        return self._latencies(lambda columns: sa.true() if leg is None else columns.leg == leg)

    def largest_windows(self) -> tuple[tuple[LatencyWindow, ...], int]:
        """Return latency windows of all legs, and the number of messages that they leave out.

        A frame may state any path, so only the MOST_WINDOWS windows with the most messages are read
        from each part of the period.
        """
        rows = read_latencies(self._store, self._between, lambda _: sa.true(), MOST_WINDOWS)
        return rows, max(0, self.delivered() - sum(row.count for row in rows if row.leg == 0))

    def delivered(self) -> int:
        """Return the number of delivered messages."""
        columns = LATENCY.c
        messages = sa.select(sa.func.sum(columns["count"]).label("messages"))
        (row,) = self._store.ask(messages.where(columns.leg == 0, *self._within(columns)))
        return int(row["messages"] or 0)

    def hop_windows(self, leg_from: str) -> tuple[LatencyWindow, ...]:
        """Return the latencies of all hops from one instance, per window and path, oldest first."""
        return self._latencies(lambda columns: columns.leg_from == leg_from, MOST_WINDOWS)

    def _latencies(self, which: Condition, most: int = FOREVER) -> tuple[LatencyWindow, ...]:
        return read_latencies(self._store, self._between, which, most)

    def latency(self, *by: str) -> tuple[LatencySummary, ...]:
        """Return end-to-end latencies over all windows, one summary per value of ``by``.

        ``by`` names some of LATENCY_DIMENSIONS; without names, the result is one summary of all
        messages, or empty if no message was delivered.
        """
        return _summaries(self.latency_windows(), by)

    def legs(self, *by: str) -> tuple[LatencySummary, ...]:
        """Return the latencies of single legs over all windows, by default per origin and end."""
        rows = [row for row in self.latency_windows(None) if row.leg]
        return _summaries(rows, by or ("leg_from", "leg_to"))

    def duplicates(self) -> tuple[EventWindow, ...]:
        """Return the duplicates by window and cause."""
        return tuple(row for row in self.event_windows() if row.cause)

    def duplicates_by_cause(self) -> dict[Cause, int]:
        """Return the number of duplicates so far by cause; all causes are keys.

        The counts are based on the attempt numbers of single events; :meth:`copies_by_cause` is
        exact, but delayed. SEVERAL_TARGETS counts copies at rejected targets (11224); the other
        causes count copies that the target's endpoint removed (11218).
        """
        total = Counter(dict.fromkeys(Cause, 0))
        for row in self.copy_counts():
            if row.cause:
                total[row.cause] += row.count
        return dict(total)

    def removed(self) -> int:
        """Return the number of copies that the endpoints removed as duplicates (11218)."""
        return sum(row.count for row in self.copy_counts() if row.error == Number.DUPLICATE)

    def event_windows(self) -> tuple[EventWindow, ...]:
        """Return all trace events by window, each with the services that the events name."""
        return self._store.read(EventWindow, between=self._between)

    def copy_counts(self) -> tuple[EventWindow, ...]:
        """Return the duplicates by window and cause, of all instances."""
        of_all = {"instance": sa.literal("")}
        counted = sums(_COPIES_BY, of_all, EVENTS.c.cause.is_not(None), *self._within(EVENTS.c))
        return self._store.select(EventWindow, counted)

    def losses(self) -> tuple[tuple[EventWindow, ...], int]:
        """Return drops and delays by error, instance and route, and the number of all of them.

        Each row is a sum over all windows. Only the MOST_TOTALS most frequent rows are returned.
        """
        return self._most_frequent(_TOTALS_BY, IS_LOSS)

    def refusals(self) -> tuple[tuple[EventWindow, ...], int]:
        """Return refused statements and failed dialogs, and the number of all of them.

        Both are events 124 with an error. Each row is a sum over all windows, by number, instance
        and database. Only the MOST_TOTALS most frequent rows are returned.
        """
        refused = (EVENTS.c.event == int(EventKind.CONVERSATION)) & (EVENTS.c.error != 0)
        return self._most_frequent(_REFUSED_BY, refused)

    def _most_frequent(
        self, by: Sequence[str], which: sa.ColumnElement[bool]
    ) -> tuple[tuple[EventWindow, ...], int]:
        wanted = (which, *self._within(EVENTS.c))
        rows = self._store.select(EventWindow, most_frequent(by, *wanted))
        total = sa.select(sa.func.sum(EVENTS.c["count"]).label("total")).where(*wanted)
        (row,) = self._store.ask(total)
        return rows, int(row["total"] or 0)

    def events(self) -> tuple[EventTotal, ...]:
        """Return events by number, error and instance: the MOST_TOTALS most frequent ones."""
        rows = self._store.select(
            EventWindow, most_frequent(_TOTALS_BY[:3], *self._within(EVENTS.c))
        )
        totals = ((row.event, row.error, row.instance, row.count) for row in rows)
        return tuple(EventTotal(*total) for total in sorted(totals))

    def _within(self, columns: Columns) -> tuple[sa.ColumnElement[bool], ...]:
        if self._between is None:
            return ()
        begins = columns.window_start
        return begins >= self._between[0], begins < self._between[1]

    def malformed(self) -> tuple[MalformedWindow, ...]:
        """Return the records that could not be decoded, by window, topic and reason."""
        return self._store.read(MalformedWindow, between=self._between)

    def repeats(self) -> tuple[Repeat, ...]:
        """Return alarms about messages that one queue has twice. The result must be empty."""
        return self._store.read(Repeat)

    def gaps(self) -> tuple[Gap, ...]:
        """Return alarms about numbers missing in a queue within a dialog. The result must be empty.

        One gap may be in two windows, because windows overlap.
        """
        return tuple(gap for gap in self._store.read(Gap) if gap.missing)

    def missing(self, now: int, *, limit: int = 1_000) -> tuple[Missing, ...]:
        """Return messages that have not arrived, newest first, with reason and remedy.

        ``now``, in epoch milliseconds, determines which dialogs have expired.
        """
        return find_missing(self._store, now, limit=limit)

    def missing_count(self) -> int:
        """Return the number of messages that have not arrived."""
        return count_missing(self._store)

    def copied(self, *, limit: int = 1_000) -> tuple[CopiedMessage, ...]:
        """Return messages of which several copies arrived, latest first."""
        table = KINDS[CopiedMessage].table
        newest = sa.select(table).order_by(table.c.last_at.desc()).limit(limit)
        return self._store.select(CopiedMessage, newest)

    def copies_by_cause(self) -> dict[Cause, int]:
        """Return the number of duplicates by cause; every cause is a key.

        Each message's copies are compared, so the counts are exact, but they are available only
        when the message's session is over. :meth:`duplicates_by_cause` is immediate, but based only
        on attempt numbers.
        """
        columns = KINDS[CopiedMessage].table.c
        sums = [
            sa.func.coalesce(sa.func.sum(columns[name]), 0).label(name) for name in COPY_COLUMNS
        ]
        (row,) = self._store.ask(sa.select(*sums))
        return {cause: int(row[name]) for name, cause in COPY_COLUMNS.items()}

    def late(self) -> dict[str, int]:
        """Return the number of rows per query that were too late to be counted."""
        total: Counter[str] = Counter()
        for row in self._store.progress():
            total[row.query] += row.late
        return dict(total)


def _summaries(rows: Sequence[LatencyWindow], by: Sequence[str]) -> tuple[LatencySummary, ...]:
    groups: dict[tuple[str, ...], list[LatencyWindow]] = defaultdict(list)
    for row in rows:
        groups[tuple(getattr(row, name) for name in by)].append(row)
    return tuple(_summary(key, groups[key]) for key in sorted(groups))


def _summary(key: tuple[str, ...], rows: Sequence[LatencyWindow]) -> LatencySummary:
    histogram = merged(row.histogram for row in rows)
    p50, p95, p99 = percentiles(histogram)
    return LatencySummary(
        key,
        count=sum(row.count for row in rows),
        attempts=sum(row.attempts for row in rows),
        min=min(row.min for row in rows),
        max=max(row.max for row in rows),
        p50=p50,
        p95=p95,
        p99=p99,
    )
