"""The content of dialog records as typed values, for all readers except workers.

The topic's kind selects the class (:func:`dialog_record`). Each value is decoded on access, which
raises MalformedError if the value is invalid. So code that counts messages decodes only three
headers, a description shows all readable parts, and a dialog's history includes its invalid
records. Workers use :mod:`streams.wire.records`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from streams.errors import Event
from streams.protocol import Ack, Command, Dialog, Header, Journey, Message, Parties, Status
from streams.wire.acknowledgements import decode_ack_value
from streams.wire.commands import ResultRecord, decode_result
from streams.wire.events import decode_event
from streams.wire.frame_headers import decode_header, decode_journey, decode_parties
from streams.wire.records import (
    HOP,
    MESSAGE,
    ROUTE,
    conversation_of,
    header_of,
    is_moved,
    key_of,
    queued_conversation,
    read_command,
    read_queued,
)
from streams.wire.single_object import MalformedError
from streams.wire.state import decode_dialog
from streams.wire.state_keys import StateKey, endpoint_of


class KafkaRecord(Protocol):
    """The parts of a Kafka record that are read; ``timestamp`` is in epoch milliseconds."""

    @property
    def timestamp(self) -> int:
        """Return the append time, or the writer's timestamp."""

    @property
    def key(self) -> bytes | None:
        """Return the key."""

    @property
    def value(self) -> bytes | None:
        """Return the value."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """Return the headers in order; if several have the same name, the last one is used."""


@dataclass(frozen=True, slots=True)
class DialogRecord:
    """A record whose key is the dialog's id."""

    record: KafkaRecord

    @property
    def conversation(self) -> uuid.UUID:
        """Return the dialog's id."""
        return conversation_of(self.record.key)

    def header_bytes(self, name: str) -> bytes | None:
        """Return a header's raw bytes."""
        return header_of(self.record.headers, name)


class StatementRecord(DialogRecord):
    """A record of ``cmd``."""

    __slots__ = ()

    @property
    def is_moved(self) -> bool:
        """Return whether the record is only a copy of a body, moved to the end of ``cmd``."""
        return is_moved(self.record.headers)

    def command(self, conversation: uuid.UUID, body_bytes: int = 0) -> Command:
        """Return the statement, with the first ``body_bytes`` bytes of its body."""
        record, key = self.record, key_of(conversation)
        body = (record.value or b"")[:body_bytes] if body_bytes else None
        return read_command(key, body, list(record.headers), record.timestamp)


class FrameRecord(DialogRecord):
    """A copy in transit, in ``out``, ``txq``, ``ingress`` or ``in``."""

    __slots__ = ()

    @property
    def parties(self) -> Parties:
        """Return the services and the direction."""
        return decode_parties(self.header_bytes(ROUTE))

    @property
    def is_message(self) -> bool:
        """Return whether the record is a message; otherwise, it is an acknowledgement."""
        return self.header_bytes(MESSAGE) is not None

    @property
    def header(self) -> Header:
        """Return the message header."""
        return decode_header(self.header_bytes(MESSAGE))

    @property
    def journey(self) -> Journey:
        """Return the path so far."""
        return decode_journey(self.header_bytes(HOP))

    def ack(self, conversation: uuid.UUID) -> Ack:
        """Return the acknowledgement; only ``ack`` can contain a forwarder's status."""
        read = decode_ack_value(self.record.value, conversation)
        if isinstance(read, Status):
            raise MalformedError("a status instead of an acknowledgement")
        return read


class AckRecord(FrameRecord):
    """A record of ``ack``: an acknowledgement, or a forwarder's status, which has no envelope."""

    __slots__ = ()

    @property
    def is_frame(self) -> bool:
        """Return whether the record arrived as a frame, and not as a forwarder's status."""
        return self.header_bytes(ROUTE) is not None


class QueuedRecord(FrameRecord):
    """A message in a queue; the record's key is its conversation group."""

    __slots__ = ()

    @property
    def journey(self) -> Journey:
        """Return the whole path, with the visit of the endpoint worker."""
        return decode_journey(self.header_bytes(HOP), queued=True)

    @property
    def conversation(self) -> uuid.UUID:
        """Return the dialog's id, from a header."""
        return queued_conversation(self.record.headers)

    @property
    def message(self) -> Message:
        """Return the message."""
        return read_queued(self.record.value, list(self.record.headers))


class EventRecord(DialogRecord):
    """A record of ``event``: a trace event of the broker."""

    __slots__ = ()

    @property
    def event(self) -> Event:
        """Return the event; its ids are text, and may be invalid in a foreign producer's event."""
        return decode_event(self.record.value)


class StateRecord(DialogRecord):
    """A record of ``dialog``, the state of an endpoint worker."""

    __slots__ = ()

    @property
    def endpoint(self) -> StateKey | None:
        """Return the endpoint of a state record; None for other records (positions, chunks)."""
        return endpoint_of(self.record.key or b"")

    def dialog(self, conversation: uuid.UUID) -> Dialog | None:
        """Return the endpoint's dialog; None if it was removed."""
        value = self.record.value
        return None if value is None else decode_dialog(value, conversation)


class StatementResult(DialogRecord):
    """A record of ``result``: the result of a statement."""

    __slots__ = ()

    @property
    def result(self) -> ResultRecord:
        """Return the result."""
        return decode_result(self.record.value)


_BY_KIND: Mapping[str, type[DialogRecord]] = {
    "cmd": StatementRecord,
    "out": FrameRecord,
    "txq": FrameRecord,
    "ingress": FrameRecord,
    "in": FrameRecord,
    "ack": AckRecord,
    "queue": QueuedRecord,
    "dialog": StateRecord,
    "event": EventRecord,
    "result": StatementResult,
}


def dialog_record(kind: str, record: KafkaRecord) -> DialogRecord | None:
    """Wrap a record in the class for its kind of topic; None if it does not belong to a dialog."""
    reader = _BY_KIND.get(kind)
    return None if reader is None else reader(record)
