"""Between what applications say and are answered, and its bytes: commands, causes, results."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import lru_cache

from streams.protocol.cause import Cause, Source
from streams.protocol.frames import Command, CommandKind
from streams.wire.single_object import Codec, MalformedError

COMMAND = Codec("Command")
CAUSE = Codec("Cause")
RESULT = Codec("Result")

_REMEMBERED, _SHORT = 4096, 1024
"""How many values, and of how many bytes at most, are remembered of what comes again and again."""
_NEWER_STATEMENT = "UNKNOWN"


def encode_command(command: Command) -> bytes:
    """Encode ``sb-command``; the body is the record's value, the conversation id its key."""
    return COMMAND.pack(
        (
            command.command_id.bytes,
            command.kind.value,
            command.database,
            command.from_initiator,
            command.issued_at,
            command.reply_to,
            command.from_service,
            command.to_service,
            command.to_broker,
            command.contract,
            command.lifetime,
            None if command.group is None else str(command.group),
            None if command.related is None else str(command.related),
            list(map(str, command.also)),
            command.timeout,
            command.type,
            command.error_code,
            command.error_text,
            command.cleanup,
        )
    )


def encode_cause(cause: Cause) -> bytes:
    """Encode ``sb-cause``."""
    source = cause.source
    names = source.application, source.agent, source.topic.bytes
    return CAUSE.pack((*names, source.partition, cause.offset, cause.n))


def decode_cause(raw: bytes) -> Cause:
    """Decode ``sb-cause``; raises MalformedError."""
    record = CAUSE.decode(raw)
    topic = uuid.UUID(bytes=record["topic"])
    source = Source(record["application"], record["agent"], topic, record["partition"])
    return Cause(source, record["offset"], record["n"])


def decode_command(
    raw: bytes | None, conversation: uuid.UUID, body: bytes | None, stored_at: int
) -> Command:
    """Decode ``sb-command``; raises MalformedError.

    What one application says differs from statement to statement in its id and its moment only, so
    the rest is decoded once.
    """
    split = _split(raw) if raw is not None else None
    if raw is None or split is None:
        return _command(raw, conversation, body, stored_at)
    issued_at, rest = split
    known = _repeated(rest)
    return Command(
        conversation,
        uuid.UUID(bytes=raw[10:26]),
        known.kind,
        known.database,
        known.from_initiator,
        issued_at,
        known.reply_to,
        known.from_service,
        known.to_service,
        known.to_broker,
        known.contract,
        known.lifetime,
        known.group,
        known.type,
        known.error_code,
        known.error_text,
        known.cleanup,
        body,
        stored_at,
        known.related,
        known.timeout,
        known.also,
    )


def _split(raw: bytes) -> tuple[int, bytes] | None:
    """Return ``issued_at``, and the bytes with zeros in its place and the id's, in one known shape.

    It stands behind kind (one byte), database (its length is one byte) and side, and takes six
    bytes from 1971 to 2039.
    """
    if not raw.startswith(COMMAND.prefix) or len(raw) < 28 or raw[27] & 0x81:
        return None
    at = 29 + (raw[27] >> 1)
    n = int.from_bytes(raw[at : at + 6], "little")
    if n & 0x808080808081 != 0x008080808080 or len(raw) > _SHORT:
        return None
    low = (n & 0x7F) | (n >> 1 & 0x3F80) | (n >> 2 & 0x1FC000)
    high = (n >> 3 & 0xFE00000) | (n >> 4 & 0x7F0000000) | (n >> 5 & 0x3F800000000)
    return (low | high) >> 1, b"%b%b%b\0%b" % (raw[:10], bytes(16), raw[26:at], raw[at + 6 :])


@lru_cache(_REMEMBERED)
def _repeated(rest: bytes) -> Command:
    return _command(rest, uuid.UUID(int=0), None, 0)


def _command(
    raw: bytes | None, conversation: uuid.UUID, body: bytes | None, stored_at: int
) -> Command:
    record = COMMAND.decode(raw)
    record["command_id"] = uuid.UUID(bytes=record["command_id"])
    if record["kind"] == _NEWER_STATEMENT:
        raise MalformedError("Command: a statement that this version does not know")
    record["kind"] = CommandKind(record["kind"])
    try:
        record["group"] = uuid.UUID(record["group"]) if record["group"] else None
        record["related"] = uuid.UUID(record["related"]) if record["related"] else None
        record["also"] = tuple(map(uuid.UUID, record["also"]))
    except ValueError as error:
        raise MalformedError(f"Command: a conversation or its group is no UUID: {error}") from error
    return Command(conversation=conversation, body=body, stored_at=stored_at, **record)


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """The answer to a command: ``number`` 0, or the statement's error number."""

    command_id: uuid.UUID
    conversation: uuid.UUID
    number: int = 0
    text: str = ""


def encode_result(result: ResultRecord) -> bytes:
    """Encode a value of ``result``."""
    return RESULT.encode(
        {
            "command_id": result.command_id.bytes,
            "conversation": str(result.conversation),
            "number": result.number,
            "text": result.text,
        }
    )


def decode_result(raw: bytes | None) -> ResultRecord:
    """Decode a value of ``result``; raises MalformedError."""
    record = RESULT.decode(raw)
    try:
        conversation = uuid.UUID(record["conversation"])
    except ValueError as error:
        raise MalformedError(f"Result: the conversation is no UUID: {error}") from error
    return ResultRecord(
        uuid.UUID(bytes=record["command_id"]), conversation, record["number"], record["text"]
    )
