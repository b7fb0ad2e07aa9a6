"""The fields of an event (``schemas/Event.avsc``), and the outcome that it reports for a copy."""

from __future__ import annotations

from enum import Enum
from typing import TypedDict

from streams.errors.event_kinds import EventKind
from streams.errors.numbers import Number


class Event(TypedDict, total=False):
    """An event of the broker. Emitters leave out null fields; a decoded event has all fields.

    Ids are text, because a foreign producer may write any text. Times are epoch milliseconds. The
    schema documents the fields except for ``event`` and ``error`` (SQL Server's numbers).
    """

    event: int
    subclass: int
    at: int
    instance: str
    database: str | None
    conversation: str | None
    from_initiator: bool | None
    error: int
    sequence: int | None
    message_id: str | None
    attempt: int | None
    from_service: str | None
    to_service: str | None
    from_broker: str | None
    to_broker: str | None
    next_hop: str | None
    hops_remaining: int | None
    state: str | None
    topic: str | None
    partition: int | None
    offset: int | None
    detail: str
    fragment: int | None
    sent_at: int | None
    first_hop: int | None
    left_at: int | None
    path: str | None
    route: str | None


class CopyOutcome(Enum):
    """The outcome of a copy that did not arrive, or of a waiting message."""

    REMOVED = "removed"
    DROPPED = "dropped"
    DELAYED = "delayed"


def copy_outcome(event: Event) -> CopyOutcome | None:
    """Return the outcome of a copy that an event reports, or None for other events."""
    kind, error = event["event"], event["error"]
    if kind == EventKind.MESSAGE_UNDELIVERABLE and error == Number.DUPLICATE:
        return CopyOutcome.REMOVED
    if kind in (EventKind.FORWARDED_MESSAGE_DROPPED, EventKind.MESSAGE_UNDELIVERABLE):
        return CopyOutcome.DROPPED
    if kind == EventKind.MESSAGE_CLASSIFY and error:
        return CopyOutcome.DELAYED
    return None
