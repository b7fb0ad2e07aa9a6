"""Convert records of topics to parts of dialogs, for a single process and for Spark.

The only state between records is the detection of an application's repeated statements, so the
records of a partition must be read in order. Partitions read in parallel each need their own
reader, and :mod:`streams.report.gather` combines the results.
"""

from __future__ import annotations

import re
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.errors import ConversationEvent, CopyOutcome, Event, EventKind, Number, copy_outcome
from streams.errors.refusals import refusal_in
from streams.protocol import ERROR, Command, CommandKind, Flag, Message, Source
from streams.protocol.seen import MOST_SOURCES
from streams.report.facts import Ending
from streams.report.parts import (
    Began,
    Delayed,
    Dropped,
    Duplicate,
    Ended,
    Failed,
    Kept,
    Part,
    Queued,
    QueuedEnd,
    Refused,
    Sent,
    Shared,
    Unaccepted,
    is_dialog,
    no_dialog,
    shared_key,
)
from streams.report.sites import Sites
from streams.wire import MalformedError
from streams.wire.dialog_records import (
    EventRecord,
    QueuedRecord,
    StatementRecord,
    StateRecord,
    dialog_record,
)
from streams.wire.job import JOB
from streams.wire.partition import partition_of
from streams.wire.place import TopicPlace
from streams.wire.records import Headers, demand_size, header_of

DialogPart = tuple[bytes, Part]
"""A dialog's id, and a part of the dialog."""
_Latest = OrderedDict[Source, tuple[int, tuple[int, int]]]
"""The offset and the cause of each source's last statement; the most recent source is last."""

_ERROR_RECEIVED = (ConversationEvent.ERROR_RECEIVED, ConversationEvent.BROKER_ERROR_RECEIVED)
"""Subclasses of event 124 for an Error from the other side's application or its broker."""
ERROR_BEGIN, ERROR_HEAD = b"<Error ", 256
"""The first bytes of an Error's body, and the number of bytes within which its code ends."""
_NO_NAME = "\ufffd"
"""Java's replacement for invalid UTF-8; a worker rejects a record with such a header."""
_SENT_AGAIN = "sent again after a retry, or by a forwarder"
_LONGEST = 512
"""Maximum number of stored characters of a place that is not in the catalog, or of a replay's name.

A name of SQL Server has at most 128 characters, but a statement may name a database with thousands.
"""
_CODE = re.compile(rb"<Code>(-?\d+)</Code>")


