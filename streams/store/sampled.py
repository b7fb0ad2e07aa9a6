"""Query the latest samples, or the samples at an instant or in a window of time."""

from __future__ import annotations

from typing import TypeVar

import sqlalchemy as sa

from streams.store.kinds import KINDS
from streams.store.state_rows import Sample
from streams.store.state_tables import SAMPLES
from streams.store.store import Store

STALE = 30_000
"""Milliseconds for which a sample is still valid after it was last confirmed."""

AnySample = TypeVar("AnySample", bound=Sample)


def looked_at(store: Store) -> int | None:
    """Return the time of the last samples, epoch milliseconds; None if there are none."""
    lasts = [sa.select(sa.func.max(KINDS[kind].table.c.until)) for kind in SAMPLES]
    found = [value for one in lasts for row in store.ask(one) for value in row.values()]
    return max((value for value in found if value is not None), default=None)


def samples_at(store: Store, kind: type[AnySample], at: int | None) -> tuple[AnySample, ...]:
    """Return the sample of each subject at an instant; if that is None, the last samples."""
    if at is None:
        at = looked_at(store)
    if at is None:
        return ()
    table = KINDS[kind].table
    near = sa.select(table).where(table.c.at <= at, table.c.until >= at - STALE)
    newest = {_subject(row): row for row in store.select(kind, near.order_by(table.c.at))}
    return tuple(newest[subject] for subject in sorted(newest))


def samples_in(
    store: Store, kind: type[AnySample], start: int, end: int, instance: str | None = None
) -> tuple[AnySample, ...]:
    """Return the samples that were valid within [start, end), sorted by subject and time."""
    table = KINDS[kind].table
    within = sa.select(table).where(table.c.at < end, table.c.until >= start)
    if instance is not None:
        within = within.where(table.c.instance == instance)
    rows = store.select(kind, within.order_by(table.c.at))
    return tuple(sorted(rows, key=_subject))


def _subject(row: Sample) -> tuple[str, ...]:
    names = KINDS[type(row)].identity
    return tuple(str(getattr(row, name)) for name in names if name != "at")
