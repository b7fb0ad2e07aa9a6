"""Merge windows of latency into longer windows, for queries over days.

A day of 10 s windows has hundreds of thousands of histograms, but a page shows 120 points. So past
figures are also stored in stretches of ten minutes. Stretches are exact as well, because histograms
are added, not averaged. Stretches are created in time order: figures before the end of the last
stretch are in stretches, and later figures are only in windows. Writing an earlier window deletes
the stretches that it invalidates (:meth:`streams.store.Store.write`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, TypeVar

import sqlalchemy as sa

from streams.store.kinds import KINDS
from streams.store.quantiles import merged, percentiles
from streams.store.rows import LatencyStretch, LatencyWindow
from streams.store.store import Store
from streams.store.tables import LATENCY, STRETCH, STRETCHES

LONG = 3 * 3_600_000
"""Shortest period in milliseconds that is read from the roll-up; shorter periods use the windows.
"""

FOREVER = 1 << 62
Between = tuple[int, int] | None
Columns = sa.sql.base.ReadOnlyColumnCollection[str, sa.Column[Any]]
Condition = Callable[[Columns], sa.ColumnElement[bool]]
AnyLatency = TypeVar("AnyLatency", LatencyWindow, LatencyStretch)

_SETTLED = 15 * 60_000  # a window may grow until the watermark has passed it
_OWN = frozenset({"count", "attempts", "min", "max", "p50", "p95", "p99", "histogram"})
_GROUP = tuple(
    field.name
    for field in fields(LatencyWindow)
    if field.name not in _OWN | {"window_start", "window_end"}
)


def roll_up(store: Store, now: int, most: int = 12) -> int:
    """Merge windows that are over but not merged yet; return the number of stretches.

    ``most`` limits the number of stretches, and so the duration of the call. ``now`` is in epoch
    milliseconds.
    """
    for done in range(most):
        start = _next(store)
        if start is None or start + STRETCH > now - _SETTLED:
            return done
        store.roll(start, start + STRETCH, stretches_of)
    return most


def stretches_of(windows: Iterable[LatencyWindow]) -> tuple[LatencyStretch, ...]:
    """Merge windows into one row for each stretch and path."""
    groups: dict[tuple[object, ...], list[LatencyWindow]] = defaultdict(list)
    for row in windows:
        begins = row.window_start // STRETCH * STRETCH
        groups[begins, *(getattr(row, name) for name in _GROUP)].append(row)
    return tuple(_together(rows) for rows in groups.values())


def read_latencies(
    store: Store, between: Between, which: Condition, most: int = FOREVER
) -> tuple[LatencyWindow, ...]:
    """Return the latencies of the windows that begin in a period; long periods use stretches.

    ``between`` are two instants, [start, end) in epoch milliseconds, or None for all windows;
    ``which`` is a condition on columns of the table. Only the ``most`` rows with the most messages
    are read from each of up to three parts of the period.
    """
    if between is None:
        return _beginning_in(store, LatencyWindow, (0, FOREVER), which, most)
    start, end = between
    first, last = -(-start // STRETCH) * STRETCH, min(_rolled(store), end // STRETCH * STRETCH)
    if end - start < LONG or last <= first:
        return _beginning_in(store, LatencyWindow, between, which, most)
    return (
        *_beginning_in(store, LatencyWindow, (start, first), which, most),
        *_beginning_in(store, LatencyStretch, (first, last), which, most),
        *_beginning_in(store, LatencyWindow, (last, end), which, most),
    )


def _beginning_in(
    store: Store, kind: type[AnyLatency], between: tuple[int, int], which: Condition, most: int
) -> tuple[AnyLatency, ...]:
    table = KINDS[kind].table
    begins = table.c.window_start
    within = (begins >= between[0]) & (begins < between[1]) & which(table.c)
    if most < FOREVER:
        within &= table.c.key.in_(_largest(table.c, within, most))
    return store.select(kind, sa.select(table).where(within).order_by(begins, table.c.key))


def _largest(columns: Columns, within: sa.ColumnElement[bool], most: int) -> sa.Select[tuple[str]]:
    """Return the query for the keys of the ``most`` rows with the most messages."""
    ordered = sa.select(columns.key).where(within).order_by(columns["count"].desc(), columns.key)
    return ordered.limit(most)


def _next(store: Store) -> int | None:
    """Return the start of the next stretch; None if no stretch can be merged."""
    columns = LATENCY.c
    first = (
        sa.select(columns.window_start, columns.window_end)
        .where(columns.window_start >= _rolled(store))
        .order_by(columns.window_start)
        .limit(1)
    )
    for row in store.ask(first):
        start, end = int(row["window_start"]), int(row["window_end"])
        return start // STRETCH * STRETCH if end - start < STRETCH else None
    return None


def _rolled(store: Store) -> int:
    """Return the end of the last stretch."""
    (row,) = store.ask(sa.select(sa.func.max(STRETCHES.c.window_end).label("end")))
    return int(row["end"] or 0)


def _together(rows: list[LatencyWindow]) -> LatencyStretch:
    histogram = merged(row.histogram for row in rows)
    p50, p95, p99 = percentiles(histogram)
    begins = rows[0].window_start // STRETCH * STRETCH
    values = {name: getattr(rows[0], name) for name in _GROUP}
    return LatencyStretch(
        window_start=begins,
        window_end=begins + STRETCH,
        **values,
        count=sum(row.count for row in rows),
        attempts=sum(row.attempts for row in rows),
        min=min(row.min for row in rows),
        max=max(row.max for row in rows),
        p50=p50,
        p95=p95,
        p99=p99,
        histogram=histogram,
    )
