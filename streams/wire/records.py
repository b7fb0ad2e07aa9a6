"""Convert whole Kafka records (key, value and headers) of every topic to values and back.

The headers of a frame have a fixed order (``sb-route``, ``sb-message``, ``sb-hop``, then headers
that only some topics have), so that a forwarder finds the headers by position. Other readers look
up headers by name. Missing or malformed headers raise MalformedError.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from streams.errors import Number
from streams.protocol import (
    DEFAULT_PRIORITY,
    Ack,
    Acknowledgement,
    Command,
    Header,
    Journey,
    Message,
    Parties,
    Status,
)
from streams.wire.acknowledgements import decode_ack_value, encode_ack
from streams.wire.commands import decode_cause, decode_command, encode_cause, encode_command
from streams.wire.frame_headers import (
    decode_header,
    decode_journey,
    decode_parties,
    encode_header,
    encode_journey,
    encode_parties,
)
from streams.wire.glance import guid
from streams.wire.single_object import MalformedError

ROUTE, MESSAGE, HOP = "sb-route", "sb-message", "sb-hop"
ORIGIN, CONVERSATION, COMMAND = "sb-origin", "sb-conversation", "sb-command"
PRIORITY, CAUSE = "sb-priority", "sb-cause"
MOVED = "sb-moved"
"""The last header of a record whose body was copied unchanged to the end of its topic."""
INSIDE, OUTSIDE = b"inside", b"outside"
_OF_STATEMENT, _OF_FRAME = frozenset({COMMAND, CAUSE}), frozenset({ROUTE, MESSAGE, HOP, ORIGIN})

_KEY_BYTES, _UUID_BYTES = 36, 16
LARGEST_BODY = 900_000
"""Maximum size in bytes of a body; larger bodies do not fit into records by default (8459)."""
LARGEST_WITH_BODY = LARGEST_BODY + 90_000
"""Maximum total size of ``sb-command`` and body that a client with default settings can rewrite."""

LARGEST_OTHERS = 65_536
"""Maximum size in bytes of a statement's other headers, such as those for tracing."""

REMEMBERED_IDS = 1 << 13
"""Number of conversation ids cached with their keys (300 bytes each), enough for a transaction."""

Headers = list[tuple[str, bytes | None]]
Wire = tuple[bytes, bytes | None, Headers]
"""Key, value and headers of a record."""


@lru_cache(REMEMBERED_IDS)
def conversation_of(key: bytes | str | None) -> uuid.UUID:
    """Read a conversation id from a record's key (11271 if the key is not an id).

    Only the form with 36 lower-case characters is valid: a key in any other form would be in
    another partition.
    """
    if key is not None and len(key) == _KEY_BYTES:
        raw = key if isinstance(key, bytes) else key.encode("ascii", "replace")
        with suppress(ValueError):
            found = uuid.UUID(raw.decode("ascii", "replace"))
            if key_of(found) == raw:
                return found
    shown = key if key is None or len(key) <= 40 else key[:40]
    text = f"the key is not a conversation id (11271): {shown!r}"
    raise MalformedError(text, Number.CONVERSATION_ID_NULL)


@lru_cache(REMEMBERED_IDS)
def key_of(conversation: uuid.UUID) -> bytes:
    """Return the key of the records of a conversation or a group."""
    return str(conversation).encode("ascii")


def header_of(headers: Sequence[tuple[str, bytes | None]] | None, name: str) -> bytes | None:
    """Return the last header with a name, or ``None``."""
    for found, value in reversed(headers or ()):
        if found == name:
            return value
    return None


