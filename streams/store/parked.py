"""Messages that arrived and wait for a queue that is off, by service."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from streams.store.state_tables import DIALOGS, QUEUES
from streams.store.store import Store


@dataclass(frozen=True, slots=True)
class Parked:
    """The messages that wait for the queue of one service.

    ``since`` (epoch ms): the first of the samples with such messages, at most a day ago; None if
    there is no sample.
    """

    instance: str
    database: str
    service: str
    messages: int
    since: int | None


def find_parked(store: Store) -> tuple[Parked, ...]:
    """Return the messages that wait, by service."""
    columns = DIALOGS.c
    place = (columns.instance, columns.database, columns.service)
    total = sa.func.sum(columns.parked).label("messages")
    begun = sa.func.min(columns.begun_at).label("begun_at")
    waits = (columns.parked > 0) & columns.ended_at.is_(None)
    rows = store.ask(sa.select(*place, total, begun).where(waits).group_by(*place).order_by(*place))
    sampled = {name: _since(store, name) for name in {row["instance"] for row in rows}}
    return tuple(
        Parked(
            row["instance"],
            row["database"],
            row["service"],
            int(row["messages"]),
            _later(sampled[row["instance"]], row["begun_at"]),
        )
        for row in rows
    )


def _since(store: Store, instance: str) -> int | None:
    """Return the start of the last unbroken series of samples with parked messages."""
    columns = QUEUES.c
    none = sa.select(sa.func.coalesce(sa.func.max(columns.until), 0)).where(
        columns.instance == instance, columns.parked == 0
    )
    first = sa.select(sa.func.min(columns.at).label("at")).where(
        columns.instance == instance, columns.parked > 0, columns.at > none.scalar_subquery()
    )
    (row,) = store.ask(first)
    at: int | None = row["at"]
    return at


def _later(sampled: int | None, begun_at: int) -> int | None:
    """Return when messages of a dialog can have been parked first: not before it began."""
    return None if sampled is None else max(sampled, begun_at)
