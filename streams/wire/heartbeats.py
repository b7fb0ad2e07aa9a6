"""The values of ``presence``: heartbeats, most of which differ only in their count and time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from streams.protocol import LONGEST_PERIOD, Claim
from streams.wire.glance import number as _number
from streams.wire.packing import pack_long, pack_string
from streams.wire.single_object import Codec, MalformedError, Record

LONGEST_NAME = 1_024
"""Maximum length in characters of a name, a replica or a broker id in a heartbeat."""
MOST_CLAIMS = 1_000
"""Maximum number of claims in a heartbeat, and thus of mirrored databases in an instance.

Each mirrored pair has seven topics besides its queues, so a thousand pairs need 7,000 topics.
"""
LARGEST_HEARTBEAT = 65_536
"""Maximum size in bytes of a heartbeat; 1,000 claims with GUIDs as broker ids take at most 48,000.

With its headers, a heartbeat is smaller than 128 kB, the limit of readers in other clusters.
Without a limit, a record of 1 MB could contain 330,000 claims, which take 20 MB in memory.
"""
_ROOM = LARGEST_HEARTBEAT - 2 * 4 * LONGEST_NAME - 64
"""Bytes left for claims after names of the maximum length, the numbers and the period."""
_CLAIM = 10 + 1
"""Maximum size in bytes of a claim without its broker id."""

PRESENCE = Codec("Presence", longest=LONGEST_NAME, largest=LARGEST_HEARTBEAT)

_AT_BYTES = 6
"""The length in bytes of an encoded time (epoch milliseconds) before the year 2039."""
_ENDS, _ENDED = 0x80_8080_8080_8080, 0x00_8080_8080_8000
"""Continuation bits of variable-length numbers: mask and expected value for count and instant."""
_REMEMBERED, _SHORT, _FEW = 1 << 13, 1_000, 16
"""Maximum number of cached heartbeats (one per key), bytes of each with its key, and its claims.

A claim of three bytes takes seventy bytes in memory.
"""
_LENGTHS = (1, 2, 3, 4)
"""Possible lengths of a count in bytes; four bytes are enough for more than a hundred million."""


def encode_presence(
    instance: str,
    replica: str,
    count: int,
    at: int,
    claims: Iterable[Claim] = (),
    period: float = 1.0,
) -> bytes:
    """Encode a heartbeat; ``claims`` are the claims for the instance's mirrored databases.

    ``period``: seconds until the next heartbeat is due.
    """
    roles = [(claim.broker, claim.principal, claim.epoch) for claim in claims]
    return PRESENCE.pack((instance, replica, count, at, roles, round(1000 * period)))


def decode_presence(raw: bytes | None) -> Record:
    """Decode a heartbeat; raises MalformedError if it is invalid."""
    record = PRESENCE.decode(raw)
    if len(record["roles"]) > MOST_CLAIMS:
        raise MalformedError(f"Presence: {len(record['roles']):,} claims, at most {MOST_CLAIMS:,}")
    return record


def claims_that_fit(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return the first claims that fit into a heartbeat; leave out overlong broker ids."""
    found, room = list[Claim](), _ROOM
    for claim in claims:
        size = _CLAIM + len(pack_string(claim.broker))
        if len(claim.broker) <= LONGEST_NAME and size <= room:
            found.append(claim)
            room -= size
    return tuple(found[:MOST_CLAIMS])


def claims_in(presence: Record) -> tuple[Claim, ...]:
    """Return the ownership claims of a heartbeat, for mirrored databases."""
    return tuple(Claim(r["broker"], r["principal"], r["epoch"]) for r in presence["roles"])


def period_in(presence: Record) -> float:
    """Return the seconds (1 to 60) until the next heartbeat is due."""
    return float(min(max(presence["period"] / 1000, 1), LONGEST_PERIOD))


class Heartbeat(NamedTuple):
    """One value of ``presence``; ``number`` is the field ``count``.

    ``period``: seconds until the next heartbeat is due.
    """

    instance: str
    replica: str
    number: int
    period: float
    claims: tuple[Claim, ...]


class HeartbeatReader:
    """Decode heartbeats; ten times as fast if a heartbeat resembles the last one with its key.

    A writer's next heartbeat usually has the same bytes up to the replica, and after the time. Any
    other heartbeat is decoded field by field.
    """

    def __init__(self) -> None:
        self._known: dict[bytes | str | None, tuple[bytes, bytes, Heartbeat]] = {}

    def read(self, key: bytes | str | None, value: bytes | None) -> Heartbeat:
        """Return a heartbeat; raises MalformedError if it is invalid."""
        known = self._known.get(key)
        if known is not None and value is not None:
            start, rest, last = known
            end = len(value) - len(rest)
            number = value[len(start) : end - _AT_BYTES]
            if (
                value.startswith(start)
                and value.endswith(rest)
                and len(number) in _LENGTHS
                and int.from_bytes(value[end - _AT_BYTES - 1 : end], "big") & _ENDS == _ENDED
            ):
                count = _number(number)
                if count is not None:
                    return Heartbeat(last[0], last[1], count, last[3], last[4])
        return self._decode(key, value)

    def _decode(self, key: bytes | str | None, value: bytes | None) -> Heartbeat:
        record = decode_presence(value)
        found = Heartbeat(
            record["instance"],
            record["replica"],
            record["count"],
            period_in(record),
            claims_in(record),
        )
        if len(value or b"") + len(key or b"") > _SHORT or len(found.claims) > _FEW:
            return found
        if len(self._known) >= _REMEMBERED:  # any client may write records with any key
            self._known.clear()
        start = PRESENCE.prefix + pack_string(found.instance) + pack_string(found.replica)
        if value is not None and value.startswith(start):  # otherwise it has an older schema
            end = len(start) + len(pack_long(found.number)) + _AT_BYTES
            self._known[key] = start, value[end:], found
        return found
