"""Records as Avro by our own hand: byte for byte what a general encoder writes."""

from __future__ import annotations

import io

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.capture.batch import batch_of
from streams.capture.packing import pack
from streams.capture.record import Counts, Record, TimestampType
from streams.schema import load
from tests.capture.test_container import RECORDS, record

EDGES = (0, 1, 63, 64, 8_191, 8_192, 8_193, 16_383, 16_384, 2**31, 2**62 - 1, 2**62, 2**63 - 1)


def encoded(one: Record) -> bytes:
    fields = {
        "topic": one.topic, "partition": one.partition, "offset": one.offset,
        "timestamp": one.timestamp, "timestamp_type": int(one.timestamp_type), "key": one.key,
        "headers": [{"key": key, "value": value} for key, value in one.headers],
        "value": one.value,
    }  # fmt: skip
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, load("CapturedRecord"), fields)
    return buffer.getvalue()


@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_any_record_is_written_by_the_schema(records: list[Record]) -> None:
    assert pack(batch_of(records)) == [encoded(one) for one in records]


@pytest.mark.parametrize("factor", [1, -1])
def test_numbers_of_every_length(factor: int) -> None:
    records = [record(factor * n, timestamp=-factor * n) for n in EDGES]
    records += [record(n, partition=n) for n in EDGES if n < 2**31]
    assert pack(batch_of(records)) == [encoded(one) for one in records]


@pytest.mark.parametrize("size", [8_191, 8_192, 900_000])
def test_what_is_long(size: int) -> None:
    long = b"x" * size
    records = [
        record(0, value=long),
        record(1, key=long),
        record(2, headers=(("a", b"1"), ("a", long), ("n" * size, None))),
        record(3, headers=(("h", b""),) * size) if size < 10_000 else record(3),
    ]
    assert pack(batch_of(records)) == [encoded(one) for one in records]


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": 2**63}, {"partition": 2**31}, {"timestamp": -(2**63) - 1}, {"topic": None},
        {"value": 7}, {"key": "text"}, {"headers": (("a", "text"),)}, {"headers": ((b"a", b""),)},
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        pack(batch_of([record(0, **changes)]))


def test_more_names_than_are_remembered() -> None:
    records = [record(n, headers=((f"h{n}", b"1"),), timestamp=n) for n in range(25_000)]
    packed = pack(batch_of(records))
    assert all(packed[n] == encoded(records[n]) for n in (0, 9_999, 10_000, 24_999))


def test_a_batch_counts_what_it_has() -> None:
    none = record(2, timestamp=-1, timestamp_type=TimestampType.NONE, value=None)
    batch = batch_of([record(1, value=b"abc"), none, record(7, partition=3, value=b"")])
    first, last = record(1).timestamp, record(7).timestamp
    assert batch.counts == Counts(3, 3, first, last)
    assert batch.ends == {("ssb.cmd.ServerA", 0): 3, ("ssb.cmd.ServerA", 3): 8}
    assert batch_of([none]).counts == Counts(1, 0, -1, -1)
