"""Read the records of a stored batch as the broker has read them when it checked the batch.

The broker reads lengths as 32 bits, and Kafka's client (librdkafka) as 64 bits. So a hostile
program can write records that the client cannot read (decision 47). These functions read them as
the broker does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from confluent_kafka import TIMESTAMP_CREATE_TIME, Message

from streams.kafka.stalled_fetch import Place

_HEADER = struct.Struct(">q13xh4xq22xi")
"""Of a batch: first offset, attributes, first timestamp, number of records."""
_CODEC = 0b111
_BITS = 0xFFFF_FFFF


def records_of(place: Place, batch: bytes) -> Iterator[Message]:
    """Yield the records of a batch; none if it is compressed.

    Raises IndexError if the batch is incomplete.
    """
    first, attributes, timestamp, count = _HEADER.unpack_from(batch)
    at = _HEADER.size if not attributes & _CODEC else len(batch)
    for number in range(count if at < len(batch) else 0):
        length, at = _varint(batch, at)
        yield _record(place, batch, at, first + number, timestamp)
        at += length


def _record(place: Place, batch: bytes, at: int, offset: int, timestamp: int) -> Message:
    later, at = _varint(batch, at + 1, bits=-1)
    _, at = _varint(batch, at)  # the stated offset
    key, at = _bytes(batch, at)
    value, at = _bytes(batch, at)
    count, at = _varint(batch, at)
    headers = list[tuple[str, str | bytes | None]]()
    for _ in range(count):
        name, at = _bytes(batch, at)
        content, at = _bytes(batch, at)
        headers.append(((name or b"").decode(errors="replace"), content))
    return Message(
        topic=place[0], partition=place[1], offset=offset, key=key, value=value, headers=headers,
        timestamp=(TIMESTAMP_CREATE_TIME, timestamp + later),
    )  # fmt: skip


def _bytes(batch: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(batch, at)
    if length < 0:
        return None, at
    if at + length > len(batch):
        raise IndexError
    return batch[at : at + length], at + length


def _varint(batch: bytes, at: int, bits: int = _BITS) -> tuple[int, int]:
    """Return a number that is stored in groups of 7 bits, and the place behind it."""
    value = shift = 0
    while (byte := batch[at]) > 0x7F:
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
    value = (value | byte << shift) & bits
    return value >> 1 ^ -(value & 1), at + 1
