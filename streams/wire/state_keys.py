"""The keys of the ``dialog`` topic, which identify the subject of a state record.

Keys are text, so that any Kafka tool shows them:

    <database>/<conversation id>/initiator           Dialog
    <database>/<conversation id>/target/3            Chunk: positions of messages 192 to 255
    <database>/request/<service>                     Request for a route
    seen/<application>/<agent>/<topic>/<partition>   Seen: the latest statements of a source
    positions                                        Positions of cmd, in and ack
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote

from streams.protocol import DialogKey, Source
from streams.wire.bounds import SHORT
from streams.wire.records import key_of
from streams.wire.single_object import MalformedError

POSITIONS_KEY = b"positions"
_REQUEST, _SEEN = b"request", b"seen"
_SIDES = (b"target", b"initiator")


def _quoted(name: str) -> bytes:
    return (_short_quoted if len(name) <= SHORT else _encoded)(name)


def _encoded(name: str) -> bytes:
    return quote(name, safe="").encode()


_short_quoted = lru_cache(4096)(_encoded)


def dialog_key(about: DialogKey) -> bytes:
    """Return the key of a dialog's record."""
    database, conversation, is_initiator = about
    return b"%b/%b/%b" % (_quoted(database), key_of(conversation), _SIDES[is_initiator])


def chunk_key(dialog: bytes, number: int) -> bytes:
    """Return the key of a chunk's record, from the key of its dialog's record."""
    return b"%b/%d" % (dialog, number)


class StateKey(NamedTuple):
    """The subject of a state record; ``chunk`` is ``None`` for the dialog itself."""

    database: str
    conversation: uuid.UUID
    is_initiator: bool
    chunk: int | None = None

    @property
    def dialog(self) -> DialogKey:
        """Return the key of the dialog."""
        return self.database, self.conversation, self.is_initiator

    def encode(self) -> bytes:
        """Return the record's key."""
        key = dialog_key(self.dialog)
        return key if self.chunk is None else chunk_key(key, self.chunk)

    @classmethod
    def decode(cls, raw: bytes) -> StateKey:
        """Read the key of a dialog or a chunk; raises MalformedError if it is invalid."""
        try:
            database, conversation, side, *chunk = raw.decode("ascii").split("/")
            return cls(
                unquote(database),
                uuid.UUID(conversation),
                {"initiator": True, "target": False}[side],
                int(chunk[0]) if chunk else None,
            )
        except (ValueError, KeyError) as error:
            raise MalformedError(f"not the key of a state record: {raw!r}") from error


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A database's request for a route to a service."""

    database: str
    service: str

    def encode(self) -> bytes:
        """Return the record's key."""
        return b"%b/%b/%b" % (_quoted(self.database), _REQUEST, _quoted(self.service))


@dataclass(frozen=True, slots=True)
class SeenKey:
    """A source of statements."""

    source: Source

    def encode(self) -> bytes:
        """Return the record's key."""
        source = self.source
        names = b"%b/%b" % (_quoted(source.application), _quoted(source.agent))
        return b"%b/%b/%b/%d" % (_SEEN, names, str(source.topic).encode(), source.partition)

    @classmethod
    def decode(cls, raw: bytes) -> SeenKey:
        """Read the key; raises MalformedError if it is invalid."""
        try:
            _, application, agent, topic, partition = raw.decode("ascii").split("/")
            names = unquote(application), unquote(agent)
            return cls(Source(*names, uuid.UUID(topic), int(partition)))
        except ValueError as error:
            raise MalformedError(f"not the key of a state record: {raw!r}") from error


def decode_key(raw: bytes) -> StateKey | RequestKey | SeenKey:
    """Read the key of any record except positions; raise MalformedError for an invalid key."""
    parts = raw.split(b"/")
    if len(parts) == 5 and parts[0] == _SEEN:
        return SeenKey.decode(raw)
    if len(parts) == 3 and parts[1] == _REQUEST:
        try:
            database, service = (unquote(part.decode("ascii")) for part in (parts[0], parts[2]))
        except UnicodeDecodeError as error:
            raise MalformedError(f"not the key of a state record: {raw!r}") from error
        return RequestKey(database, service)
    return StateKey.decode(raw)


def endpoint_of(raw: bytes) -> StateKey | None:
    """Return the endpoint in a state record's key; None for other records.

    Other records are positions, chunks, requests and seen statements. Raises MalformedError.
    """
    about = None if raw == POSITIONS_KEY else decode_key(raw)
    return about if isinstance(about, StateKey) and about.chunk is None else None
