"""The three headers of a frame: ``sb-route``, ``sb-message`` and ``sb-hop``."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any

from streams.errors import Number
from streams.protocol.frames import Flag, Header, Journey, Parties
from streams.system_names import END_DIALOG, ERROR
from streams.times import LATEST
from streams.wire.bounds import (
    LARGEST,
    LARGEST_HOP,
    LARGEST_QUEUED_HOP,
    LONGEST,
    MOST_VISITS,
    SHORT,
)
from streams.wire.glance import guid, instant, name, number
from streams.wire.packing import pack_long, pack_string
from streams.wire.single_object import Codec, MalformedError
from streams.wire.visits import count_visits, demand_few

ROUTE_CODEC = Codec("Route", longest=LONGEST, largest=LARGEST)
MESSAGE_CODEC = Codec("Message", longest=LONGEST, largest=LARGEST)
HOP_CODEC = Codec("Hop", longest=LONGEST, largest=LARGEST_QUEUED_HOP)

_FLAGS = tuple(map(Flag, range(16)))
_NO_FRAGMENT = b"\0\2\0"
_names: Callable[[Parties], tuple[Any, ...]] = itemgetter(
    slice(0, Parties._fields.index("contract") + 1)
)
_form: Callable[[Header], tuple[Any, ...]] = itemgetter(slice(Header._fields.index("flags"), None))
_PLAIN = Flag.NONE, 0, 1
"""No flags, and fragment 0 of 1: the values in the field order of :class:`Header`."""
_KNOWN_FLAGS, _BOTH = int(_FLAGS[-1]), int(Flag.END | Flag.ERROR)
_PARTIES, _JOURNEYS, _JOURNEYS_READ = 16_384, 64, 4_096
"""Cache sizes: pairs of services with dialogs, journeys to write, and journeys as they were read.

