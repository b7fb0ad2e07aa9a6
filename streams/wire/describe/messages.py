"""Statements, frames, queue messages and results: the records on a message's path."""

from __future__ import annotations

import uuid

from streams.errors import text_of
from streams.protocol import Status
from streams.wire.acknowledgements import decode_ack_value
from streams.wire.describe.builder import DescriptionBuilder
from streams.wire.dialog_records import (
    FrameRecord,
    QueuedRecord,
    StatementRecord,
    StatementResult,
)
from streams.wire.plain import body_of, plain, text_of_bytes
from streams.wire.records import ORIGIN
from streams.wire.single_object import MalformedError

_NOBODY = uuid.UUID(int=0)


def describe_command(found: DescriptionBuilder) -> None:
    """Describe a statement of an application."""
    statement, conversation = StatementRecord(found.record), found.conversation_key()
    command = found.take("command", lambda: statement.command(conversation or _NOBODY))
    if command is not None:
        for name in ("body", "conversation", "stored_at"):
            del found.out["command"][name]
    found.out["body"] = body_of(found.record.value)


def describe_frame(found: DescriptionBuilder) -> None:
    """Describe a frame of ``out``, ``txq``, ``ingress`` or ``in``.

    A frame without ``sb-message`` is an acknowledgement.
    """
    frame, conversation = FrameRecord(found.record), found.conversation_key()
    _envelope(found, frame)
    if frame.is_message:
        found.take("message", lambda: frame.header)
        found.out["body"] = body_of(found.record.value)
    else:
        found.take("ack", lambda: frame.ack(conversation or _NOBODY))


def describe_ack(found: DescriptionBuilder) -> None:
    """Describe a record of ``ack``: an acknowledgement, or the status of a forwarder."""
    conversation, value = found.conversation_key(), found.record.value
    try:
        read = decode_ack_value(value, conversation or _NOBODY)
    except MalformedError as error:
        found.malformed.append(str(error))
        return
    if isinstance(read, Status):
        found.out["status"] = {**plain(read), "text": text_of(read.number)}
        del found.out["status"]["conversation"]
        found.out["at"] = read.at
    else:
        found.out["ack"] = plain(read)
        _envelope(found, FrameRecord(found.record))


def describe_queued(found: DescriptionBuilder) -> None:
    """Describe a message in a queue."""
    queued = QueuedRecord(found.record)
    found.take("conversation", lambda: queued.conversation)
    found.out["group"] = found.out["key"]
    _envelope(found, queued)
    found.take("message", lambda: queued.header)
    found.out["body"] = body_of(found.record.value)


def describe_result(found: DescriptionBuilder) -> None:
    """Describe the result of a statement."""
    result = found.take("result", lambda: StatementResult(found.record).result)
    if result is not None:
        found.out["conversation"] = str(result.conversation)
        if result.number and not result.text:
            found.out["result"]["text"] = text_of(result.number)


def _envelope(found: DescriptionBuilder, frame: FrameRecord) -> None:
    found.take("route", lambda: frame.parties)
    journey = found.take("hop", lambda: frame.journey)
    origin = found.header(ORIGIN)
    if origin is not None:
        found.out["origin"] = text_of_bytes(origin)
    if journey is not None:
        found.out["hop"]["path"] = [{"instance": i, "at": at} for i, at in journey.path]
        found.out["at"] = journey.path[-1][1] if journey.path else journey.sent_at
