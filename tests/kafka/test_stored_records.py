"""Records of a stored batch, read as the broker reads them (decision 47)."""

from __future__ import annotations

import struct

import pytest
from confluent_kafka import Message

from streams.kafka import stored_records
from streams.kafka.stored_records import StoredBatch
from tests.kafka.raw_batch import FAR, LZ4, UNCOMPRESSED, batch, record

PLACE = "t", 3


def read(*records: bytes, codec: int = UNCOMPRESSED) -> list[Message]:
    stored = batch(*records, codec=codec, at=1_700_000_000_000)
    return records_of(struct.pack(">q", 70) + stored[8:])


def records_of(stored: bytes) -> list[Message]:
    found = StoredBatch(PLACE, stored)
    return [found.record(offset) for offset in found.offsets]


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
    [found] = records_of(batch(late, codec=UNCOMPRESSED, at=-(2**63)))
    assert found.timestamp()[1] == 2**63 - 2
    [found] = records_of(batch(late, codec=UNCOMPRESSED | 8, at=500))
    assert found.timestamp() == (2, 500)


def test_bits_above_the_64th_of_a_time_do_not_count() -> None:
    later = bytes([*[0x84] + [0x80] * 8, 0x02])  # two milliseconds, and the 65th bit
    [found] = records_of(batch(bytes([30, 0, *later, 0, 1, 1, 0]), codec=UNCOMPRESSED, at=500))
    assert found.timestamp() == (1, 502)


def test_a_record_takes_no_time_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only lengths are read before it, and each of them once."""
    others = [record(n, headers=[(b"", b"")] * 1_000) for n in range(50)]
    found = StoredBatch(PLACE, batch(*others, record(50), codec=UNCOMPRESSED))
    read, varint = list[int](), stored_records._varint
    monkeypatch.setattr(stored_records, "_varint", lambda *a: read.append(1) or varint(*a))
    assert [found.record(offset).offset() for offset in (20, 20, 49, 50)] == [20, 20, 49, 50]
    assert len(read) < 3 * 2_010 + 60
    assert found.record(0).offset() == 0, "or back"


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
        records_of(whole[:-left])