class Record(NamedTuple):
    """A record of any topic; ``timestamp`` is in epoch milliseconds.

    ``digest`` and ``size`` (in bytes) refer to the whole value.

    Values of ``cmd`` topics are not read. Of the values in queues, only those that begin with
    :data:`ERROR_BEGIN` are read, up to :data:`ERROR_HEAD` bytes.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    headers: Headers
    value: bytes | None
    digest: bytes
    size: int


@dataclass(slots=True)
class RecordReader:
    """Read records; ``read`` has the first unread offset of commands by instance and partition."""

    sites: Sites
    read: Mapping[tuple[str, int], int] = field(default_factory=dict)
    _places: dict[str, TopicPlace | None] = field(default_factory=dict)
    _last: dict[tuple[str, int], _Latest] = field(default_factory=dict)
    _longest: int = field(init=False)

    def __post_init__(self) -> None:
        self._longest = max([_LONGEST, *map(len, self.sites.brokers.values())])

    def read_record(self, record: Record) -> Iterator[DialogPart]:
        """Yield the parts of a record; a foreign record has no parts."""
        topic = record.topic
        if topic not in self._places:
            self._places[topic] = self.sites.place_of(topic)
        place = self._places[topic]
        if place is None or not _has_names(record.headers):
            return
        try:
            match dialog_record(place.kind, record):
                case StatementRecord() as found if not found.is_moved:
                    demand_size(record.size, record.headers)
                    command = found.command(found.conversation)
                    yield from self._command(record, command, place.instance or "")
                case QueuedRecord() as found:
                    yield from _queued(record, found.message, f"{place.instance}/{place.database}")
                case StateRecord() as found if (endpoint := found.endpoint) is not None:
                    at = record.partition, record.offset
                    about = place.instance or "", endpoint.database, endpoint.is_initiator
                    yield endpoint.conversation.bytes, Kept(at, *about, record.value)
                case EventRecord() as found:
                    yield from self._event(record, found.event)
        except MalformedError:
            return  # not a message of a dialog, or reported as event 161 by the endpoint worker

    def read_fields(self, *fields: Any) -> Iterator[DialogPart]:
        """Yield the parts of a record given as the fields of :class:`Record`."""
        return self.read_record(Record(*fields))

    # --- commands --------------------------------------------------------------------------------

    def _command(self, record: Record, command: Command, home: str) -> Iterator[DialogPart]:
        count = self.sites.partitions.get(home)
        if count and partition_of(command.conversation, count) != record.partition:
            return  # this is also reported as event 161
        if self._is_repeated(record, command):
            return
        read = record.offset < self.read.get((home, record.partition), 0)
        at, place = (record.partition, record.offset), self._cut(f"{home}/{command.database}")
        about = at, place, command.from_initiator, command.command_id.bytes
        if command.kind is CommandKind.SEND:
            for conversation in (command.conversation, *command.also):
                message_id = command.message_id(conversation).bytes
                sent = record.digest, record.timestamp, read, command.cause
                yield conversation.bytes, Sent(*about, message_id, *sent)
            if command.also:
                yield shared_key(command.command_id.bytes), Shared(command.command_id.bytes)
        elif command.kind is CommandKind.BEGIN:
            lifetime = (command.lifetime or 0) * 1000
            expires_at = lifetime and record.timestamp + lifetime
            job = (header_of(record.headers, JOB) or b"")[:_LONGEST].decode("utf-8", "replace")
            yield command.conversation.bytes, Began(command.command_id.bytes, expires_at, job)
        elif command.kind is CommandKind.END and read:
            yield command.conversation.bytes, Ended(*about, _how(command), command.cause)

    def _is_repeated(self, record: Record, command: Command) -> bool:
        """Return whether a statement repeats an earlier one, which makes its endpoint skip it."""
        cause = command.cause
        if cause is None:
            return False
        latest = self._last.setdefault((record.topic, record.partition), OrderedDict())
        offset, at = latest.get(cause.source, (-1, (-1, -1)))
        if record.offset < offset:
            return False  # the record is from a file that is read later; parts are sorted again
        if cause.at <= at:
            return True
        latest[cause.source] = record.offset, cause.at
        latest.move_to_end(cause.source)
        if len(latest) > MOST_SOURCES:  # the endpoint removes the longest-silent source
            latest.popitem(last=False)
        return False

    def _cut(self, place: str) -> str:
        return place[: self._longest]

    # --- events ----------------------------------------------------------------------------------

    def _event(self, record: Record, event: Event) -> Iterator[DialogPart]:
        error, reported_at = event["error"], event["at"]
        dialog = _id(event["conversation"]) or no_dialog(record.offset)
        if event["event"] == EventKind.CONVERSATION:
            yield from self._ending(record, event, error, dialog)
        elif (
            error == Number.CONTRACT_NOT_USABLE
            and is_dialog(dialog)
            and (sequence := event["sequence"]) is not None
        ):
            yield dialog, Unaccepted(self._home(event), bool(event["from_initiator"]), sequence)
        match copy_outcome(event):
            case CopyOutcome.REMOVED:
                retried = "retries" if event["attempt"] else _SENT_AGAIN
                yield dialog, Duplicate(retried, reported_at)
            case CopyOutcome.DROPPED:
                yield dialog, Dropped(error, reported_at)
            case CopyOutcome.DELAYED:
                yield dialog, Delayed(error, reported_at)

    def _ending(
        self, record: Record, event: Event, error: int, dialog: bytes
    ) -> Iterator[DialogPart]:
        """Yield the parts of a rejected statement, or of a conversation that ended in error."""
        refusal = refusal_in(event)
        if refusal is not None:
            refused, side = refusal.command_id.bytes, refusal.from_initiator
            part = Refused(refused, error, self._home(event), side, refusal.at)
            if is_dialog(dialog):
                yield dialog, part
            yield shared_key(refused), part
        elif is_dialog(dialog) and (error or event["subclass"] in _ERROR_RECEIVED):
            at = record.partition, record.offset
            yield dialog, Failed(at, self._home(event), bool(event["from_initiator"]), error)

    def _home(self, event: Event) -> str:
        return self._cut(self.sites.home(str(event["instance"]), str(event["database"])))


def _has_names(headers: Headers) -> bool:
    for name, _ in headers:  # noqa: SIM110 -- for every record: a generator takes three times as long
        if _NO_NAME in name:
            return False
    return True


def _id(text: object) -> bytes | None:
    """Return an id of an event; ``None`` for a text that is not an id."""
    try:
        return uuid.UUID(str(text)).bytes
    except ValueError:
        return None


def _how(command: Command) -> Ending:
    if command.cleanup:
        return Ending.WITH_CLEANUP
    return Ending.PLAIN if command.error_code is None else Ending.WITH_ERROR


def _code(body: bytes) -> int:
    found = _CODE.search(body, 0, ERROR_HEAD) if body.startswith(ERROR_BEGIN) else None
    return int(found[1]) if found else 0


def _queued(record: Record, frame: Message, place: str) -> Iterator[DialogPart]:
    header, conversation = frame.header, frame.conversation.bytes
    from_initiator = frame.parties.from_initiator
    if header.type == ERROR:
        yield conversation, QueuedEnd(place, from_initiator, _code(frame.body))
    elif header.is_a(Flag.END):
        yield conversation, QueuedEnd(place, from_initiator, None)
    elif header.sequenced:  # otherwise it is a DialogTimer, which no application has sent
        at, message_id = (record.partition, record.offset), header.message_id.bytes
        message = message_id, header.sequence, record.digest, header.enqueued_at
        yield conversation, Queued(at, place, from_initiator, *message, frame.journey.path)
