"""The records of the ``dialog`` topic: what an endpoint worker knows, one bounded record at a time.

Keys are text, so that any Kafka tool shows what a record is about::

    <database>/<conversation id>/initiator           Dialog
    <database>/<conversation id>/target/3            Chunk: positions of messages 192 to 255
    <database>/request/<service>                     Request for a route
    seen/<application>/<agent>/<topic>/<partition>   Seen: the latest statements of a source
    positions                                        Positions of cmd, in and ack
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from streams.protocol import Chunk, Dialog, DialogKey, Request, Said, Seen, Source, State
from streams.wire.familiar import Familiar
from streams.wire.records import key_of
from streams.wire.single_object import Codec, MalformedError, Record

DIALOG = Codec("Dialog")
CHUNK = Codec("Chunk")
POSITIONS = Codec("Positions")
REQUEST = Codec("Request")
SEEN = Codec("Seen")

POSITIONS_KEY = b"positions"
_REQUEST, _SEEN = b"request", b"seen"
_SIDES = (b"target", b"initiator")

_PLAIN = (
    "database",
    "broker_id",
    "is_initiator",
    "service",
    "far_service",
    "far_broker",
    "locked",
    "contract",
    "created_at",
    "expires_at",
    "send_sequence",
    "attempt",
    "retry_at",
    "first_hop",
    "unheard",
    "status",
    "status_at",
    "peer_closed",
    "closed_at",
    "forget_at",
    "timer_at",
    "priority",
    "confirmed",
    "refusal",
    "deaf_from",
    "discarded_from",
    "error_epoch",
    "partial",
)
_PLACES = {
    "acknowledged": ("acknowledged", "acknowledged_fragment"),
    "transmitted": ("transmitted", "transmitted_fragment"),
    "suspect": ("suspect", "suspect_fragment"),
    "received": ("receive_sequence", "receive_sequence_frag"),
}
"""Attributes that are places in a direction: two fields each, sequence and fragment."""

# In the order of the schema: what a dialog is called, what it has come to, and what came between.
_CREATED, _PARKED = DIALOG.names.index("expires_at") + 1, DIALOG.names.index("parked") + 1
_who: Callable[[Dialog], tuple[Any, ...]] = attrgetter(*DIALOG.names[:_CREATED])
_rest: Callable[[Dialog], tuple[Any, ...]] = attrgetter(*DIALOG.names[_PARKED:])
_pack_named = DIALOG.packer(0, _CREATED)
_pack_numbers = DIALOG.packer(_CREATED, _PARKED)
_pack_rest = lru_cache(4096)(DIALOG.packer(_PARKED))
_STATE, _GROUP = DIALOG.names.index("state"), DIALOG.names.index("group")


@lru_cache(16384)
def _pack_who(who: tuple[Any, ...]) -> bytes:
    """Return the bytes of what a dialog is called: the same as long as its state is."""
    values = list(who)
    values[_STATE] = values[_STATE].name
    values[_GROUP : _GROUP + 2] = map(str, values[_GROUP : _GROUP + 2])
    return DIALOG.prefix + _pack_named(values)


@dataclass(frozen=True, slots=True)
class Positions:
    """The next offsets to read of one partition's inputs."""

    cmd: int = 0
    inbox: int = 0
    ack: int = 0


@lru_cache(4096)
def _quoted(name: str) -> bytes:
    return quote(name, safe="").encode()


def dialog_key(about: DialogKey) -> bytes:
    """Return the key of a dialog's record."""
    database, conversation, is_initiator = about
    return b"%b/%b/%b" % (_quoted(database), key_of(conversation), _SIDES[is_initiator])


def chunk_key(dialog: bytes, number: int) -> bytes:
    """Return the key of a chunk's record, from that of its dialog's."""
    return b"%b/%d" % (dialog, number)


class StateKey(NamedTuple):
    """What a state record is about; ``chunk`` is ``None`` for the dialog itself."""

    database: str
    conversation: uuid.UUID
    is_initiator: bool
    chunk: int | None = None

    @property
    def dialog(self) -> DialogKey:
        """Return what the dialog is called that it is about."""
        return self.database, self.conversation, self.is_initiator

    def encode(self) -> bytes:
        """Return the record's key."""
        key = dialog_key(self.dialog)
        return key if self.chunk is None else chunk_key(key, self.chunk)

    @classmethod
    def decode(cls, raw: bytes) -> StateKey:
        """Read the key of a dialog or a chunk; raises MalformedError."""
        try:
            database, conversation, side, *chunk = raw.decode("ascii").split("/")
            return cls(
                unquote(database),
                uuid.UUID(conversation),
                {"initiator": True, "target": False}[side],
                int(chunk[0]) if chunk else None,
            )
        except (ValueError, KeyError) as error:
            raise MalformedError(f"no key of a state record: {raw!r}") from error


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Which database has asked, or may ask, for a route to which service."""

    database: str
    service: str

    def encode(self) -> bytes:
        """Return the record's key."""
        return b"%b/%b/%b" % (_quoted(self.database), _REQUEST, _quoted(self.service))


