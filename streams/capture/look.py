"""One record of a capture as a row, for queries, counts and exports."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from streams.capture.record import Record
from streams.errors import EventKind
from streams.protocol import Flag
from streams.wire import MalformedError, Topics
from streams.wire.bounds import SHORT
from streams.wire.describe import RawRecord
from streams.wire.dialog_records import (
    AckRecord,
    DialogRecord,
    EventRecord,
    FrameRecord,
    KafkaRecord,
    QueuedRecord,
    StatementRecord,
    StatementResult,
    dialog_record,
)
from streams.wire.place import place_of
from streams.wire.records import conversation_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BROKEN = (MalformedError, ValueError, KeyError, TypeError, OverflowError)
MALFORMED = "malformed"
_ANY = uuid.UUID(int=0)


class Look(NamedTuple):
    """A record: its place and content; ``at`` is in epoch milliseconds, ``size`` in bytes.

    ``what`` is a statement (``BEGIN``, ``SEND``), ``message`` or ``ack`` of a frame, an event's
    name, or ``malformed``; ``side`` is ``initiator`` or ``target``. ``id`` is the id of the command
    or the message.
    """

    topic: str
    partition: int
    offset: int
    at: int
    kind: str | None
    instance: str | None = None
    database: str | None = None
    conversation: str | None = None
    side: str | None = None
    what: str | None = None
    type: str | None = None
    sequence: int | None = None
    from_service: str | None = None
    to_service: str | None = None
    contract: str | None = None
    error: int = 0
    size: int = 0
    id: str | None = None

    @property
    def time(self) -> str | None:
        """Return the time in the form ``2026-01-05T09:00:00.123Z``, or None if out of range."""
        return time_text(self.at)


@lru_cache(1024)
def time_text(at: int) -> str | None:
    """Return epoch milliseconds as sortable text, or None if they are out of range."""
    if at < 0:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def look(record: Record, topics: Topics) -> Look:
    """Return the row of a record without raising; undecodable records are ``malformed``."""
    topic = record.topic
    place = (_short_place if len(topic) <= SHORT else place_of)(topic, topics)
    bare = Look(
        record.topic, record.partition, record.offset, record.timestamp,
        None if place is None else place.kind, size=len(record.value or b""),
    )  # fmt: skip
    if place is None:
        return bare
    bare = bare._replace(instance=place.instance, database=place.database)
    try:
        return _read(dialog_record(place.kind, record), bare)
    except _BROKEN:
        return bare._replace(what=MALFORMED, conversation=_key(record))


def raw(record: Record) -> RawRecord:
    """Convert a captured record for :func:`streams.wire.describe.describe`."""
    return RawRecord(
        record.topic, record.partition, record.offset, record.timestamp, record.key, record.value,
        record.headers,
    )  # fmt: skip


def _read(record: DialogRecord | None, bare: Look) -> Look:
    match record:
        case StatementRecord():
            return _statement(record, bare)
        case FrameRecord():
            return _frame(record, bare)
        case EventRecord():
            return _event(record, bare)
        case StatementResult():
            result = record.result
            conversation = str(result.conversation)
            return bare._replace(conversation=conversation, what="result", error=result.number)
    return bare


_short_place = lru_cache(4096)(place_of)


def _key(record: KafkaRecord) -> str | None:
    try:
        return str(conversation_of(record.key))
    except MalformedError:
        return None


def _side(from_initiator: bool | None) -> str | None:
    return None if from_initiator is None else "initiator" if from_initiator else "target"


def _statement(record: StatementRecord, bare: Look) -> Look:
    command = record.command(record.conversation)
    return bare._replace(
        database=command.database,
        conversation=str(command.conversation),
        side=_side(command.from_initiator),
        what="moved" if record.is_moved else command.kind.value,
        type=command.type,
        from_service=command.from_service,
        to_service=command.to_service,
        contract=command.contract,
        error=command.error_code or 0,
        id=str(command.command_id),
    )


def _frame(record: FrameRecord, bare: Look) -> Look:
    if isinstance(record, AckRecord) and not record.is_frame:
        return bare._replace(conversation=_key(record.record), what="status")
    in_queue = isinstance(record, QueuedRecord)
    parties = record.parties
    found = bare._replace(
        conversation=str(record.conversation) if in_queue else _key(record.record),
        side=_side(parties.from_initiator),
        what="ack",
        from_service=parties.from_service,
        to_service=parties.to_service,
        contract=parties.contract,
    )
    if isinstance(record, AckRecord) or not record.is_message:
        record.ack(_ANY)  # a body without its sb-message is not an acknowledgement
        return found
    header = record.header
    sequenced = not header.is_a(Flag.UNSEQUENCED) and header.fragment == 0
    return found._replace(
        what="message",
        type=header.type,
        sequence=header.sequence if sequenced else None,
        id=str(header.message_id),
    )


def _event(record: EventRecord, bare: Look) -> Look:
    event = record.event
    return bare._replace(
        at=event["at"],
        instance=event["instance"],
        database=event["database"],
        conversation=event["conversation"] or _key(record.record),
        side=_side(event["from_initiator"]),
        what=_title(event["event"]),
        sequence=event["sequence"],
        from_service=event["from_service"],
        to_service=event["to_service"],
        error=event["error"],
        id=event["message_id"],
    )


@lru_cache(256)
def _title(number: int) -> str:
    try:
        return EventKind(number).title.removeprefix("Broker:")
    except ValueError:
        return f"event {number}"
