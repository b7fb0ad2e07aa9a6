"""Encode commands, causes and results of applications."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from typing import Any

from streams.protocol.cause import Cause, Source
from streams.protocol.command import Command, CommandKind
from streams.wire.bounds import LARGEST, LARGEST_STATEMENT, LONGEST
from streams.wire.glance import guid, instant
from streams.wire.packing import pack_long
from streams.wire.single_object import Codec, MalformedError

_LONGEST_SOURCE = 1_024
"""Maximum length in characters of a source's names."""
_LONGEST_KEPT = 256
"""Maximum size in bytes of a source's name that is stored unchanged. Names of Kafka topics, and
therefore of Faust applications, have at most 249 bytes. An endpoint worker stores thousands of
sources."""
COMMAND = Codec("Command", longest=LONGEST, largest=LARGEST_STATEMENT)
CAUSE = Codec("Cause", longest=_LONGEST_SOURCE, largest=LARGEST)
RESULT = Codec("Result")

_REMEMBERED, _SHORT = 4096, 1024
"""Maximum number of cached values, and the maximum size of each in bytes."""
_NEWER_STATEMENT = "UNKNOWN"

# Fields of a statement that are cached together; the fields between them change each time.
_Fields = Callable[[Command], tuple[Any, ...]]
_field = Command._fields.index
_kind: _Fields = itemgetter(slice(_field("kind"), _field("issued_at")))
_said: _Fields = itemgetter(slice(_field("reply_to"), _field("body")))
_rest: _Fields = itemgetter(slice(_field("related"), _field("cause")))

_TEXTS = (
    "database", "reply_to", "from_service", "to_service", "to_broker", "contract", "type",
    "error_text",
)  # fmt: skip
_texts: Callable[[Command], tuple[str | None, ...]] = itemgetter(*map(_field, _TEXTS))

_ISSUED = COMMAND.names.index("issued_at")
_pack_kind = COMMAND.packer(1, _ISSUED)
_pack_short_kind = lru_cache(_REMEMBERED)(_pack_kind)
_pack_said = COMMAND.packer(_ISSUED + 1)


def encode_command(command: Command) -> bytes:
    """Encode ``sb-command``; the record's value is the body, its key the conversation id."""
    kind, database, from_initiator = _kind(command)
    is_short = not command.also and len("".join(filter(None, _texts(command)))) <= _SHORT
    return b"%b%b%b%b%b" % (
        COMMAND.prefix,
        command.command_id.bytes,
        (_pack_short_kind if is_short else _pack_kind)((kind.value, database, from_initiator)),
        pack_long(command.issued_at),
        (_pack_short_repeated if is_short else _pack_repeated)(_said(command), _rest(command)),
    )


def _pack_repeated(said: tuple[Any, ...], rest: tuple[Any, ...]) -> bytes:
    """Encode the constant part of a statement, which most statements of an application share."""
    *names, lifetime, group, type_, error_code, error_text, cleanup = said
    related, timeout, also = rest
    return _pack_said(
        (
            *names,
            lifetime,
            None if group is None else str(group),
            None if related is None else str(related),
            list(map(str, also)),
            timeout,
            type_,
            error_code,
            error_text,
            cleanup,
        )
    )


_pack_short_repeated = lru_cache(_REMEMBERED)(_pack_repeated)


def encode_cause(cause: Cause) -> bytes:
    """Encode ``sb-cause``."""
    source = cause.source
    names = source.application, source.agent, source.topic.bytes
    return CAUSE.pack((*names, source.partition, cause.offset, cause.n))


def decode_cause(raw: bytes) -> Cause:
    """Decode ``sb-cause``; raises MalformedError if it is invalid.

    The application must have a name, which is its consumer group. A name of more than 256 bytes is
    replaced by its digest, which also identifies the source.
    """
    record = CAUSE.decode(raw)
    if not record["application"]:
        raise MalformedError("Cause: no application")
    topic = uuid.UUID(bytes=record["topic"])
    names = _kept(record["application"]), _kept(record["agent"])
    return Cause(Source(*names, topic, record["partition"]), record["offset"], record["n"])


def _kept(name: str) -> str:
    encoded = name.encode()
    if len(encoded) <= _LONGEST_KEPT:
        return name
    return f"blake2b:{blake2b(encoded, digest_size=16).hexdigest()}"


def decode_command(
    raw: bytes | None, conversation: uuid.UUID, body: bytes | None, stored_at: int
) -> Command:
    """Decode ``sb-command``; raises MalformedError if it is invalid.

    Most statements of one application differ only in id and time, so the other fields are decoded
    only once.
    """
    split = _split(raw) if raw is not None else None
    if raw is None or split is None:
        return _command(raw, conversation, body, stored_at)
    issued_at, head, tail = split
    before, middle, after = _repeated(head, tail)
    said = conversation, guid(raw[10:26]), *before, issued_at, *middle, body, stored_at, *after
    return Command(*said)  # the cause is in a separate header


def _split(raw: bytes) -> tuple[int, bytes, bytes] | None:
    """Return ``issued_at``, and the bytes before and after it, without the prefix and the id.

    The field follows the kind (one byte), the database (with its length in one byte) and the side.
    Its value takes six bytes for times from 1971 to 2039. The result is ``None`` for other bytes.
    """
    if not raw.startswith(COMMAND.prefix) or not 28 <= len(raw) <= _SHORT or raw[27] & 0x81:
        return None
    at = 29 + (raw[27] >> 1)
    issued_at = instant(raw[at : at + 6])
    return None if issued_at is None else (issued_at, raw[26:at], raw[at + 6 :])


@lru_cache(_REMEMBERED)
def _repeated(head: bytes, tail: bytes) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Return a statement's fields, except the fields that change each time."""
    raw = b"%b%b%b\0%b" % (COMMAND.prefix, bytes(16), head, tail)
    command = _command(raw, uuid.UUID(int=0), None, 0)
    return _kind(command), _said(command), _rest(command)


def _command(
    raw: bytes | None, conversation: uuid.UUID, body: bytes | None, stored_at: int
) -> Command:
    record = COMMAND.decode(raw)
    record["command_id"] = uuid.UUID(bytes=record["command_id"])
    if record["kind"] == _NEWER_STATEMENT:
        raise MalformedError("Command: unknown statement")
    record["kind"] = CommandKind(record["kind"])
    try:
        record["group"] = uuid.UUID(record["group"]) if record["group"] else None
        record["related"] = uuid.UUID(record["related"]) if record["related"] else None
        record["also"] = tuple(map(uuid.UUID, record["also"]))
    except ValueError as error:
        raise MalformedError(
            f"Command: a conversation or its group is not a UUID: {error}"
        ) from error
    return Command(conversation=conversation, body=body, stored_at=stored_at, **record)


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """The result of a command; ``number`` is 0, or the statement's error number."""

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
    """Decode a value of ``result``; raises MalformedError if it is invalid."""
    record = RESULT.decode(raw)
    try:
        conversation = uuid.UUID(record["conversation"])
    except ValueError as error:
        raise MalformedError(f"Result: the conversation is not a UUID: {error}") from error
    return ResultRecord(
        uuid.UUID(bytes=record["command_id"]), conversation, record["number"], record["text"]
    )
