"""A heartbeat that is read quickly is what the general decoder reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.protocol import Claim
from streams.wire import (
    MalformedError,
    claims_in,
    decode_presence,
    encode_presence,
    period_in,
)
from streams.wire.heartbeats import Heartbeat, HeartbeatReader
from tests.wire import values as v

KEY = b"ServerA"
NOW = 1_790_000_000_000
CLAIMS = st.lists(st.builds(Claim, v.names, st.booleans(), v.longs), max_size=2)
BEATS = st.lists(
    st.tuples(
        st.sampled_from(("r", "another")),
        st.one_of(st.integers(0, 1 << 40), v.longs),
        st.one_of(st.integers(NOW, NOW + 10_000), v.longs),
        st.sampled_from(((), (Claim("B", True, 3),))),
        st.sampled_from((1.0, 5.0)),
    ),
    min_size=1,
    max_size=8,
)


def plainly(value: bytes) -> Heartbeat | None:
    """Return what the general decoder reads; ``None``: nothing."""
    try:
        record = decode_presence(value)
    except MalformedError:
        return None
    name, replica, count = record["instance"], record["replica"], record["count"]
    return Heartbeat(name, replica, count, period_in(record), claims_in(record))


def quickly(reader: HeartbeatReader, value: bytes) -> Heartbeat | None:
    """Return what the reader reads; ``None``: nothing."""
    try:
        return reader.read(KEY, value)
    except MalformedError:
        return None


@given(BEATS)
def test_one_that_is_like_the_last_one_is_read_as_if_it_were_alone(beats: list[tuple]) -> None:  # type: ignore[type-arg]
    reader = HeartbeatReader()
    for replica, count, at, claims, period in beats:
        value = encode_presence("ServerA", replica, count, at, claims, period)
        assert quickly(reader, value) == plainly(value)


@given(st.integers(0, 1 << 20), st.integers(0, 200), st.binary(max_size=12), st.integers(0, 12))
def test_rubbish_behind_a_good_one_is_no_heartbeat(
    count: int, place: int, rubbish: bytes, instead: int
) -> None:
    """Whatever bytes stand where count and instant were, both readers agree."""
    reader = HeartbeatReader()
    good = encode_presence("ServerA", "r", count, NOW)
    assert quickly(reader, good) == plainly(good)
    for at in (place % len(good), len(good) - 12 + place % 12):
        bad = good[:at] + rubbish + good[at + instead :]
        assert quickly(reader, bad) == plainly(bad)
        assert quickly(reader, good) == plainly(good)


def test_what_is_remembered_is_bounded() -> None:
    """Anybody may write into `presence` under any key, of any size."""
    reader = HeartbeatReader()
    value = encode_presence("ServerA", "replica", 1, 2)
    for n in range(40_000):
        reader.read(b"%d" % n, value)
    assert 0 < len(reader._known) <= 1 << 14
    reader = HeartbeatReader()
    reader.read(b"x" * 100_000, value)
    reader.read(b"x", encode_presence("S" * 10_000, "replica", 1, 2))
    assert not reader._known
