"""The effects that a machine requests and its caller performs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from streams.errors.event_kinds import EventKind
from streams.errors.numbers import Number
from streams.protocol.frames import Ack, Header, Journey, Message


class Transmit(NamedTuple):
    """Send a copy of a fragment; the command of its message is at ``position`` in ``cmd``."""

    sequence: int
    position: int
    attempt: int
    fragment: int = 0
    fragments: int = 1


class Enqueue(NamedTuple):
    """Put a message into the service's queue; locally created messages have no ``journey``."""

    header: Header
    body: bytes
    journey: Journey | None


@dataclass(frozen=True, slots=True)
class EnqueueError:
    """Put an Error that this broker has created into the service's queue (Code = -number)."""

    number: Number


@dataclass(frozen=True, slots=True)
class EnqueueTimer:
    """Put an empty DialogTimer message into the service's queue."""


class SendAck(NamedTuple):
    """Send an acknowledgement frame."""

    ack: Ack


@dataclass(frozen=True, slots=True)
class SendError:
    """Answer a frame with an unsequenced broker Error, addressed to the broker that sent it."""

    number: Number
    to_broker: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Report:
    """Emit an event; ``journey`` belongs to the copy that the event is about, if any."""

    kind: EventKind
    subclass: int = 0
    error: Number | int = 0
    header: Header | None = None
    attempt: int | None = None
    from_broker: str | None = None
    journey: Journey | None = None


Effect = Transmit | Enqueue | EnqueueError | EnqueueTimer | SendAck | SendError | Report


def undeliverable(number: Number, header: Header | None, attempt: int, from_broker: str) -> Report:
    """Return the event about a frame that was not delivered (160), whether sequenced or not."""
    subclass = 1 if header is not None and header.sequenced else 2
    return Report(EventKind.MESSAGE_UNDELIVERABLE, subclass, number, header, attempt, from_broker)


def not_kept(number: Number, message: Message) -> Report:
    """Return the event about a message that was not delivered, including its attempt and path."""
    header, journey = message.header, message.journey
    made = undeliverable(number, header, journey.attempt, message.parties.from_broker)
    return replace(made, journey=journey)
