"""The values of ``dialog``: the state of an endpoint worker, in bounded records."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

from streams.protocol import Chunk, Dialog, Request, Seen, SeenStatement, State
from streams.wire.bounds import SHORT
from streams.wire.familiar import Familiar
from streams.wire.single_object import Codec, MalformedError, Record

DIALOG = Codec("Dialog")
CHUNK = Codec("Chunk")
POSITIONS = Codec("Positions")
REQUEST = Codec("Request")
SEEN = Codec("Seen")


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
"""Attributes that are places in one direction; each of them is stored as a sequence number and a
fragment number."""

# In schema order: the dialog's identity, its current state, and the fields between them.
_CREATED, _PARKED = DIALOG.names.index("expires_at") + 1, DIALOG.names.index("parked") + 1
_who: Callable[[Dialog], tuple[Any, ...]] = attrgetter(*DIALOG.names[:_CREATED])
_rest: Callable[[Dialog], tuple[Any, ...]] = attrgetter(*DIALOG.names[_PARKED:])
_pack_named = DIALOG.packer(0, _CREATED)
_pack_numbers = DIALOG.packer(_CREATED, _PARKED)
_pack_rest = lru_cache(4096)(DIALOG.packer(_PARKED))
_STATE, _GROUP = DIALOG.names.index("state"), DIALOG.names.index("group")


def _pack_who(who: tuple[Any, ...]) -> bytes:
    """Return the bytes of a dialog's identity, which do not change while its state exists."""
    values = list(who)
    values[_STATE] = values[_STATE].name
    values[_GROUP : _GROUP + 2] = map(str, values[_GROUP : _GROUP + 2])
    return DIALOG.prefix + _pack_named(values)


_pack_short_who = lru_cache(4096)(_pack_who)


@dataclass(frozen=True, slots=True)
class Positions:
    """The next offsets to read in the inputs of one partition."""

    cmd: int = 0
    inbox: int = 0
    ack: int = 0


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
    names = len(dialog.far_service) + len(dialog.far_broker or "") + len(dialog.contract)
    who = (_pack_short_who if names <= SHORT else _pack_who)(_who(dialog))
    return b"%b%b%b" % (who, _pack_numbers(numbers), _pack_rest(_rest(dialog)))


def decode_dialog(raw: bytes, conversation: uuid.UUID) -> Dialog:
    """Decode a dialog without its chunks; raises MalformedError if it is invalid."""
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
    """Decode a dialog; raises MalformedError if it is invalid.

    Its chunks are decoded when they are first used.
    """
    dialog = _familiar.read(raw, conversation)
    for number in sorted(chunks):
        dialog.chunks[number] = _PackedChunk(chunks[number])
    return dialog


def encode_chunk(chunk: Chunk) -> bytes:
    """Encode the positions of up to 64 messages."""
    return CHUNK.pack((chunk.positions, chunk.fragments))


def decode_chunk(raw: bytes) -> Chunk:
    """Decode the positions of up to 64 messages; raises MalformedError for invalid bytes."""
    record = CHUNK.decode(raw)
    chunk = Chunk(record["offsets"], record["fragments"])
    if chunk.fragments and len(chunk.fragments) != len(chunk):
        raise MalformedError("Chunk: not every message has its number of fragments")
    return chunk


class _PackedChunk(Chunk):
    """A chunk that is decoded when it is first used, which is rare in a dialog with a backlog.

    Each chunk is also decoded once when the state is restored, so later errors are impossible.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        if name not in Chunk.__slots__:
            raise AttributeError(name)
        chunk = decode_chunk(self._raw)
        self.positions, self.fragments = chunk.positions, chunk.fragments
        return getattr(self, name)


def encode_request(request: Request) -> bytes:
    """Encode a request; its service is in the key."""
    record: Record = {n: getattr(request, n) for n in ("rounds", "total", "again_at")}
    record["conversation"] = None if request.conversation is None else str(request.conversation)
    return REQUEST.encode(record)


def decode_request(raw: bytes, service: str) -> Request:
    """Decode a request for a service; raises MalformedError for invalid bytes."""
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
    """Decode the latest statements of a source; raises MalformedError for invalid bytes."""
    return Seen(tuple(SeenStatement(**said) for said in SEEN.decode(raw)["said"]))


def encode_positions(positions: Positions) -> bytes:
    """Encode the positions of a partition."""
    return POSITIONS.pack((positions.cmd, positions.inbox, positions.ack))


def decode_positions(raw: bytes) -> Positions:
    """Decode the positions of a partition."""
    return Positions(**POSITIONS.decode(raw))
