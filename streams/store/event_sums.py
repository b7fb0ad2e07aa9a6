"""Let the database add up events: a hostile producer can name other places in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from streams.store.tables import EVENTS

MOST_TOTALS = 1_000
"""Maximum number of totals that are read, most frequent first."""
WHOLE: Mapping[str, sa.ColumnElement[Any]] = {
    "window_start": sa.func.min(EVENTS.c.window_start),
    "window_end": sa.func.max(EVENTS.c.window_end),
    "cause": sa.null(),
}
"""The columns of a total over all windows."""
_OPTIONAL = ("database", "from_service", "to_service", "route", "cause")


def sums(
    names: Sequence[str], others: Mapping[str, sa.ColumnElement[Any]], *where: Any
) -> sa.Select[Any]:
    """Return the query for the sums of events by some columns, as rows of ``EventWindow``.

    ``others`` are the values of further columns; optional columns are null otherwise.
    """
    columns = EVENTS.c
    keys = [columns[name] for name in names]
    missing = {name: sa.null() for name in _OPTIONAL if name not in names}
    rest = (value.label(name) for name, value in {**missing, **others}.items())
    added = sa.cast(sa.func.sum(columns["count"]), sa.BigInteger).label("count")
    return sa.select(*keys, *rest, added).where(*where).group_by(*keys).order_by(*keys)


def most_frequent(names: Sequence[str], *where: Any) -> sa.Select[Any]:
    """Return the query for the MOST_TOTALS largest sums over all windows."""
    counted = sums(names, WHOLE, *where).order_by(None)
    return counted.order_by(sa.desc("count"), *(EVENTS.c[name] for name in names)).limit(
        MOST_TOTALS
    )
