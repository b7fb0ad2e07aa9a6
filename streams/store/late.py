"""Rows that arrived too late to be counted: which figures lack them, and of which time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from streams.store.store import Store
from streams.store.tables import LATE


@dataclass(frozen=True, slots=True)
class LateRows:
    """The rows that one batch of a query left out.

    They are from ``first_at`` at the earliest, and from before ``until``, the watermark of the
    batch at ``noted_at``. All times are epoch milliseconds.
    """

    query: str
    rows: int
    first_at: int
    until: int
    noted_at: int


def late_since(store: Store, since: int) -> tuple[LateRows, ...]:
    """Return what batches since an instant have left out, oldest first."""
    return _read(store, LATE.c.noted_at >= since)


def late_of(store: Store, query: str, start: int, end: int) -> tuple[LateRows, ...]:
    """Return what a query's figures of [start, end) may lack, oldest first."""
    overlaps = (LATE.c.first_at < end) & (LATE.c.until > start)
    return _read(store, (LATE.c.query == query) & overlaps)


def span_of(late: Sequence[LateRows]) -> tuple[int, int]:
    """Return the time from which and before which late rows are, of at least one batch."""
    return min(each.first_at for each in late), max(each.until for each in late)


def _read(store: Store, which: sa.ColumnElement[bool]) -> tuple[LateRows, ...]:
    columns = [LATE.c[name] for name in LateRows.__dataclass_fields__]
    rows = store.ask(sa.select(*columns).where(which).order_by(LATE.c.noted_at))
    return tuple(LateRows(**row) for row in rows)
