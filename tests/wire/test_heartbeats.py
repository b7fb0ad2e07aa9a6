"""A heartbeat that is read quickly is what the general decoder reads."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
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
from streams.wire.heartbeats import (
    LARGEST_HEARTBEAT,
    LONGEST_NAME,
    MOST_CLAIMS,
    Heartbeat,
    HeartbeatReader,
    claims_that_fit,
)
from tests.wire import values as v

KEY = b"ServerA"
NOW = 1_790_000_000_000
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
    assert 0 < len(reader._known) <= 1 << 13
    reader = HeartbeatReader()
    reader.read(b"x" * 100_000, value)
    reader.read(b"x", encode_presence("S" * 1_000, "replica", 1, 2))
    reader.read(b"y", encode_presence("S", "replica", 1, 2, [Claim("", True, 0)] * 17))
    assert not reader._known


# --- claims of a catalog that may contain anything ------------------------------------------------

GUID = "01234567-89ab-cdef-0123-456789abcdef"
LAST = 2**63 - 1


def with_claims(claims: Iterable[Claim]) -> bytes:
    """Return the largest heartbeat that a writer can make of such claims."""
    name = "\U0001f4a3" * LONGEST_NAME
    return encode_presence(name, name, LAST, LAST, claims_that_fit(claims), 60)


def test_a_heartbeat_has_room_for_the_claims_of_a_thousand_databases() -> None:
    claims = tuple(Claim(GUID, True, LAST) for _ in range(MOST_CLAIMS))
    assert claims_that_fit(claims) == claims
    assert claims_in(decode_presence(with_claims(claims))) == claims


@pytest.mark.parametrize(
    ("broker", "count"), [("", 330_000), (GUID, 20_000), ("x" * 1_024, 20_000), ("é" * 1_024, 99)]
)
def test_claims_without_end_are_left_out(broker: str, count: int) -> None:
    """Whatever a catalog contains, its readers can read the heartbeats."""
    claims = claims_that_fit(Claim(broker, True, 1) for _ in range(count))
    value = with_claims(claims)
    assert len(value) <= LARGEST_HEARTBEAT
    assert claims_in(decode_presence(value)) == claims
    assert 25 < len(claims) <= MOST_CLAIMS


def test_a_broker_id_that_is_too_long_leaves_room_for_others() -> None:
    good, long = Claim(GUID, True, 1), Claim("x" * (LONGEST_NAME + 1), True, 1)
    assert claims_that_fit([long, good, Claim("x" * 1_000_000, True, 1), good]) == (good, good)
