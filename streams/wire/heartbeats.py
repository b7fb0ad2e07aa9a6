"""The values of ``presence``: heartbeats, most of which differ only in their count and time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from streams.protocol import LONGEST_PERIOD, Claim
from streams.wire.bounds import LONGEST
from streams.wire.glance import number as _number
from streams.wire.packing import pack_long, pack_string
from streams.wire.single_object import Codec, Record

PRESENCE = Codec("Presence", longest=LONGEST)

_AT_BYTES = 6
"""The length of an instant in epoch milliseconds, valid until the year 2039."""
_ENDS, _ENDED = 0x80_8080_8080_8080, 0x00_8080_8080_8000
"""Continuation bits of variable-length numbers: mask and expected value for count and instant."""
_REMEMBERED, _SHORT = 1 << 14, 2_000
"""Maximum number of cached heartbeats (one per key), and maximum bytes of each with its key."""
_LENGTHS = (1, 2, 3, 4)
"""Possible lengths of a count in bytes, enough for more than a hundred million."""


def encode_presence(
    instance: str,
    replica: str,
    count: int,
    at: int,
    claims: Iterable[Claim] = (),
    period: float = 1.0,
) -> bytes:
    """Encode a heartbeat; ``claims`` has the claims for the instance's mirrored databases.

    ``period``: seconds until the next heartbeat is due.
    """
    roles = [(claim.broker, claim.principal, claim.epoch) for claim in claims]
    return PRESENCE.pack((instance, replica, count, at, roles, round(1000 * period)))


def decode_presence(raw: bytes | None) -> Record:
    """Decode a heartbeat; raises MalformedError."""
    return PRESENCE.decode(raw)


def claims_in(presence: Record) -> tuple[Claim, ...]:
    """Return the ownership claims of a heartbeat, for mirrored databases."""
    return tuple(Claim(r["broker"], r["principal"], r["epoch"]) for r in presence["roles"])


def period_in(presence: Record) -> float:
    """Return the seconds (1 to 60) until the next heartbeat is due."""
    return float(min(max(presence["period"] / 1000, 1), LONGEST_PERIOD))


class Heartbeat(NamedTuple):
    """One value of ``presence``; ``number`` is the field ``count``.

    ``period``: seconds until the next one is due.
    """

    instance: str
    replica: str
    number: int
    period: float
    claims: tuple[Claim, ...]


class HeartbeatReader:
    """Decode heartbeats, in a tenth of the time if similar to the last heartbeat of their key.

    A writer's next heartbeat has the same bytes up to the replica, and after the time. A heartbeat
    in any other form is decoded field by field.
    """

    def __init__(self) -> None:
        self._known: dict[bytes | str | None, tuple[bytes, bytes, Heartbeat]] = {}

    def read(self, key: bytes | str | None, value: bytes | None) -> Heartbeat:
        """Return a heartbeat; raises MalformedError."""
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
        if len(value or b"") + len(key or b"") > _SHORT:
            return found
        if len(self._known) >= _REMEMBERED:  # any client may write under any key
            self._known.clear()
        start = PRESENCE.prefix + pack_string(found.instance) + pack_string(found.replica)
        if value is not None and value.startswith(start):  # otherwise its schema is older
            end = len(start) + len(pack_long(found.number)) + _AT_BYTES
            self._known[key] = start, value[end:], found
        return found
