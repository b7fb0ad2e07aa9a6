"""Between frames, events, signs of life and catalog objects, and their bytes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from streams.errors import Number
from streams.protocol import LONGEST_PERIOD, Claim
from streams.protocol.frames import (
    Ack,
    Flag,
    Header,
    Journey,
    Parties,
    Status,
)
from streams.schema import load
from streams.times import LATEST
from streams.wire.bounds import LARGEST, LARGEST_HOP, LONGEST
from streams.wire.glance import guid, name, number
from streams.wire.packing import pack_long, pack_string
from streams.wire.single_object import Codec, MalformedError, Record

ROUTE = Codec("Route", longest=LONGEST, largest=LARGEST)
MESSAGE = Codec("Message", longest=LONGEST, largest=LARGEST)
HOP = Codec("Hop", longest=LONGEST, largest=LARGEST_HOP)
ACK = Codec("Ack", longest=LONGEST, largest=LARGEST)
STATUS = Codec("Status", longest=LONGEST, largest=LARGEST)
EVENT = Codec("Event")
PRESENCE = Codec("Presence", longest=LONGEST)
CATALOG_OBJECT = Codec("CatalogObject")

_FLAGS = tuple(map(Flag, range(16)))
_NO_FRAGMENT = b"\0\2\0"
_PLAIN = Flag.NONE, 0, 1
"""No flags, fragment 0 of 1: as bytes, and in the order of :class:`Header`."""
_KNOWN_FLAGS, _BOTH = int(_FLAGS[-1]), int(Flag.END | Flag.ERROR)
_REMEMBERED, _SHORT = 4096, 1024
"""How many values, and of how many bytes at most, are remembered of what comes again and again."""
_PARTIES, _JOURNEYS = 16_384, 1_024
"""So many pairs of services may converse at once, and so many ways differ, to be remembered."""
_LONGEST_WHOLE = 10 + 16 + 64 + 9 + 3 + 6 + 9
"""Bytes of a header that is read at a glance: prefix, id, type, and what follows it."""


def encode_parties(parties: Parties) -> bytes:
    """Encode ``sb-route``."""
    return (_encoded_short_parties if _is_short(parties) else _encoded_parties)(parties)


def _is_short(parties: Parties) -> bool:
    """Tell whether parties may be remembered: what was read may have names of any length."""
    to_service, to_broker, from_service, from_broker, contract = parties[:5]
    names = len(to_service) + len(from_service) + len(from_broker) + len(contract)
    return names + len(to_broker or "") <= _SHORT


def _encoded_parties(parties: Parties) -> bytes:
    return ROUTE.encode(
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
    """Decode ``sb-route``; raises MalformedError."""
    return (_short_parties if raw is not None and len(raw) <= _SHORT else _parties)(raw)


def _parties(raw: bytes | None) -> Parties:
    return Parties(**ROUTE.decode(raw))


_short_parties = lru_cache(_PARTIES)(_parties)


class Arrived(Header):
    """A header that was read: what it was read from is what it is written as."""

    raw: bytes | None = None
    """Its bytes; of one that was made anew (``_replace``) there are none."""


def encode_header(header: Header) -> bytes:
    """Encode ``sb-message``."""
    if type(header) is Arrived and header.raw is not None:
        return header.raw
    if header[5:] == _PLAIN:
        return b"%b%b%b%b%b%b%b" % (
            MESSAGE.prefix,
            header.message_id.bytes,
            pack_string(header.type),
            pack_long(header.sequence),
            _NO_FRAGMENT,
            pack_long(header.enqueued_at),
            pack_long(header.dialog_expires_at),
        )
    return MESSAGE.pack(
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
    """Decode ``sb-message`` and hold it against the header rules of 4.3; raises MalformedError."""
    return (raw is not None and _whole(raw)) or _header(raw)


def _whole(raw: bytes) -> Header | None:
    """Return the header of a whole message without flags, which nearly all are."""
    if not 32 <= len(raw) <= _LONGEST_WHOLE or not raw.startswith(MESSAGE.prefix):
        return None
    begin = end = 27 + (raw[26] >> 1)
    while raw[end : end + 1] >= b"\x80":
        end += 1
    end += 1
    if raw[end : end + 3] != _NO_FRAGMENT:
        return None
    kind, sequence = name(raw[26:begin]), number(raw[begin:end])
    enqueued_at, ends_at = number(raw[end + 3 : end + 9]), number(raw[end + 9 :])
    if kind is None or sequence is None or enqueued_at is None:
        return None
    if ends_at is None or ends_at > LATEST:
        return None
    made = Arrived(guid(raw[10:26]), kind, sequence, enqueued_at, ends_at)
    made.raw = raw
    return made


def _header(raw: bytes | None) -> Header:
    record = MESSAGE.decode(raw)
    flags, sequence = record["flags"], record["sequence"]
    if flags:
        _check_flags(flags, sequence)
    if not 0 <= sequence < 2**62 or not 0 <= record["fragment"] < record["fragments"]:
        text = "Message: sequence or fragment number out of bounds (11274)"
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


def _check_flags(flags: int, sequence: int) -> None:
    if flags & ~_KNOWN_FLAGS:
        raise MalformedError("Message: unknown flags (28001)", Number.UNKNOWN_FLAGS)
    if flags & _BOTH == _BOTH:
        text = "Message: 'end' and 'error' are both set (11275)"
        raise MalformedError(text, Number.END_AND_ERROR)
    if flags & Flag.UNSEQUENCED and flags & Flag.END:
        raise MalformedError("Message: unsequenced with 'end' (11276)", Number.END_UNSEQUENCED)
    if flags & Flag.UNSEQUENCED and sequence:
        text = "Message: unsequenced with a number (11299)"
        raise MalformedError(text, Number.UNSEQUENCED_NUMBER)


def encode_journey(journey: Journey) -> bytes:
    """Encode ``sb-hop``; forwarders then edit it in place (:mod:`streams.wire.hop`)."""
    return (_encoded_short_journey if journey.is_short else _encoded_journey)(journey)


def _encoded_journey(journey: Journey) -> bytes:
    return HOP.pack(
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


def decode_journey(raw: bytes | None) -> Journey:
    """Decode ``sb-hop``; raises MalformedError."""
    return (_short_journey if raw is not None and len(raw) <= _SHORT else _journey)(raw)


def _journey(raw: bytes | None) -> Journey:
    record = HOP.decode(raw)
    return Journey(
        record["hops_remaining"],
        int.from_bytes(record["expires_at"], "big"),
        record["attempt"],
        int.from_bytes(record["sent_at"], "big"),
        record["first_hop"],
        tuple((visit["instance"], visit["at"]) for visit in record["path"]),
    )


# What arrives in one batch was sent in few transactions, and has few different journeys.
_short_journey = lru_cache(_REMEMBERED)(_journey)


def encode_ack(ack: Ack) -> bytes:
    """Encode the value of an acknowledgement frame."""
    held = [(s1, s2, f1, f2) for (s1, f1), (s2, f2) in ack.held] if ack.held else ()
    return ACK.pack(
        (
            ack.next_sequence,
            ack.highest_seen,
            held,
            ack.attempt,
            ack.first_hop,
            ack.sent_at,
            ack.next_fragment,
            ack.closed,
        )
    )


def encode_status(status: Status) -> bytes:
    """Encode what the local forwarder writes to ``ack``."""
    names = ("database", "from_initiator", "number", "attempt", "at", "service", "broker")
    return STATUS.encode({name: getattr(status, name) for name in names})


def decode_ack_value(raw: bytes | None, conversation: uuid.UUID) -> Ack | Status:
    """Decode a value of the ``ack`` topic; raises MalformedError."""
    if STATUS.knows(raw):
        return Status(conversation=conversation, **STATUS.decode(raw))
    return (_short_ack if raw is not None and len(raw) <= _SHORT else _ack)(raw)


def _ack(raw: bytes | None) -> Ack:
    record = ACK.decode(raw)
    if record["highest_seen"] < record["next_sequence"] - 1:
        text = "Ack: what was seen ends before what is stored (28007)"
        raise MalformedError(text, Number.SEEN_BEFORE_STORED)
    record["held"] = tuple(
        ((run["first"], run["first_fragment"]), (run["last"], run["last_fragment"]))
        for run in record["held"]
    )
    return Ack(**record)


# Endpoints acknowledge many dialogs in one transaction, and are about as far in many of them.
_short_ack = lru_cache(_REMEMBERED)(_ack)


_EVENT_DEFAULTS = tuple(field.get("default") for field in load("Event")["fields"])
_EVENT_LONGS = tuple("long" in field["type"] for field in load("Event")["fields"])
_LARGEST_EVENT, _CLIPPED = 65_536, 1_000
"""Bytes from which on the texts of an event are clipped, and characters that are left of each."""


def encode_event(event: Record) -> bytes:
    """Encode a value of ``event`` from its fields; those that are missing take their default.

    An event is told whatever it tells of: what does not fit into its field is made to fit.
    """
    try:
        packed = EVENT.pack(map(event.get, EVENT.names, _EVENT_DEFAULTS))
    except ValueError:
        packed = b""
    if 0 < len(packed) <= _LARGEST_EVENT:
        return packed
    return EVENT.pack(map(_clipped, map(event.get, EVENT.names, _EVENT_DEFAULTS), _EVENT_LONGS))


def _clipped(value: Any, is_long: bool) -> Any:
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode()
        return text if len(text) <= _CLIPPED else f"{text[:_CLIPPED]}..."
    if isinstance(value, int):
        most = 2**63 - 1 if is_long else 2**31 - 1
        return min(max(value, -most - 1), most)
    return value


def decode_event(raw: bytes | None) -> Record:
    """Decode a value of ``event``; raises MalformedError."""
    return EVENT.decode(raw)


def encode_presence(
    instance: str,
    replica: str,
    count: int,
    at: int,
    claims: Iterable[Claim] = (),
    period: float = 1.0,
) -> bytes:
    """Encode a heartbeat; ``claims`` are of the instance's mirrored databases.

    ``period`` is in seconds: when the next one is due.
    """
    roles = [(claim.broker, claim.principal, claim.epoch) for claim in claims]
    return PRESENCE.pack((instance, replica, count, at, roles, round(1000 * period)))


def decode_presence(raw: bytes | None) -> Record:
    """Decode a sign of life; raises MalformedError."""
    return PRESENCE.decode(raw)


def claims_in(presence: Record) -> tuple[Claim, ...]:
    """Return what a sign of life claims of mirrored databases."""
    return tuple(Claim(r["broker"], r["principal"], r["epoch"]) for r in presence["roles"])


def period_in(presence: Record) -> float:
    """Return in how many seconds a heartbeat says that the next one is due: 1 to 60."""
    return float(min(max(presence["period"] / 1000, 1), LONGEST_PERIOD))


def encode_catalog_object(version: int, body: str) -> bytes:
    """Encode a value of ``catalog``; ``body`` is JSON."""
    return CATALOG_OBJECT.encode({"version": version, "body": body})


def decode_catalog_object(raw: bytes | None) -> tuple[int, str]:
    """Decode a value of ``catalog`` to (version, JSON); raises MalformedError."""
    record: dict[str, Any] = CATALOG_OBJECT.decode(raw)
    return record["version"], record["body"]