def is_moved(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Return whether a record is only a copy of a body that was moved to the end of its topic."""
    return bool(headers) and headers[-1][0] == MOVED


def moved_headers(headers: Sequence[tuple[str, bytes | None]]) -> Headers:
    """Return the headers for the copy of a body: those of the original, and :data:`MOVED`.

    With other headers, the copy could exceed Kafka's size limit.
    """
    read = dict(headers)  # of headers with the same name, the last one counts, as for every reader
    names = _OF_STATEMENT if COMMAND in read else _OF_FRAME
    return [*((name, raw) for name, raw in read.items() if name in names), (MOVED, None)]


def demand_size(body: int, headers: Sequence[tuple[str, bytes | None]]) -> None:
    """Raise MalformedError if a statement with a body of this size could not be written again.

    A body that is itself too large is left to the size check (8459). Other headers are not written
    again, but they are read with the body, once for each message in flight.
    """
    size = sum(len(header_of(headers, name) or b"") for name in (COMMAND, CAUSE))
    if len(headers) > 1:
        others = sum(len(name) + len(value or b"") for name, value in headers) - size
        if others > LARGEST_OTHERS:
            raise MalformedError(f"Command: {others} bytes of other headers, too many")
    size += min(body, LARGEST_BODY)
    if size > LARGEST_WITH_BODY:
        raise MalformedError(f"Command: {size} bytes with its body exceed the record size limit")


def command_record(command: Command) -> Wire:
    """Return the record of ``cmd`` for a command."""
    headers: Headers = [(COMMAND, encode_command(command))]
    if command.cause is not None:
        headers.append((CAUSE, encode_cause(command.cause)))
    return key_of(command.conversation), command.body, headers


def statement_record(command: Command) -> Wire:
    """Return the record of a command; verify that an endpoint worker can read and rewrite it.

    Raises MalformedError if a worker cannot do so. Raises UnicodeEncodeError, ValueError, TypeError
    or AttributeError if the value of a field cannot be encoded.
    """
    key, value, headers = command_record(command)
    read_command(key, value, headers, 0)
    demand_size(len(value or b""), headers)
    return key, value, headers


def read_command(
    key: bytes | str | None, value: bytes | None, headers: Headers | None, stored_at: int
) -> Command:
    """Read a record of ``cmd``; ``stored_at`` is its timestamp."""
    if headers is not None and len(headers) == 1 and headers[0][0] == COMMAND:
        return decode_command(headers[0][1], conversation_of(key), value, stored_at)
    raw = header_of(headers, COMMAND)
    command = decode_command(raw, conversation_of(key), value, stored_at)
    cause = header_of(headers, CAUSE)
    return command if cause is None else command._replace(cause=decode_cause(cause))


def message_record(
    conversation: uuid.UUID, parties: Parties, header: Header, journey: Journey, body: bytes
) -> Wire:
    """Return the record of a message frame."""
    return (
        key_of(conversation),
        body,
        [
            (ROUTE, encode_parties(parties)),
            (MESSAGE, encode_header(header)),
            (HOP, encode_journey(journey)),
        ],
    )


def ack_record(conversation: uuid.UUID, parties: Parties, ack: Ack, journey: Journey) -> Wire:
    """Return the record of an acknowledgement frame, which has no ``sb-message``."""
    return (
        key_of(conversation),
        encode_ack(ack),
        [(ROUTE, encode_parties(parties)), (HOP, encode_journey(journey))],
    )


def queue_record(
    group: uuid.UUID,
    conversation: uuid.UUID,
    parties: Parties,
    header: Header,
    journey: Journey,
    body: bytes,
    priority: int = DEFAULT_PRIORITY,
) -> Wire:
    """Return the record of a queue topic.

    The key is the group, so the consumer of a partition holds the locks of its groups.

    ``sb-priority`` (1 to 10, as text) is the endpoint's priority, for receivers.
    """
    headers: Headers = [
        (ROUTE, encode_parties(parties)),
        (MESSAGE, encode_header(header)),
        (HOP, encode_journey(journey)),
        (CONVERSATION, conversation.bytes),
        (PRIORITY, b"%d" % priority),
    ]
    return key_of(group), body, headers


def read_message(
    key: bytes | str | None,
    value: bytes | None,
    headers: Headers | None,
    appended_at: int = 0,
) -> Message:
    """Read a message frame of ``in`` (or of ``out`` and ``txq``, for diagnosis).

    ``appended_at`` is the timestamp of a record of ``in``.
    """
    return _message(conversation_of(key), value, headers, appended_at)


def _message(
    conversation: uuid.UUID,
    value: bytes | None,
    headers: Headers | None,
    appended_at: int = 0,
    *,
    queued: bool = False,
) -> Message:
    found = dict(headers or ()).get  # of headers with the same name, the last one counts
    return Message(
        conversation,
        decode_parties(found(ROUTE)),
        decode_header(found(MESSAGE)),
        decode_journey(found(HOP), queued=queued),
        value or b"",
        found(ORIGIN) == INSIDE,
        appended_at,
    )


_DIGITS, _HIGHEST = 2, 10


def priority_of(headers: Sequence[tuple[str, bytes | None]] | None) -> int:
    """Return the priority of a queue message (1 to 10); the default if it is missing or invalid.

    Any client with write access may write any text, and ``int`` raises on 5,000 digits.
    """
    raw = header_of(headers, PRIORITY) or b""
    level = int(raw) if raw.isdigit() and len(raw) <= _DIGITS else 0
    return level if 1 <= level <= _HIGHEST else DEFAULT_PRIORITY


def read_queued(value: bytes | None, headers: Headers | None) -> Message:
    """Read a record of a queue topic; its conversation is in a header."""
    return _message(queued_conversation(headers), value, headers, queued=True)


def queued_conversation(headers: Sequence[tuple[str, bytes | None]] | None) -> uuid.UUID:
    """Read the conversation from a record of a queue topic."""
    raw = header_of(headers, CONVERSATION)
    if raw is None or len(raw) != _UUID_BYTES:
        raise MalformedError("a queue message without its conversation id")
    return guid(raw)


def read_ack(
    key: bytes | str | None, value: bytes | None, headers: Headers | None
) -> Acknowledgement | Status:
    """Read a record of ``ack``: an acknowledgement frame, or the local forwarder's status.

    A forwarder writes its own status without headers. A status with headers is malformed: it was
    forwarded from another instance, as a frame whose body is a status instead of an
    acknowledgement.
    """
    conversation = conversation_of(key)
    read = decode_ack_value(value, conversation)
    if not isinstance(read, Status):
        return Acknowledgement(conversation, decode_parties(header_of(headers, ROUTE)), read)
    if headers:
        raise MalformedError("a status from another instance instead of an acknowledgement")
    return read
