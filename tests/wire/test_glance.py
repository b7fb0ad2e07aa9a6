"""What is read at a glance is what is read field by field, from any bytes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streams.wire as c
from streams.protocol import Header, Journey
from streams.wire import MalformedError, frame_headers
from streams.wire import commands as s
from streams.wire.glance import guid, instant, name, number
from streams.wire.hop import visit
from streams.wire.packing import pack_long, pack_string

from . import values as v

thoroughly = settings(max_examples=300)
ID = uuid.UUID(int=7)
NOW = 1_763_000_000_000
instants = st.integers(NOW, NOW + 10**11)
plain = st.tuples(v.uuids, v.names, st.integers(0, 10**6), instants, instants).map(
    lambda fields: Header(*fields)
)
statements = st.builds(lambda command, at: command._replace(issued_at=at), v.commands, instants)
places = st.tuples(st.integers(0, 200), st.integers(0, 255))
"""Which byte says something else, and what."""


def read_or_none(read: Callable[[bytes], Any], raw: bytes) -> Any:
    """Return what a reader makes of bytes; ``None``: they are malformed."""
    try:
        return read(raw)
    except MalformedError:
        return None


def spoilt(raw: bytes, places: list[tuple[int, int]]) -> bytes:
    """Return bytes of which some say something else."""
    made = bytearray(raw)
    for at, byte in places:
        made[at % len(made)] = byte
    return bytes(made)


@thoroughly
@given(plain | v.headers, st.lists(places, max_size=2))
def test_a_header(header: Header, places: list[tuple[int, int]]) -> None:
    raw = spoilt(c.encode_header(header), places)
    read = read_or_none(c.decode_header, raw)
    assert read == read_or_none(frame_headers._header, raw)
    if isinstance(read, frame_headers.Arrived):
        assert c.encode_header(read) == c.encode_header(Header(*read))


@thoroughly
@given(statements | v.commands, st.lists(places, max_size=2))
def test_a_statement(command: Any, places: list[tuple[int, int]]) -> None:
    raw = spoilt(s.encode_command(command), places)
    about = ID, b"body", NOW
    assert read_or_none(lambda raw: s.decode_command(raw, *about), raw) == read_or_none(
        lambda raw: s._command(raw, *about), raw
    )


journeys = st.builds(
    lambda journey, path: journey._replace(path=tuple(path)),
    v.journeys,
    st.lists(st.tuples(v.names, instants), max_size=3),
)


@thoroughly
@given(journeys | v.journeys, st.lists(places, max_size=2))
def test_a_journey(journey: Journey, places: list[tuple[int, int]]) -> None:
    raw = spoilt(c.encode_journey(journey), places)
    assert read_or_none(c.decode_journey, raw) == read_or_none(frame_headers._any_journey, raw)


@given(st.lists(st.tuples(st.sampled_from(["ServerA", "", "Ä"]), instants), max_size=3))
def test_a_plain_journey_is_read_at_a_glance_also_in_several_blocks(
    path: list[tuple[str, int]],
) -> None:
    journey = Journey(14, NOW, 1, NOW, 2, tuple(path))
    raw = c.encode_journey(journey)
    for instance, at in path:
        raw = raw[:-1] + visit(instance, at) + b"\0"
    assert frame_headers._plain_journey(raw) == journey._replace(path=(*path, *path))
    assert frame_headers._plain_journey(raw[:-1]) is None


@given(plain)
def test_a_plain_header_is_read_at_a_glance_and_written_as_it_was(header: Header) -> None:
    raw = c.encode_header(header)
    names = ("fragment", "fragments", "flags", "enqueued_at", "dialog_expires_at")
    assert raw == frame_headers.MESSAGE_CODEC.pack(
        (header.message_id.bytes, *header[1:3], *(getattr(header, name) for name in names))
    )
    read = c.decode_header(raw)
    assert isinstance(read, frame_headers.Arrived) is (len(header.type.encode()) < 64)
    assert c.encode_header(read) == raw
    assert c.encode_header(read._replace(sequence=9)) == c.encode_header(
        header._replace(sequence=9)
    )


@given(v.longs, v.names)
def test_numbers_and_names(value: int, text: str) -> None:
    assert number(pack_long(value)) == (value if value >= 0 and value < 2**62 else None)
    short = len(text.encode()) < 64
    assert name(pack_string(text)) == (text if short else None)


@given(st.one_of(instants, v.longs))
def test_instants(value: int) -> None:
    raw = pack_long(value)
    assert instant(raw) == (number(raw) if len(raw) == 6 else None)


@pytest.mark.parametrize("raw", [b"", b"\x80", b"\x02\x02", b"\x82\x00", b"\x01", b"\xff" * 10])
def test_what_is_no_whole_number(raw: bytes) -> None:
    """Nothing, without an end, two of them, longer than it needs to be, below zero, too large."""
    assert number(raw) is None


@pytest.mark.parametrize("raw", [b"", b"\x04a", b"\x02\xff", b"\x80\x01" + b"a" * 64])
def test_what_is_no_name(raw: bytes) -> None:
    assert name(raw) is None


@given(v.uuids)
def test_an_id_is_one_in_every_respect(value: uuid.UUID) -> None:
    made = guid(value.bytes)
    assert (made, hash(made), str(made)) == (value, hash(value), str(value))
    assert made.is_safe is value.is_safe


def test_a_number_without_an_end_takes_no_time() -> None:
    """Shifted bit by bit a number of a megabyte took half a minute; compressed it is nothing."""
    head = frame_headers.MESSAGE_CODEC.prefix + bytes(16) + pack_string("DEFAULT")
    began = time.process_time()
    for tail in (
        b"\xff" * 1_000_000 + b"\2\0\2\0\2\2",
        b"\2\0\2\0\2" + b"\xff" * 1_000_000 + b"\2",
    ):
        with pytest.raises(MalformedError):
            c.decode_header(head + tail)
    assert time.process_time() - began < 2
