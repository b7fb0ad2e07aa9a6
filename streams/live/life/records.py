"""What the records of one dialog say, decoded, with no more of a body than is shown."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from streams.kafka import Message, headers_of
from streams.protocol import Ack, Command, Dialog, Header, Journey, Parties
from streams.wire import MalformedError, Topics, decode_event
from streams.wire.acknowledgements import decode_ack_value
from streams.wire.frame_headers import decode_header, decode_journey, decode_parties
from streams.wire.place import TopicPlace, place_of
from streams.wire.records import (
    CONVERSATION,
    HOP,
    MESSAGE,
    ROUTE,
    header_of,
    is_moved,
    key_of,
    read_command,
)
from streams.wire.state import decode_dialog
from streams.wire.state_keys import StateKey, decode_key

KEPT = 512
"""So many bytes of a body are kept: enough to recognise it, and the number of an Error."""


class Issued(NamedTuple):
    """A statement of an application, as it is stored in ``cmd``; its body is cut."""

    home: str
    command: Command
    size: int
    where: str


class Frame(NamedTuple):
    """A copy of a message or of an acknowledgement in one topic; ``body`` is cut.

    ``home`` is the instance, or the mirrored pair, whose topic it is; ``queue`` is
    (database, queue).
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
        """Return what tells one transmission from another, wherever it is."""
        side, attempt = self.parties.from_initiator, self.journey.attempt
        if self.header is not None:
            return side, attempt, self.header.message_id, self.header.fragment
        return side, attempt, self.ack, self.journey.sent_at


class BrokerEvent(NamedTuple):
    """An event of the broker."""

    event: dict[str, Any]
    where: str


class Kept(NamedTuple):
    """What the state of an endpoint was at some time; ``None``: it is forgotten."""

    home: str
    key: StateKey
    dialog: Dialog | None
    at: int
    where: str


class Broken(NamedTuple):
    """A record of the dialog that cannot be read, and why."""

    home: str | None
    why: str
    at: int
    where: str


Record = Issued | Frame | BrokerEvent | Kept | Broken


class Sieve:
    """Picks the records of one conversation and decodes them; raises nothing."""

    def __init__(self, conversation: uuid.UUID, topics: Topics) -> None:
        self._conversation, self._topics = conversation, topics
        self._key, self._raw = key_of(conversation), conversation.bytes
        self._places: dict[str, TopicPlace | None] = {}

    def __call__(self, message: Message) -> Record | None:
        """Return what a record says about the dialog; ``None`` where it is none of it."""
        topic = message.topic() or ""
        if topic not in self._places:
            self._places[topic] = place_of(topic, self._topics)
        place = self._places[topic]
        if place is None or not self._concerns(message, place.kind):
            return None
        where = f"{topic}/{message.partition()}@{message.offset()}"
        try:
            return _READERS[place.kind](message, place, self._conversation, where)
        except (MalformedError, ValueError) as error:
            return Broken(place.instance, str(error), message.timestamp()[1], where)

    def _concerns(self, message: Message, kind: str) -> bool:
        if kind == "queue":  # its key is the group
            try:
                return header_of(headers_of(message), CONVERSATION) == self._raw
            except MalformedError:
                return False
        key = message.key()
        return self._key in key if kind == "dialog" and isinstance(key, bytes) else key == self._key


def _issued(message: Message, place: TopicPlace, _: uuid.UUID, where: str) -> Issued | None:
    headers, value = headers_of(message), message.value() or b""
    if is_moved(headers):
        return None
    command = read_command(message.key(), value[:KEPT], headers, message.timestamp()[1])
    return Issued(place.instance or "", command, len(value), where)


def _frame(
    message: Message, place: TopicPlace, conversation: uuid.UUID, where: str
) -> Frame | None:
    headers, value = headers_of(message), message.value() or b""
    if is_moved(headers) or (place.kind == "ack" and header_of(headers, ROUTE) is None):
        return None  # of the latter, a status, its event tells the same
    raw = header_of(headers, MESSAGE)
    header = None if raw is None else decode_header(raw)
    ack = None if header is not None else _ack(value, conversation)
    return Frame(
        "txq" if place.kind == "ingress" else place.kind,  # both wait at a gateway, from outside
        place.instance or "",
        decode_parties(header_of(headers, ROUTE)),
        header,
        ack,
        decode_journey(header_of(headers, HOP)),
        len(value),
        value[:KEPT] if header is not None else b"",
        where,
        None if place.queue is None else (place.database or "", place.queue),
    )


def _ack(value: bytes, conversation: uuid.UUID) -> Ack:
    read = decode_ack_value(value, conversation)
    if not isinstance(read, Ack):
        raise MalformedError("a status where an acknowledgement should be")
    return read


def _broker_event(message: Message, _: TopicPlace, __: uuid.UUID, where: str) -> BrokerEvent:
    event = decode_event(message.value())
    if event["message_id"] is not None:
        uuid.UUID(event["message_id"])  # ValueError: whoever may write events may write any text
    return BrokerEvent(event, where)


def _kept(message: Message, place: TopicPlace, conversation: uuid.UUID, where: str) -> Kept | None:
    key, value = message.key(), message.value()
    about = decode_key(key if isinstance(key, bytes) else b"")
    if not isinstance(about, StateKey) or about.chunk is not None:
        return None
    dialog = None if value is None else decode_dialog(value, conversation)
    return Kept(place.instance or "", about, dialog, message.timestamp()[1], where)


_READERS: Mapping[str, Callable[[Message, TopicPlace, uuid.UUID, str], Record | None]] = {
    "cmd": _issued,
    "out": _frame,
    "txq": _frame,
    "ingress": _frame,
    "in": _frame,
    "ack": _frame,
    "queue": _frame,
    "event": _broker_event,
    "dialog": _kept,
}
KINDS = tuple(_READERS)
"""The kinds of topics in which a dialog leaves something that is read."""

__all__ = ["KEPT", "KINDS", "Broken", "BrokerEvent", "Frame", "Issued", "Kept", "Record", "Sieve"]
