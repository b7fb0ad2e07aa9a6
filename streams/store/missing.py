"""Missing messages, each with its location, the reason, and the remedy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

import sqlalchemy as sa

from streams.errors import Number, text_of
from streams.store.dialogs import RETRY_CEILING
from streams.store.freshness import ARRIVALS, Freshness
from streams.store.mapping import from_columns
from streams.store.message_rows import MissingMessage
from streams.store.message_tables import ACKNOWLEDGED, FOUND, MISSING
from streams.store.state_rows import DialogSide
from streams.store.state_tables import DIALOGS
from streams.store.store import Store

Item = TypeVar("Item")
_AT_ONCE = 500
"""Maximum number of values in one SQL condition; every database allows more."""


class Whereabouts(Enum):
    """The location of a missing message, according to its dialog's state."""

    LOST = "lost"
    """Acknowledged, not in the queue, and no event explains why no application received it."""
    UNREAD = "not read yet"
    """The monitor has not yet read its dialog, or its queue up to the acknowledgement."""
    WAITING = "waiting"
    """In the sender's transmission queue and still retried, or waiting for a queue."""
    DISCARDED = "discarded"
    """The dialog was over before the message arrived: expired, in error, or ended by a side."""
    UNKNOWN = "unknown"
    """The state of its dialog is unknown."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing message, its location, the reason (a sentence), and the remedy (a sentence)."""

    message: MissingMessage
    whereabouts: Whereabouts
    why: str
    remedy: str


_REMEDIES: Mapping[Whereabouts, str] = {
    Whereabouts.LOST: "Run 'hopline verify', which reads all queues and reports whether the "
    "message is there. Keep the topics until then.",
    Whereabouts.UNREAD: "Wait until the monitor has read it, or run 'hopline verify'.",
    Whereabouts.WAITING: "Remove the cause; 'hopline query sys.transmission_queue' shows it.",
    Whereabouts.DISCARDED: "Begin a new dialog and send the message again, if it is still needed.",
    Whereabouts.UNKNOWN: "'hopline tail --conversation' shows how far it got; 'hopline verify' "
    "compares it with the dialog's state.",
}


def find_missing(store: Store, now: int, *, limit: int = 1_000) -> tuple[Missing, ...]:
    """Return the messages that are still missing, newest first."""
    noted = ACKNOWLEDGED.c.at.label("acknowledged_at")
    found = sa.select(MISSING, noted).outerjoin(ACKNOWLEDGED, ACKNOWLEDGED.c.key == MISSING.c.key)
    rows = store.ask(_missing(found).order_by(MISSING.c.seen_at.desc()).limit(limit))
    sides = _sides(store, sorted({row["conversation"] for row in rows}))
    fresh = Freshness(now, store.reached())
    return tuple(
        _judged(
            from_columns(MissingMessage, row),
            sides.get(row["conversation"], ()),
            fresh,
            row["acknowledged_at"],
        )
        for row in rows
    )


def count_missing(store: Store) -> int:
    """Return the number of messages that are still missing."""
    (row,) = store.ask(_missing(sa.select(sa.func.count().label("n")).select_from(MISSING)))
    return int(row["n"])


def locate(
    message: MissingMessage,
    sides: Sequence[DialogSide],
    fresh: Freshness,
    acknowledged_at: int | None = None,
) -> tuple[Whereabouts, str]:
    """Locate a message by the state of both sides of its dialog; also return the reason.

    The rules are applied in this order: not yet evaluated, expired, a side in error, waiting,
    rejected with an acknowledgement, ended, lost. ``acknowledged_at``: when the message was first
    known to be acknowledged; None if this is not stored yet. It was acknowledged at or before the
    sender's last progress, and copies may arrive for another retry interval.
    """
    sender = next((s for s in sides if s.is_initiator is message.from_initiator), None)
    receiver = next((s for s in sides if s.is_initiator is not message.from_initiator), None)
    if sender is None and not fresh.covers(message.seen_at, "dialogs"):
        return Whereabouts.UNREAD, "The monitor has not read its dialog yet."
    if (
        sender is not None
        and message.sequence < sender.acknowledged
        and not fresh.covers((acknowledged_at or sender.progress_at) + RETRY_CEILING, ARRIVALS)
    ):
        return Whereabouts.UNREAD, "It was acknowledged; its queue has not been read since."
    if message.expires_at <= fresh.now:
        return Whereabouts.DISCARDED, "The lifetime of its dialog has expired."
    if any(side.error_at is not None for side in sides):
        return Whereabouts.DISCARDED, "Its dialog has ended in error."
    if sender is None:
        return Whereabouts.UNKNOWN, "The sender's side is unknown."
    if sender.ended_at is None and message.sequence >= sender.acknowledged:
        why = f" ({sender.status}: {text_of(sender.status)})" if sender.status else ""
        return Whereabouts.WAITING, f"It is in the transmission queue of {sender.instance}{why}."
    if receiver is not None and receiver.parked:
        return Whereabouts.WAITING, f"It waits in {receiver.instance} for a queue that is off."
    if receiver is None and message.error == Number.CONTRACT_NOT_USABLE:
        return Whereabouts.DISCARDED, "Its target does not accept the contract."
    if any(side.ended_at is not None or side.state in _ENDING for side in sides):
        return Whereabouts.DISCARDED, "An application has ended its dialog."
    return Whereabouts.LOST, "It was acknowledged, but is not in any queue."


_ENDING = ("DI", "DO", "CD")


def _judged(
    message: MissingMessage,
    sides: Sequence[DialogSide],
    fresh: Freshness,
    acknowledged_at: int | None,
) -> Missing:
    where, why = locate(message, sides, fresh, acknowledged_at)
    if message.error:
        why += f" {message.error_by} has dropped a copy ({message.error}: {text_of(message.error)})"
        why = why.rstrip(".") + "."
    return Missing(message, where, why, _REMEDIES[where])


def _missing(statement: sa.Select[Any]) -> sa.Select[Any]:
    found = sa.exists().where(
        FOUND.c.conversation == MISSING.c.conversation, FOUND.c.message_id == MISSING.c.message_id
    )
    return statement.where(~found)


def _sides(store: Store, conversations: Sequence[str]) -> dict[str, list[DialogSide]]:
    found: defaultdict[str, list[DialogSide]] = defaultdict(list)
    for some in _chunks(conversations):
        wanted = sa.select(DIALOGS).where(DIALOGS.c.conversation.in_(some))
        for side in store.select(DialogSide, wanted):
            found[side.conversation].append(side)
    return found


def _chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), _AT_ONCE):
        yield items[begin : begin + _AT_ONCE]
