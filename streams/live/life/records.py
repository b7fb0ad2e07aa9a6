"""The decoded records of one dialog, with bodies shortened."""

from __future__ import annotations

import uuid
from typing import NamedTuple

from streams.errors import Event
from streams.kafka import Message, headers_of
from streams.kafka.follow import raw_record
from streams.protocol import Ack, Command, Dialog, Header, Journey, Parties
from streams.wire import MalformedError, Topics
from streams.wire.dialog_records import (
    AckRecord,
    EventRecord,
    FrameRecord,
    StatementRecord,
    StateRecord,
    dialog_record,
)
from streams.wire.place import TopicPlace, place_of
from streams.wire.records import CONVERSATION, header_of, is_moved, key_of
from streams.wire.state_keys import StateKey

KEPT = 512
"""Number of bytes kept of a body: enough to recognize it, and to read the number of an Error."""


class Issued(NamedTuple):
    """A statement of an application in ``cmd``; its body is shortened."""

    home: str
    command: Command
    size: int
    where: str


class Frame(NamedTuple):
    """A copy of a message or of an acknowledgement in one topic; ``body`` is shortened.

    ``home`` is the instance or mirrored pair that owns the topic; ``queue`` is (database, queue).
    """

    kind: str
    home: str
    parties: Parties
    header: Header | None
    ack: Ack | None
    journey: Journey
    size: int
    body: bytes
    where: str
    queue: tuple[str, str] | None = None

    @property
    def copy(self) -> tuple[object, ...]:
        """Return the values that identify a transmission in any topic."""
        side, attempt = self.parties.from_initiator, self.journey.attempt
        if self.header is not None:
            return side, attempt, self.header.message_id, self.header.fragment
        return side, attempt, self.ack, self.journey.sent_at


class BrokerEvent(NamedTuple):
    """An event of the broker."""

    event: Event
    where: str


class Kept(NamedTuple):
    """The state of an endpoint at a certain time; ``dialog`` is ``None`` if it was removed."""

    home: str
    key: StateKey
    dialog: Dialog | None
    at: int
    where: str

    @property
    def endpoint(self) -> tuple[str, str, bool]:
        """Return the values that identify the endpoint."""
        return self.home, self.key.database, self.key.is_initiator


class Broken(NamedTuple):
    """A record of the dialog that cannot be read, and the reason."""

    home: str | None
    why: str
    at: int
    where: str


KINDS = ("cmd", "out", "txq", "ingress", "in", "ack", "queue", "event", "dialog")
"""The kinds of topics that contain records of a dialog."""

Record = Issued | Frame | BrokerEvent | Kept | Broken


class Sieve:
    """Select the records of one conversation and decode them; never raise an exception."""

    def __init__(self, conversation: uuid.UUID, topics: Topics) -> None:
        self._conversation, self._topics = conversation, topics
        self._key, self._raw = key_of(conversation), conversation.bytes
        self._places: dict[str, TopicPlace | None] = {}

    def __call__(self, message: Message) -> Record | None:
        """Return the decoded record; ``None`` if it belongs to another dialog."""
        topic = message.topic() or ""
        if topic not in self._places:
            self._places[topic] = place_of(topic, self._topics)
        place = self._places[topic]
        if place is None or place.kind not in KINDS or not self._concerns(message, place.kind):
            return None
        where = f"{topic}/{message.partition()}@{message.offset()}"
        try:
            return _read(message, place, self._conversation, where)
        except (MalformedError, ValueError) as error:
            return Broken(place.instance, str(error), message.timestamp()[1], where)

    def _concerns(self, message: Message, kind: str) -> bool:
        if kind == "queue":  # the key is the group
            try:
                return header_of(headers_of(message), CONVERSATION) == self._raw
            except MalformedError:
                return False
        key = message.key()
        return self._key in key if kind == "dialog" and isinstance(key, bytes) else key == self._key


def _read(
    message: Message, place: TopicPlace, conversation: uuid.UUID, where: str
) -> Record | None:
    raw = raw_record(message)
    if raw.unreadable:
        raise MalformedError(raw.unreadable)
    match dialog_record(place.kind, raw):
        case StatementRecord() as found if not found.is_moved:
            command = found.command(conversation, KEPT)
            return Issued(place.instance or "", command, len(raw.value or b""), where)
        case AckRecord() as found if not found.is_frame:
            return None  # a status, whose event has the same content
        case FrameRecord() as found if not is_moved(raw.headers):
            return _frame(found, raw.value or b"", place, conversation, where)
        case EventRecord() as found:
            event = found.event
            if event["message_id"] is not None:
                # raises ValueError, because an event may have any text there
                uuid.UUID(event["message_id"])
            return BrokerEvent(event, where)
        case StateRecord() as found if (about := found.endpoint) is not None:
            dialog = found.dialog(conversation)
            return Kept(place.instance or "", about, dialog, raw.timestamp, where)
    return None


def _frame(
    frame: FrameRecord, value: bytes, place: TopicPlace, conversation: uuid.UUID, where: str
) -> Frame:
    has_message = frame.is_message
    return Frame(
        # both contain messages from another instance that wait at a gateway
        "txq" if place.kind == "ingress" else place.kind,
        place.instance or "",
        frame.parties,
        frame.header if has_message else None,
        None if has_message else frame.ack(conversation),
        frame.journey,
        len(value),
        value[:KEPT] if has_message else b"",
        where,
        None if place.queue is None else (place.database or "", place.queue),
    )


__all__ = ["KEPT", "KINDS", "Broken", "BrokerEvent", "Frame", "Issued", "Kept", "Record", "Sieve"]
