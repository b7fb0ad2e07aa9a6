"""Editing ``sb-hop`` in place is the same as decoding, editing and encoding it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.protocol import Journey
from streams.wire import Envelope, MalformedError, decode_journey, encode_journey
from streams.wire.frame_headers import HOP_CODEC
from streams.wire.hop import Hop, in_place, visit
from streams.wire.packing import pack_long

from . import values as v

thoroughly = settings(max_examples=300)

first_hops = st.none() | st.integers(0, 100)
one = st.tuples(v.names, v.instants, st.booleans(), first_hops, st.booleans())
hops = st.lists(one, min_size=1, max_size=4)
Edit = tuple[str, int, bool, int | None, bool]
PLAIN = Journey(16, 2_000, 0, 1_000)


def edited(
    journey: Journey, name: str, at: int, spend: bool, first_hop: int | None, hide: bool
) -> Journey:
    """Return the journey that a forwarder makes of a journey."""
    return journey._replace(
        hops_remaining=journey.hops_remaining - spend,
        first_hop=journey.first_hop if first_hop is None else first_hop,
        path=(*(() if hide else journey.path), (name, at)),
    )


@thoroughly
@given(v.journeys, hops)
@example(PLAIN._replace(attempt=63, first_hop=63, hops_remaining=63), [("I", 1, True, None, True)])
@example(PLAIN._replace(attempt=64), [("I", 1, True, 64, True)])
def test_edited_in_place_or_not(journey: Journey, edits: list[Edit]) -> None:
    """Whatever the attempt, the index, the path and its blocks: every reader sees one journey."""
    raw = encode_journey(journey)
    for name, at, spend, first_hop, hide in edits:
        spend = spend and journey.hops_remaining > 0
        block = visit(name, at)
        raw = Hop(raw).edited(name, at, block, spend=spend, first_hop=first_hop, hide=hide)
        journey = edited(journey, name, at, spend, first_hop, hide)
        assert decode_journey(raw) == journey


@thoroughly
@given(v.journeys, st.integers(0, 2**64 - 1))
def test_what_a_forwarder_reads(journey: Journey, now: int) -> None:
    """Hops, attempt, first hop and expiry are read without decoding, and are the same."""
    hop = Hop(encode_journey(journey))
    assert hop.hops_remaining == journey.hops_remaining
    assert hop.attempt == journey.attempt
    assert hop.first_hop == journey.first_hop
    assert hop.expired(now) is (journey.expires_at <= now)
    assert hop.raw == encode_journey(journey)


@pytest.mark.parametrize(
    ("journey", "quick"),
    [
        (PLAIN, True),
        (PLAIN._replace(hops_remaining=63), True),
        (PLAIN._replace(hops_remaining=64), False),
        (PLAIN._replace(attempt=63), True),
        (PLAIN._replace(attempt=64), False),
        (PLAIN._replace(first_hop=64), False),
        (PLAIN._replace(hops_remaining=-1), False),
        (PLAIN._replace(path=(("I", 1), ("J", 2))), True),
    ],
)
def test_the_in_place_way(journey: Journey, quick: bool) -> None:
    """Taken only where the first fields are one byte each; else the header is decoded."""
    assert in_place(encode_journey(journey)) is quick


def test_a_path_of_several_blocks() -> None:
    """Every visit that was appended is a block of its own, and all of them are one array."""
    raw = encode_journey(PLAIN._replace(path=(("A", 1), ("B", 2))))
    for name in ("C", "D", "E"):
        raw = Hop(raw).edited(name, 3, visit(name, 3), spend=True)
    assert in_place(raw)
    assert [name for name, _ in decode_journey(raw).path] == ["A", "B", "C", "D", "E"]
    assert decode_journey(raw).hops_remaining == 13


@pytest.mark.parametrize(
    "raw", [None, b"", b"\xc3\x01", HOP_CODEC.prefix, b"x" * 60, HOP_CODEC.prefix + b"\0"]
)
def test_no_journey(raw: bytes | None) -> None:
    """What does not look like a journey is decoded, and found to be none."""
    with pytest.raises(MalformedError):
        Hop(raw)


@thoroughly
@given(v.journeys, st.data())
def test_malformed_journeys(journey: Journey, data: st.DataObject) -> None:
    """A forwarder does not crash on any bytes; what it lets through is found where it is read."""
    raw = bytearray(encode_journey(journey))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    cut = data.draw(st.integers(0, len(raw)))
    for bytes_ in (bytes(raw), bytes(raw[:cut])):
        try:
            hop = Envelope.hop(bytes_)
            if hop.hops_remaining > 0 and not hop.expired(0):
                decode_journey(hop.edited("I", 1, visit("I", 1), spend=True))
        except MalformedError:
            continue


def test_a_number_that_nobody_could_write_again() -> None:
    """A forwarder would fail on it where it encodes the journey: it is found when it is read."""
    raw = encode_journey(PLAIN)
    with pytest.raises(MalformedError, match="attempt is out of bounds"):
        Hop(raw[:19] + pack_long(2**40) + raw[20:])