@dataclass(frozen=True, slots=True)
class SeenKey:
    """Whose statements were seen."""

    source: Source

    def encode(self) -> bytes:
        """Return the record's key."""
        source = self.source
        names = b"%b/%b" % (_quoted(source.application), _quoted(source.agent))
        return b"%b/%b/%b/%d" % (_SEEN, names, str(source.topic).encode(), source.partition)

    @classmethod
    def decode(cls, raw: bytes) -> SeenKey:
        """Read the key; raises MalformedError."""
        try:
            _, application, agent, topic, partition = raw.decode("ascii").split("/")
            names = unquote(application), unquote(agent)
            return cls(Source(*names, uuid.UUID(topic), int(partition)))
        except ValueError as error:
            raise MalformedError(f"no key of a state record: {raw!r}") from error


def decode_key(raw: bytes) -> StateKey | RequestKey | SeenKey:
    """Read a record's key, other than that of positions; raises MalformedError."""
    parts = raw.split(b"/")
    if len(parts) == 5 and parts[0] == _SEEN:
        return SeenKey.decode(raw)
    if len(parts) == 3 and parts[1] == _REQUEST:
        try:
            database, service = (unquote(part.decode("ascii")) for part in (parts[0], parts[2]))
        except UnicodeDecodeError as error:
            raise MalformedError(f"no key of a state record: {raw!r}") from error
        return RequestKey(database, service)
    return StateKey.decode(raw)


def encode_dialog(dialog: Dialog) -> bytes:
    """Encode a dialog without its chunks."""
    acknowledged, acknowledged_fragment = dialog.acknowledged
    transmitted, transmitted_fragment = dialog.transmitted
    suspect, suspect_fragment = dialog.suspect
    held = [(s, offset, f, n) for (s, f), (offset, n) in dialog.held.items()]
    numbers = (
        dialog.send_sequence,
        acknowledged,
        transmitted,
        acknowledged_fragment,
        transmitted_fragment,
        suspect_fragment,
        suspect,
        *dialog.received,
        held,
        dialog.partial,
        dialog.parked,
    )
    return b"%b%b%b" % (_pack_who(_who(dialog)), _pack_numbers(numbers), _pack_rest(_rest(dialog)))


def decode_dialog(raw: bytes, conversation: uuid.UUID) -> Dialog:
    """Decode a dialog; its chunks are records of their own; raises MalformedError."""
    record = DIALOG.decode(raw)
    places: Record = {a: (record[s], record[f]) for a, (s, f) in _PLACES.items()}
    try:
        return Dialog(
            conversation=conversation,
            state=State[record["state"]],
            group=uuid.UUID(record["group"]),
            handle=uuid.UUID(record["handle"]),
            held={
                (h["sequence"], h["fragment"]): (h["offset"], h["fragments"])
                for h in record["held"]
            },
            parked=[(p["sequence"], p["offset"]) for p in record["parked"]],
            **{name: record[name] for name in _PLAIN},
            **places,
        )
    except (ValueError, KeyError) as error:
        raise MalformedError(f"Dialog: {error}") from error


_familiar = Familiar(DIALOG, decode_dialog)


def unpack_dialog(raw: bytes, conversation: uuid.UUID, chunks: Mapping[int, bytes]) -> Dialog:
    """Decode a dialog and its chunks; raises MalformedError."""
    dialog = _familiar.read(raw, conversation)
    for number in sorted(chunks):
        dialog.chunks[number] = decode_chunk(chunks[number])
    return dialog


def encode_chunk(chunk: Chunk) -> bytes:
    """Encode the positions of up to 64 messages."""
    return CHUNK.pack((chunk.positions, chunk.fragments))


def decode_chunk(raw: bytes) -> Chunk:
    """Decode the positions of up to 64 messages; raises MalformedError."""
    record = CHUNK.decode(raw)
    chunk = Chunk(record["offsets"], record["fragments"])
    if chunk.fragments and len(chunk.fragments) != len(chunk):
        raise MalformedError("Chunk: not every message has its number of fragments")
    return chunk


def encode_request(request: Request) -> bytes:
    """Encode a request; its service is in the key."""
    record: Record = {n: getattr(request, n) for n in ("rounds", "total", "again_at")}
    record["conversation"] = None if request.conversation is None else str(request.conversation)
    return REQUEST.encode(record)


def decode_request(raw: bytes, service: str) -> Request:
    """Decode a request for a service; raises MalformedError."""
    record = REQUEST.decode(raw)
    try:
        open_ = record.pop("conversation")
        conversation = None if open_ is None else uuid.UUID(open_)
    except ValueError as error:
        raise MalformedError(f"Request: {error}") from error
    return Request(service, conversation=conversation, **record)


def encode_seen(seen: Seen) -> bytes:
    """Encode the latest statements of a source."""
    return SEEN.pack((seen.said,))


def decode_seen(raw: bytes) -> Seen:
    """Decode the latest statements of a source; raises MalformedError."""
    return Seen(tuple(Said(**said) for said in SEEN.decode(raw)["said"]))


def encode_positions(positions: Positions) -> bytes:
    """Encode how far a partition has come."""
    return POSITIONS.pack((positions.cmd, positions.inbox, positions.ack))


def decode_positions(raw: bytes) -> Positions:
    """Decode how far a partition has come."""
    return Positions(**POSITIONS.decode(raw))
