"""Expiries by another clock: what is shifted, what is not, whatever the bytes are."""

from __future__ import annotations

import time
import uuid

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.protocol import Header, Journey
from streams.times import LATEST
from streams.wire import decode_header, decode_journey, encode_header, encode_journey
from streams.wire.records import HOP, MESSAGE, ROUTE, Headers
from streams.wire.shift import shifted

from . import values as v

thoroughly = settings(max_examples=300)
by_some = st.integers(-(2**40), 2**40)
PLAIN = Journey(16, 2_000, 0, 1_000)


def later(at: int, by: int) -> int:
    return min(max(at + by, 0), LATEST) if by else at


def only(headers: Headers) -> bytes:
    [(_, raw)] = headers
    assert raw is not None
    return raw


@thoroughly
@given(v.journeys, by_some)
@example(PLAIN._replace(attempt=64), 600_000)
@example(PLAIN._replace(path=(("A", 1), ("B", 2))), -600_000)
def test_the_end_of_a_copys_time_to_live(journey: Journey, by: int) -> None:
    """In place or decoded: nothing else of its journey changes, and it may have met anybody."""
    raw = only(shifted([(HOP, encode_journey(journey))], by))
    assert decode_journey(raw) == journey._replace(expires_at=later(journey.expires_at, by))


@thoroughly
@given(v.headers, by_some)
def test_the_end_of_a_dialog(header: Header, by: int) -> None:
    raw = only(shifted([(MESSAGE, encode_header(header))], by))
    expected = header._replace(dialog_expires_at=later(header.dialog_expires_at, by))
    assert decode_header(raw) == expected


def test_what_has_no_expiry_stays_and_so_does_the_order() -> None:
    hop, header = encode_journey(PLAIN), b"rubbish"
    headers: Headers = [(ROUTE, b"any"), (MESSAGE, header), (HOP, hop), (HOP, None)]
    assert shifted(headers, 0) is headers
    found = shifted(headers, 5)
    assert [name for name, _ in found] == [name for name, _ in headers]
    assert (found[0], found[1], found[3]) == (headers[0], headers[1], headers[3])


@thoroughly
@given(v.headers, v.journeys, st.data())
def test_rubbish_goes_on_as_some_rubbish(
    header: Header, journey: Journey, data: st.DataObject
) -> None:
    """Its reader tells; a forwarder does not crash on any bytes."""
    for name, raw in ((MESSAGE, encode_header(header)), (HOP, encode_journey(journey))):
        bytes_ = bytearray(raw)
        bit = data.draw(st.integers(0, len(raw) * 8 - 1))
        bytes_[bit // 8] ^= 1 << bit % 8
        cut = data.draw(st.integers(0, len(raw)))
        for broken in (bytes(bytes_), bytes(raw[:cut])):
            assert only(shifted([(name, broken)], 7)) is not None


@pytest.mark.parametrize("by", [-600_000, 600_000])
def test_there_and_back_it_is_the_same(by: int) -> None:
    headers: Headers = [(MESSAGE, encode_header(Header(uuid.UUID(int=1), "T", 0, 1, 2**41)))]
    headers.append((HOP, encode_journey(PLAIN._replace(expires_at=2**41))))
    assert shifted(shifted(headers, by), -by) == headers


def test_a_number_without_an_end_is_not_shifted() -> None:
    rubbish = encode_header(Header(uuid.UUID(int=1), "T", 0, 1, 2))[:-1] + b"\xff" * 1_000_000
    began = time.process_time()
    assert shifted([(MESSAGE, rubbish + b"\2")], 5) == [(MESSAGE, rubbish + b"\2")]
    assert time.process_time() - began < 2
