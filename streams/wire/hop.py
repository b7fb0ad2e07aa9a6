"""Edit ``sb-hop`` without decoding it; a forwarder does so for every copy, in about 1 µs.

The layout, after a prefix of ten bytes, follows from the schema (``schemas/Hop.avsc``) and Avro's
encoding. Numbers are zig-zag encoded, so an even byte below 0x80 is a whole number from 0 to 63::

    10        hops_remaining      one byte; a hop subtracts two
    11 .. 18  expires_at          big-endian milliseconds: compared as bytes
    19        attempt             one byte while below 64
    20 .. 27  sent_at
    28        first_hop           one byte while below 64
    29 ..     path                blocks of an Avro array, closed by a zero

An array may be written in several blocks, so a visit is appended by replacing the final zero with a
block of one item and a zero. Headers with any other layout are decoded and encoded instead.
"""

from __future__ import annotations

from streams.protocol.frames import Journey
from streams.times import LATEST
from streams.wire.bounds import LARGEST_HOP
from streams.wire.frame_headers import HOP_CODEC, decode_journey, encode_journey
from streams.wire.packing import base128

_PREFIX = HOP_CODEC.prefix
_LATEST = LATEST.to_bytes(8, "big")
_HOPS, EXPIRES, EXPIRES_END, _ATTEMPT, _FIRST_HOP, _PATH = 10, 11, 19, 19, 28, 29


def in_place(raw: bytes) -> bool:
    """Return whether the bytes have the layout above."""
    return (
        _PATH < len(raw) <= LARGEST_HOP
        and raw.startswith(_PREFIX)
        and not (raw[_HOPS] | raw[_ATTEMPT] | raw[_FIRST_HOP]) & 0x81
        and raw[-1] == 0
        and raw[EXPIRES:EXPIRES_END] <= _LATEST
    )


def visit(instance: str, at: int) -> bytes:
    """Return the block that adds a visit to a path; it is computed once per batch."""
    name = instance.encode("utf-8")
    return b"\x02" + base128(len(name) << 1) + name + base128(at << 1)


def instant(now: int) -> bytes:
    """Return the epoch milliseconds as encoded in the header."""
    return now.to_bytes(8, "big")


def limited(raw: bytes, hops: int, until: int) -> bytes:
    """Return the header with at most ``hops`` hops remaining, and an expiry of at most ``until``.

    Raises MalformedError if the header is invalid.
    """
    if in_place(raw):
        few, early = min(raw[_HOPS], hops << 1), min(raw[EXPIRES:EXPIRES_END], instant(until))
        return b"%b%c%b%b" % (raw[:_HOPS], few, early, raw[EXPIRES_END:])
    journey = decode_journey(raw)
    return encode_journey(
        journey._replace(
            hops_remaining=min(journey.hops_remaining, hops),
            expires_at=min(journey.expires_at, until),
        )
    )


def edit_at_once(
    raw: bytes,
    since: bytes,
    block: bytes,
    *,
    retries: bool,
    begun: bool,
    spend: bool,
    hide: bool = False,
) -> bytes | None:
    """Edit a header of the usual form for the next instance; return ``None`` for other headers.

    ``retries``: the copy may be a retry; ``begun``: the copy was sent from this instance, so it
    must prefer the first of its next hops; ``hide``: the path so far is omitted. For other headers,
    :class:`Hop` takes several steps.
    """
    if (
        not in_place(raw)
        or (raw[_ATTEMPT] and not retries)
        or raw[EXPIRES:EXPIRES_END] <= since
        or (begun and raw[_FIRST_HOP])
    ):
        return None
    end = _PATH if hide else -1
    if not spend:
        return b"%b%b\x00" % (raw[:end], block)
    if not raw[_HOPS]:
        return None
    return b"%b%c%b%b\x00" % (raw[:_HOPS], raw[_HOPS] - 2, raw[EXPIRES:end], block)


class Hop:
    """The ``sb-hop`` of one copy, as a forwarder uses it; raises MalformedError if invalid."""

    __slots__ = ("_journey", "raw")

    def __init__(self, raw: bytes | None) -> None:
        self._journey: Journey | None = None
        if raw is None or not in_place(raw):
            self._journey = decode_journey(raw)
        self.raw: bytes = raw or b""

    @property
    def hops_remaining(self) -> int:
        """Return the number of forwarders that may still forward the copy."""
        return self._journey.hops_remaining if self._journey else self.raw[_HOPS] >> 1

    @property
    def attempt(self) -> int:
        """Return the number of the retry, or 0 for the first transmission."""
        return self._journey.attempt if self._journey else self.raw[_ATTEMPT] >> 1

    @property
    def first_hop(self) -> int:
        """Return the index of the next hop that the sender prefers or has used."""
        return self._journey.first_hop if self._journey else self.raw[_FIRST_HOP] >> 1

    @property
    def visits(self) -> int:
        """Return the number of instances on the path; only this property decodes the path."""
        return len((self._journey or decode_journey(self.raw)).path)

    @property
    def expires_at(self) -> int:
        """Return the end of the time to live in epoch milliseconds."""
        if self._journey:
            return self._journey.expires_at
        return int.from_bytes(self.raw[EXPIRES:EXPIRES_END], "big")

    def expired(self, now: int) -> bool:
        """Return whether the copy's time to live has expired; ``now`` is in epoch milliseconds."""
        if self._journey:
            return self._journey.expires_at <= now
        return self.raw[EXPIRES:EXPIRES_END] <= instant(now)

    def edited(
        self,
        instance: str,
        at: int,
        block: bytes,
        *,
        spend: bool,
        first_hop: int | None = None,
        hide: bool = False,
    ) -> bytes:
        """Return the header for the next instance: visit added, one hop fewer, first hop set.

        ``hide``: the visit replaces the path so far.
        """
        if self._journey is not None or (first_hop is not None and first_hop > 63):
            return self._encoded((instance, at), spend, first_hop, hide)
        raw, end = self.raw, _PATH if hide else -1
        hops = raw[_HOPS] - 2 if spend else raw[_HOPS]
        if first_hop is None:
            return b"%b%c%b%b\x00" % (raw[:_HOPS], hops, raw[EXPIRES:end], block)
        return b"%b%c%b%c%b%b\x00" % (
            raw[:_HOPS], hops, raw[EXPIRES:_FIRST_HOP], first_hop << 1, raw[_PATH:end], block,
        )  # fmt: skip

    def _encoded(
        self, visit: tuple[str, int], spend: bool, first_hop: int | None, hide: bool
    ) -> bytes:
        journey = self._journey or decode_journey(self.raw)
        return encode_journey(
            journey._replace(
                hops_remaining=journey.hops_remaining - spend,
                first_hop=journey.first_hop if first_hop is None else first_hop,
                path=(visit,) if hide else (*journey.path, visit),
            )
        )
