"""Statements, frames, queue messages and results: the records on a message's path."""

from __future__ import annotations

import uuid

from streams.errors import text_of
from streams.protocol import Ack, Status
from streams.wire.acknowledgements import decode_ack_value
from streams.wire.commands import decode_command, decode_result
from streams.wire.describe.builder import DescriptionBuilder
from streams.wire.frame_headers import decode_header, decode_journey, decode_parties
from streams.wire.plain import body_of, plain, text_of_bytes
from streams.wire.records import COMMAND, CONVERSATION, HOP, MESSAGE, ORIGIN, ROUTE
from streams.wire.single_object import MalformedError

_NOBODY = uuid.UUID(int=0)


def describe_command(found: DescriptionBuilder) -> None:
    """Describe a statement of an application."""
    record = found.record
    conversation = found.conversation_key()
    raw = found.header(COMMAND)
    stored = record.timestamp
    command = found.take(
        "command", lambda: decode_command(raw, conversation or _NOBODY, None, stored)
    )
    if command is not None:
        for name in ("body", "conversation", "stored_at"):
            del found.out["command"][name]
    found.out["body"] = body_of(record.value)


def describe_frame(found: DescriptionBuilder) -> None:
    """Describe a frame of ``out``, ``txq``, ``ingress`` or ``in``.

    Without ``sb-message`` it acknowledges.
    """
    conversation = found.conversation_key()
    _envelope(found)
    if found.header(MESSAGE) is not None:
        found.take("message", lambda: decode_header(found.header(MESSAGE)))
        found.out["body"] = body_of(found.record.value)
    else:
        value = found.record.value
        found.take("ack", lambda: _acknowledgement(value, conversation or _NOBODY))


def _acknowledgement(value: bytes | None, conversation: uuid.UUID) -> Ack:
    """Return the acknowledgement of a frame; a status is the forwarder's own, and in ``ack``."""
    read = decode_ack_value(value, conversation)
    if isinstance(read, Status):
        raise MalformedError("a status where an acknowledgement belongs")
    return read


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
        _envelope(found)


def describe_queued(found: DescriptionBuilder) -> None:
    """Describe a message in a queue."""
    raw = found.header(CONVERSATION)
    if raw is None or len(raw) != 16:
        found.malformed.append("a queue message without its conversation id")
    else:
        found.out["conversation"] = str(uuid.UUID(bytes=raw))
    found.out["group"] = found.out["key"]
    _envelope(found)
    found.take("message", lambda: decode_header(found.header(MESSAGE)))
    found.out["body"] = body_of(found.record.value)


def describe_result(found: DescriptionBuilder) -> None:
    """Describe the result of a statement."""
    result = found.take("result", lambda: decode_result(found.record.value))
    if result is not None:
        found.out["conversation"] = str(result.conversation)
        if result.number and not result.text:
            found.out["result"]["text"] = text_of(result.number)


def _envelope(found: DescriptionBuilder) -> None:
    found.take("route", lambda: decode_parties(found.header(ROUTE)))
    journey = found.take("hop", lambda: decode_journey(found.header(HOP)))
    origin = found.header(ORIGIN)
    if origin is not None:
        found.out["origin"] = text_of_bytes(origin)
    if journey is not None:
        found.out["hop"]["path"] = [{"instance": i, "at": at} for i, at in journey.path]
        found.out["at"] = journey.path[-1][1] if journey.path else journey.sent_at
