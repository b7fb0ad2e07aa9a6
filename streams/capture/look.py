"""One record of a capture as a row: what can be asked about it, counted and exported."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from streams.capture.record import Record
from streams.errors import EventKind
from streams.protocol import Flag, Header, Parties
from streams.wire import (
    MalformedError,
    Topics,
    decode_event,
    decode_header,
    decode_parties,
    decode_result,
)
from streams.wire.describe import RawRecord
from streams.wire.place import TopicPlace, place_of
from streams.wire.records import (
    CONVERSATION,
    MESSAGE,
    ROUTE,
    conversation_of,
    header_of,
    is_moved,
    read_command,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BROKEN = (MalformedError, ValueError, KeyError, TypeError, OverflowError)
MALFORMED = "malformed"


class Look(NamedTuple):
    """A record: where it is, and what it says; ``at`` in epoch milliseconds, ``size`` in bytes.

    ``what`` is a statement (``BEGIN``, ``SEND``), ``message`` or ``ack`` of a frame, an event's
    name, or ``malformed``; ``side`` is whose it is, ``initiator`` or ``target``. ``id`` is the
    command's or the message's.
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
        """Return when it was as ``2026-01-05T09:00:00.123Z``; None where no calendar has it."""
        return time_text(self.at)


@lru_cache(1024)
def time_text(at: int) -> str | None:
    """Return epoch milliseconds as text that sorts; None for none and for what no calendar has."""
    if at < 0:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def look(record: Record, topics: Topics) -> Look:
    """Return what a record says; nothing raises, what cannot be read is ``malformed``."""
    place = _place(record.topic, topics)
    bare = Look(
        record.topic, record.partition, record.offset, record.timestamp,
        None if place is None else place.kind, size=len(record.value or b""),
    )  # fmt: skip
    if place is None:
        return bare
    bare = bare._replace(instance=place.instance, database=place.database)
    reader = _READERS.get(place.kind)
    if reader is None:
        return bare
    try:
        return reader(record, bare)
    except _BROKEN:
        return bare._replace(what=MALFORMED, conversation=_key(record))


def raw(record: Record) -> RawRecord:
    """Return a captured record as one that :func:`streams.wire.describe.describe` takes."""
    return RawRecord(
        record.topic, record.partition, record.offset, record.timestamp, record.key, record.value,
        record.headers,
    )  # fmt: skip


@lru_cache(4096)
def _place(topic: str, topics: Topics) -> TopicPlace | None:
    return place_of(topic, topics)


def _key(record: Record) -> str | None:
    try:
        return str(conversation_of(record.key))
    except MalformedError:
        return None


def _side(from_initiator: bool | None) -> str | None:
    return None if from_initiator is None else "initiator" if from_initiator else "target"


def _command(record: Record, bare: Look) -> Look:
    command = read_command(record.key, None, list(record.headers), record.timestamp)
    return bare._replace(
        database=command.database,
        conversation=str(command.conversation),
        side=_side(command.from_initiator),
        what="moved" if is_moved(record.headers) else command.kind.value,
        type=command.type,
        from_service=command.from_service,
        to_service=command.to_service,
        contract=command.contract,
        error=command.error_code or 0,
        id=str(command.command_id),
    )


def _frame(record: Record, bare: Look) -> Look:
    parties, header = decode_parties(header_of(record.headers, ROUTE)), _header(record)
    return _with(bare, _key(record), parties, header)


def _queued(record: Record, bare: Look) -> Look:
    raw = header_of(record.headers, CONVERSATION)
    conversation = str(uuid.UUID(bytes=raw or b""))
    return _with(
        bare, conversation, decode_parties(header_of(record.headers, ROUTE)), _header(record)
    )


def _header(record: Record) -> Header | None:
    raw = header_of(record.headers, MESSAGE)
    return None if raw is None else decode_header(raw)


def _with(bare: Look, conversation: str | None, parties: Parties, header: Header | None) -> Look:
    found = bare._replace(
        conversation=conversation,
        side=_side(parties.from_initiator),
        what="ack" if header is None else "message",
        from_service=parties.from_service,
        to_service=parties.to_service,
        contract=parties.contract,
    )
    if header is None:
        return found
    sequenced = not header.is_a(Flag.UNSEQUENCED) and header.fragment == 0
    return found._replace(
        type=header.type,
        sequence=header.sequence if sequenced else None,
        id=str(header.message_id),
    )


def _event(record: Record, bare: Look) -> Look:
    event = decode_event(record.value)
    return bare._replace(
        at=event["at"],
        instance=event["instance"],
        database=event["database"],
        conversation=event["conversation"] or _key(record),
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


def _result(record: Record, bare: Look) -> Look:
    result = decode_result(record.value)
    return bare._replace(conversation=str(result.conversation), what="result", error=result.number)


def _ack(record: Record, bare: Look) -> Look:
    route = header_of(record.headers, ROUTE)
    if route is None:
        return bare._replace(conversation=_key(record), what="status")
    return _with(bare, _key(record), decode_parties(route), None)


_READERS: Mapping[str, Callable[[Record, Look], Look]] = {
    "cmd": _command,
    "out": _frame,
    "txq": _frame,
    "ingress": _frame,
    "in": _frame,
    "ack": _ack,
    "queue": _queued,
    "event": _event,
    "result": _result,
}