The second is small because a sender can choose journeys whose tuples have equal hashes. The keys of
the third are bytes, whose hashes depend on a secret key.
"""
_LATEST = LATEST.to_bytes(8, "big")
_HOPS, _EXPIRES, _ATTEMPT, _SENT, _FIRST_HOP, _PATH = 10, 11, 19, 20, 28, 29
"""Offsets of the fields of a journey whose numbers are short: see :mod:`streams.wire.hop`."""
_LONGEST_WHOLE = 10 + 16 + 64 + 9 + 3 + 6 + 9
"""Maximum size of a header that is read in one step: prefix, id, type, and later fields."""


def encode_parties(parties: Parties) -> bytes:
    """Encode ``sb-route``."""
    return (_encoded_short_parties if _is_short(parties) else _encoded_parties)(parties)


def _is_short(parties: Parties) -> bool:
    """Return whether parties are short enough to be cached; received names may have any length."""
    to_service, to_broker, from_service, from_broker, contract = _names(parties)
    names = len(to_service) + len(from_service) + len(from_broker) + len(contract)
    return names + len(to_broker or "") <= SHORT


def _encoded_parties(parties: Parties) -> bytes:
    return ROUTE_CODEC.encode(
        {
            "to_service": parties.to_service,
            "to_broker": parties.to_broker,
            "from_service": parties.from_service,
            "from_broker": parties.from_broker,
            "contract": parties.contract,
            "from_initiator": parties.from_initiator,
            "locked": parties.locked,
        }
    )


_encoded_short_parties = lru_cache(_PARTIES)(_encoded_parties)


def decode_parties(raw: bytes | None) -> Parties:
    """Decode ``sb-route``; raises MalformedError if it is invalid."""
    return (_short_parties if raw is not None and len(raw) <= SHORT else _parties)(raw)


def _parties(raw: bytes | None) -> Parties:
    return Parties(**ROUTE_CODEC.decode(raw))


_short_parties = lru_cache(_PARTIES)(_parties)


class Arrived(Header):
    """A decoded header that keeps its bytes, so that encoding it results in the same bytes."""

    raw: bytes | None = None
    """The bytes of the header; ``None`` in a copy made by ``_replace``."""


def encode_header(header: Header) -> bytes:
    """Encode ``sb-message``."""
    if type(header) is Arrived and header.raw is not None:
        return header.raw
    if _form(header) == _PLAIN:
        return b"%b%b%b%b%b%b%b" % (
            MESSAGE_CODEC.prefix,
            header.message_id.bytes,
            pack_string(header.type),
            pack_long(header.sequence),
            _NO_FRAGMENT,
            pack_long(header.enqueued_at),
            pack_long(header.dialog_expires_at),
        )
    return MESSAGE_CODEC.pack(
        (
            header.message_id.bytes,
            header.type,
            header.sequence,
            header.fragment,
            header.fragments,
            header.flags,
            header.enqueued_at,
            header.dialog_expires_at,
        )
    )


def decode_header(raw: bytes | None) -> Header:
    """Decode ``sb-message``; raises MalformedError if it is malformed or violates a rule of 4.3."""
    return (raw is not None and _whole(raw)) or _header(raw)


def _whole(raw: bytes) -> Header | None:
    """Return the header if it has the usual form, a whole message without flags, else ``None``."""
    if not 32 <= len(raw) <= _LONGEST_WHOLE or not raw.startswith(MESSAGE_CODEC.prefix):
        return None
    begin = end = 27 + (raw[26] >> 1)
    while raw[end : end + 1] >= b"\x80":
        end += 1
    end += 1
    if raw[end : end + 3] != _NO_FRAGMENT:
        return None
    kind, sequence = name(raw[26:begin]), number(raw[begin:end])
    enqueued_at, ends_at = instant(raw[end + 3 : end + 9]), number(raw[end + 9 :])
    if kind is None or sequence is None or enqueued_at is None:
        return None
    if ends_at is None or ends_at > LATEST:
        return None
    made = Arrived(guid(raw[10:26]), kind, sequence, enqueued_at, ends_at)
    made.raw = raw
    return made


def _header(raw: bytes | None) -> Header:
    record = MESSAGE_CODEC.decode(raw)
    flags, sequence = record["flags"], record["sequence"]
    if flags:
        _check_flags(flags, sequence, record["type"])
    if not 0 <= sequence < 2**62 or not 0 <= record["fragment"] < record["fragments"]:
        text = "Message: sequence or fragment number out of range (11274)"
        raise MalformedError(text, Number.SEQUENCE_OUT_OF_BOUNDS)
    return Header(
        uuid.UUID(bytes=record["message_id"]),
        record["type"],
        sequence,
        record["enqueued_at"],
        record["dialog_expires_at"],
        _FLAGS[flags],
        record["fragment"],
        record["fragments"],
    )


def _check_flags(flags: int, sequence: int, kind: str) -> None:
    if flags & ~_KNOWN_FLAGS:
        raise MalformedError("Message: unknown flags (28001)", Number.UNKNOWN_FLAGS)
    if flags & _BOTH == _BOTH:
        text = "Message: 'end' and 'error' are both set (11275)"
        raise MalformedError(text, Number.END_AND_ERROR)
    if flags & Flag.UNSEQUENCED and flags & Flag.END:
        raise MalformedError("Message: unsequenced with 'end' (11276)", Number.END_UNSEQUENCED)
    if flags & Flag.UNSEQUENCED and sequence:
        text = "Message: unsequenced but with a number (11299)"
        raise MalformedError(text, Number.UNSEQUENCED_NUMBER)
    if flags & _BOTH and kind != (END_DIALOG if flags & Flag.END else ERROR):
        # The receiver does not check the contract or the body of a message that ends the dialog.
        text = f"Message: 'end' or 'error' is set on a message of type {kind[:80]!r}"
        raise MalformedError(text)


def encode_journey(journey: Journey) -> bytes:
    """Encode ``sb-hop``; forwarders then edit it in place (:mod:`streams.wire.hop`)."""
    return (_encoded_short_journey if journey.is_short else _encoded_journey)(journey)


def _encoded_journey(journey: Journey) -> bytes:
    return HOP_CODEC.pack(
        (
            journey.hops_remaining,
            journey.expires_at.to_bytes(8, "big"),
            journey.attempt,
            journey.sent_at.to_bytes(8, "big"),
            journey.first_hop,
            journey.path,
        )
    )


_encoded_short_journey = lru_cache(_JOURNEYS)(_encoded_journey)


def decode_journey(raw: bytes | None, *, queued: bool = False) -> Journey:
    """Decode ``sb-hop``; raises MalformedError if it is invalid.

    ``queued``: the header is from a queue, so the endpoint worker has added a visit. This visit may
    exceed the limits, because the worker has already acknowledged the message.
    """
    return (_short_journey if raw is not None and len(raw) <= SHORT else _journey)(raw, queued)


def _journey(raw: bytes | None, queued: bool = False) -> Journey:
    return (raw is not None and _plain_journey(raw, queued)) or _any_journey(raw, queued)


def _plain_journey(raw: bytes, queued: bool = False) -> Journey | None:
    """Return the journey if its numbers and names have the usual length (``hop.py``), else None."""
    if not (_PATH < len(raw) <= _largest(queued) and raw.startswith(HOP_CODEC.prefix)):
        return None
    if (raw[_HOPS] | raw[_ATTEMPT] | raw[_FIRST_HOP]) & 0x81 or raw[_EXPIRES:_ATTEMPT] > _LATEST:
        return None
    path = _plain_path(raw, _PATH, len(raw) - 1, MOST_VISITS + queued)
    if path is None or raw[-1]:
        return None
    return Journey(
        raw[_HOPS] >> 1,
        int.from_bytes(raw[_EXPIRES:_ATTEMPT], "big"),
        raw[_ATTEMPT] >> 1,
        int.from_bytes(raw[_SENT:_FIRST_HOP], "big"),
        raw[_FIRST_HOP] >> 1,
        path,
    )


def _plain_path(
    raw: bytes, at: int, end: int, most: int = MOST_VISITS
) -> tuple[tuple[str, int], ...] | None:
    """Return the visits in the blocks between two places."""
    path: list[tuple[str, int]] = []
    while at < end:
        if raw[at] & 0x81 or not raw[at]:
            return None
        visits, at = raw[at] >> 1, at + 1
        if len(path) + visits > most:
            return None
        for _ in range(visits):
            if at >= end:
                return None
            begin, at = at, at + 1 + (raw[at] >> 1)
            visited, arrived_at = name(raw[begin:at]), instant(raw[at : at + 6])
            if visited is None or arrived_at is None:
                return None
            path.append((visited, arrived_at))
            at += 6
    return tuple(path) if at == end else None


def _any_journey(raw: bytes | None, queued: bool = False) -> Journey:
    most = MOST_VISITS + queued
    if raw is not None and len(raw) > _largest(queued):
        raise MalformedError(f"Hop: {len(raw):,} bytes, at most {_largest(queued):,}")
    if raw is not None and raw.startswith(HOP_CODEC.prefix):
        demand_few(count_visits(raw, most), most)
    record = HOP_CODEC.decode(raw)
    if record["attempt"] < 0:
        raise MalformedError("Hop: the number of the attempt is negative")
    demand_few(len(record["path"]), most)  # the header is in another version of the schema
    return Journey(
        record["hops_remaining"],
        int.from_bytes(record["expires_at"], "big"),
        record["attempt"],
        int.from_bytes(record["sent_at"], "big"),
        record["first_hop"],
        tuple((visit["instance"], visit["at"]) for visit in record["path"]),
    )


def _largest(queued: bool) -> int:
    return LARGEST_QUEUED_HOP if queued else LARGEST_HOP


# The copies of one batch are from a few transactions and have only a few different journeys.
_short_journey = lru_cache(_JOURNEYS_READ)(_journey)
