"""Records of a stored batch, read as the broker reads them (decision 47)."""

from __future__ import annotations

import struct

import pytest
from confluent_kafka import Message

from streams.kafka.stored_records import records_of
from tests.kafka.raw_batch import FAR, LZ4, UNCOMPRESSED, batch, record

PLACE = "t", 3


def read(*records: bytes, codec: int = UNCOMPRESSED) -> list[Message]:
    stored = batch(*records, codec=codec, at=1_700_000_000_000)
    return list(records_of(PLACE, struct.pack(">q", 70) + stored[8:]))


def test_records_have_their_true_offsets() -> None:
    """What they state is not read."""
    found = read(record(0, b"k", b"v"), record(900), record(1, b"", b""))
    assert [one.offset() for one in found] == [70, 71, 72]
    assert {(one.topic(), one.partition()) for one in found} == {PLACE}
    assert [(one.key(), one.value()) for one in found] == [(b"k", b"v")] * 2 + [(b"", b"")]
    assert found[0].timestamp() == (1, 1_700_000_000_000)


def test_headers_are_read() -> None:
    [found] = read(record(headers=[(b"a", b"1"), (b"a", b""), (b"\xff", b"2")]))
    assert found.headers() == [("a", b"1"), ("a", b""), ("\ufffd", b"2")]
    assert read(record())[0].headers() in (None, [])


@pytest.mark.parametrize("longer", [FAR >> 1, FAR, 3 * FAR])
def test_lengths_have_32_bits(longer: int) -> None:
    found = read(record(0, value=b"a", longer=longer), record(1, value=b"b"))
    assert [one.value() for one in found] == [b"a", b"b"]


def test_names_end_at_nul_as_for_the_client() -> None:
    [found] = read(record(headers=[(b"a\0b", b"1"), (b"\0", b"2")]))
    assert found.headers() == [("a", b"1"), ("", b"2")]


def test_times_are_those_of_the_client() -> None:
    """The sum of the batch's and the record's time has 64 bits, and may overflow."""
    late = bytes([12, 0, 3, 0, 1, 1, 0])  # two milliseconds before that of the batch
    [found] = records_of(PLACE, batch(late, codec=UNCOMPRESSED, at=-(2**63)))
    assert found.timestamp()[1] == 2**63 - 2
    [found] = records_of(PLACE, batch(late, codec=UNCOMPRESSED | 8, at=500))
    assert found.timestamp() == (2, 500)


def test_records_before_the_start_are_skipped() -> None:
    stored = batch(*(record(n) for n in range(5)), codec=UNCOMPRESSED)
    assert [one.offset() for one in records_of(PLACE, stored, 3)] == [3, 4]


def test_values_may_be_missing() -> None:
    tombstone = bytes([10, 0, 0, 0, 1, 1])  # length 5, delta 0 twice, key and value null
    [found] = read(tombstone + bytes([0]))
    assert (found.key(), found.value()) == (None, None)


def test_a_compressed_batch_is_not_read() -> None:
    assert read(record(), codec=LZ4) == []


@pytest.mark.parametrize("left", [1, 5, 70])
def test_an_incomplete_batch_is_an_error(left: int) -> None:
    whole = batch(record(0, value=bytes(100)), codec=UNCOMPRESSED)
    with pytest.raises(IndexError):
        list(records_of(PLACE, whole[:-left]))
