"""Drops and delays: events with an error number, by instance, route and services."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from streams.errors import EventKind, Number, text_of
from streams.store.event_sums import most_frequent
from streams.store.rows import EventWindow
from streams.store.store import Store
from streams.store.tables import EVENTS

KINDS_OF_LOSS = {
    EventKind.FORWARDED_MESSAGE_DROPPED: "dropped",
    EventKind.MESSAGE_CLASSIFY: "delayed",
    EventKind.MESSAGE_UNDELIVERABLE: "undeliverable",
    EventKind.CORRUPTED_MESSAGE: "corrupted",
}
"""The outcome of a copy by kind of event, without duplicates (11218)."""

IS_LOSS = EVENTS.c.event.in_([int(kind) for kind in KINDS_OF_LOSS]) & EVENTS.c.error.not_in(
    [0, int(Number.DUPLICATE)]
)
"""The condition for events that :func:`drops_of` counts."""
_DROPPED_BY = (
    "event", "error", "instance", "database", "route", "from_service", "to_service",
)  # fmt: skip
_Key = tuple[int, int, str, str | None, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Drop:
    """The number of copies that were not forwarded for one reason, and the end of the last window.

    ``what`` is dropped, delayed, undeliverable or corrupted; ``text`` explains ``error``.
    ``route``: the names of the chosen routes, joined by ``, ``; None if there was none.
    """

    what: str
    event: int
    error: int
    text: str
    instance: str
    database: str | None
    route: str | None
    from_service: str | None
    to_service: str | None
    count: int
    last_at: int


def find_drops(store: Store, start: int, end: int) -> tuple[Drop, ...]:
    """Return the drops and delays of windows in [start, end), most frequent first.

    Returns at most MOST_TOTALS rows, because a hostile producer can name another service in each
    event.
    """
    columns = EVENTS.c
    within = (columns.window_start >= start) & (columns.window_end <= end)
    return drops_of(store.select(EventWindow, most_frequent(_DROPPED_BY, within & IS_LOSS)))


def drops_of(events: Iterable[EventWindow]) -> tuple[Drop, ...]:
    """Return the drops and delays among windows of events, most frequent first."""
    counts: Counter[_Key] = Counter()
    last: dict[_Key, int] = defaultdict(int)
    for row in events:
        if row.event in KINDS_OF_LOSS and row.error and row.error != Number.DUPLICATE:
            key = (
                row.event, row.error, row.instance, row.database, row.route, row.from_service,
                row.to_service,
            )  # fmt: skip
            counts[key] += row.count
            last[key] = max(last[key], row.window_end)
    return tuple(
        Drop(
            KINDS_OF_LOSS[EventKind(key[0])], key[0], key[1], text_of(key[1]), *key[2:], count,
            last[key],
        )
        for key, count in counts.most_common()
    )  # fmt: skip
