"""Query dialogs with problems, and the number of dialogs of each kind.

The database counts and sorts; there may be millions of dialogs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import Any

import sqlalchemy as sa

from streams.protocol import Limits
from streams.store.state_rows import DialogSide
from streams.store.state_tables import DIALOGS
from streams.store.store import Store

RETRY_CEILING = Limits().retries[-1]
"""Longest time between two delivery attempts (U-27), in milliseconds."""
LEFT_OPEN = 600_000
"""Milliseconds without a statement since the end or failure of the other side, after which a side
is leaked.
"""
IDLE = 3_600_000
"""Milliseconds without a statement after which a dialog is idle, possibly left open by mistake."""

_D = DIALOGS.c


class Which(Enum):
    """The kinds of dialogs to look for."""

    OPEN = "open"
    """The endpoint is neither closed nor removed."""
    WAITING = "waiting"
    """Messages are in the transmission queue, or wait for a disabled queue."""
    STUCK = "stuck"
    """The same message has been the oldest for longer than the retry ceiling."""
    UNLOCKED = "unlocked"
    """The initiator has sent a message, but no target has answered within the retry ceiling."""
    FAILED = "failed"
    """In the state ERROR for less than ten minutes and not ended; a longer error is a leak."""
    LEAKED = "leaked"
    """The other side ended or failed at least ten minutes ago; no statement was issued since."""
    IDLE = "idle"
    """No message waits, nothing has failed, and no statement was issued for at least an hour."""
    SLOW = "slow"
    """The initiators that waited longest for the first answer from a target."""


@dataclass(frozen=True, slots=True)
class DialogCounts:
    """The number of dialog sides of each kind.

    ``begun``, ``locked``, ``failed`` and ``ended`` count events in a window: initiators that began,
    initiators that were locked, sides that entered ERROR, sides that were closed. All other fields
    count the present state.
    """

    begun: int
    locked: int
    failed: int
    ended: int
    open: int
    waiting: int
    stuck: int
    unlocked: int
    leaked: int
    idle: int


@dataclass(frozen=True, slots=True)
class LockTime:
    """Milliseconds for which initiators that were locked in a window had waited for the lock."""

    count: int
    mean: float
    max: int


def where(which: Which, now: int | None) -> sa.ColumnElement[bool]:
    """Return the condition of a kind of dialogs.

    If ``now`` is None, no time is known at which to judge the age of a state, so only the kinds
    OPEN, WAITING and SLOW, which do not depend on it, have dialogs.
    """
    if now is None:
        return where(which, 0) if which in _AGELESS else sa.false()
    is_open = _D.ended_at.is_(None)
    waits = is_open & ((_D.depth > 0) | (_D.parked > 0))
    quiet = is_open & (_D.depth == 0) & (_D.parked == 0)
    over = _D.state.in_(("DI", "ER"))
    conditions: dict[Which, sa.ColumnElement[bool]] = {
        Which.OPEN: is_open,
        Which.WAITING: waits,
        Which.STUCK: waits & (_D.waiting_since < now - RETRY_CEILING),
        Which.UNLOCKED: is_open
        & _D.is_initiator
        & _D.locked_at.is_(None)
        & (_D.sent > 0)
        & (_D.begun_at < now - RETRY_CEILING),
        Which.FAILED: is_open & (_D.state == "ER") & (_D.progress_at >= now - LEFT_OPEN),
        Which.LEAKED: is_open & over & (_D.progress_at < now - LEFT_OPEN),
        Which.IDLE: quiet & ~over & (_D.progress_at < now - IDLE),
        Which.SLOW: _D.locked_at.is_not(None),
    }
    return conditions[which]


_AGELESS = (Which.OPEN, Which.WAITING, Which.SLOW)
_OPEN_KINDS = tuple(which for which in Which if which is not Which.SLOW)
_FIRST: dict[Which, sa.ColumnElement[Any]] = {
    Which.OPEN: _D.begun_at.desc(),
    Which.WAITING: _D.waiting_since,
    Which.STUCK: _D.waiting_since,
    Which.UNLOCKED: _D.begun_at,
    Which.FAILED: _D.error_at.desc(),
    Which.LEAKED: _D.progress_at,
    Which.IDLE: _D.progress_at,
    Which.SLOW: (_D.locked_at - _D.begun_at).desc(),
}


def find_dialogs(
    store: Store, which: Which, now: int | None, *, instance: str | None = None, limit: int = 100
) -> tuple[DialogSide, ...]:
    """Return dialogs of a kind, most urgent first."""
    found = sa.select(DIALOGS).where(where(which, now))
    if instance is not None:
        found = found.where(_D.instance == instance)
    return store.select(DialogSide, found.order_by(_FIRST[which], _D.key).limit(limit))


@dataclass(frozen=True, slots=True)
class Group:
    """Open dialogs of one kind at one instance that share a transmission status.

    ``since``: the earliest time of last progress among them.
    """

    instance: str
    status: int
    sides: int
    messages: int
    since: int


def group_dialogs(store: Store, now: int | None) -> dict[Which, tuple[Group, ...]]:
    """Return the open dialogs of each kind except SLOW, by instance and status, in one query.

    Dialogs of the kind SLOW need not be open.
    """
    since = sa.func.coalesce(_D.waiting_since, _D.progress_at)
    figures: list[sa.ColumnElement[Any]] = []
    for which in _OPEN_KINDS:
        condition = where(which, now)
        figures += [
            sa.func.sum(sa.case((condition, 1), else_=0)).label(f"{which.name}_sides"),
            sa.func.sum(sa.case((condition, _D.depth), else_=0)).label(f"{which.name}_messages"),
            sa.func.min(sa.case((condition, since))).label(f"{which.name}_since"),
        ]
    asked = sa.select(_D.instance, _D.status, *figures).where(_D.ended_at.is_(None))
    rows = store.ask(asked.group_by(_D.instance, _D.status).order_by(_D.instance, _D.status))
    return {
        which: tuple(
            Group(
                row["instance"],
                row["status"],
                int(row[f"{which.name}_sides"]),
                int(row[f"{which.name}_messages"]),
                row[f"{which.name}_since"],
            )
            for row in rows
            if row[f"{which.name}_sides"]
        )
        for which in _OPEN_KINDS
    }


def count_dialogs(store: Store, now: int | None, start: int, end: int) -> DialogCounts:
    """Return the number of dialogs of each kind; events are counted in [start, end)."""

    def within(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
        return (column >= start) & (column < end)

    happened = {
        "begun": _D.is_initiator & within(_D.begun_at),
        "locked": _D.is_initiator & within(_D.locked_at),
        "failed": within(_D.error_at),
        "ended": within(_D.ended_at),
    }
    counts = {name: _count(store, condition) for name, condition in happened.items()}
    for which, groups in group_dialogs(store, now).items():
        # sides that entered ERROR are counted, not sides that are in that state
        if which is not Which.FAILED:
            counts[which.value] = sum(group.sides for group in groups)
    return DialogCounts(**counts)


def lock_time(store: Store, start: int, end: int) -> LockTime:
    """Return how long initiators that were locked in a window had waited for the lock."""
    took = _D.locked_at - _D.begun_at
    mean = sa.func.avg(took)
    figures = (sa.func.count().label("count"), mean.label("mean"), sa.func.max(took).label("max"))
    within = _D.is_initiator & (_D.locked_at >= start) & (_D.locked_at < end)
    (row,) = store.ask(sa.select(*figures).where(within))
    return LockTime(row["count"], float(row["mean"] or 0), row["max"] or 0)


@dataclass(frozen=True, slots=True)
class Waiting:
    """An instance's waiting messages with one status; ``oldest_at`` is as in QueueSample."""

    instance: str
    status: int
    messages: int
    dialogs: int
    parked: int
    oldest_at: int | None


def find_waiting(store: Store) -> dict[str, tuple[Waiting, ...]]:
    """Return the waiting messages, by instance."""
    figures = (
        sa.func.sum(_D.depth).label("messages"),
        sa.func.count().label("dialogs"),
        sa.func.sum(_D.parked).label("parked"),
        sa.func.min(_D.waiting_since).label("oldest_at"),
    )
    asked = sa.select(_D.instance, _D.status, *figures).where((_D.depth > 0) | (_D.parked > 0))
    found: dict[str, list[Waiting]] = defaultdict(list)
    for row in store.ask(asked.group_by(_D.instance, _D.status)):
        sums = {name: int(row[name]) for name in ("status", "messages", "dialogs", "parked")}
        waiting = Waiting(instance=row["instance"], oldest_at=row["oldest_at"], **sums)
        found[waiting.instance].append(waiting)
    return {instance: tuple(rows) for instance, rows in found.items()}


def _count(store: Store, condition: sa.ColumnElement[bool]) -> int:
    (row,) = store.ask(sa.select(sa.func.count().label("n")).select_from(DIALOGS).where(condition))
    return int(row["n"])
