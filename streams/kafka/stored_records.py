"""Read the records of a stored batch as the broker has read them when it checked the batch.

The broker reads lengths as 32 bits, and Kafka's client (librdkafka) as 64 bits. So a hostile
program can write records that the client cannot read (decision 47). These functions read them as
the broker does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from streams.kafka.stalled_fetch import Place

_HEADER = struct.Struct(">q13xh4xqq14xi")
"""Of a batch: first offset, attributes, first and highest timestamp, number of records."""
_CODEC, _LOG_APPEND_TIME = 0b111, 0b1000
_BITS = 0xFFFF_FFFF


def records_of(place: Place, batch: bytes, start: int = 0) -> Iterator[Message]:
    """Yield the records of a batch from an offset on; none if it is compressed.

    Raises IndexError if the batch is incomplete.
    """
    first, attributes, created, appended, count = _HEADER.unpack_from(batch)
    if attributes & _CODEC:
        return
    at, when = _HEADER.size, appended if attributes & _LOG_APPEND_TIME else None
    for offset in range(first, first + count):
        length, at = _varint(batch, at)
        if offset >= start:
            yield _record(place, batch, at, offset, created, when)
        at += length


def _record(
    place: Place, batch: bytes, at: int, offset: int, created: int, appended: int | None
) -> Message:
    later, at = _varint(batch, at + 1, bits=-1)
    _, at = _varint(batch, at)  # the stated offset
    key, at = _bytes(batch, at)
    value, at = _bytes(batch, at)
    count, at = _varint(batch, at)
    headers = list[tuple[str, str | bytes | None]]()
    for _ in range(count):
        name, at = _bytes(batch, at)
        content, at = _bytes(batch, at)
        # The client ends a name at its first NUL, and adds times as numbers of 64 bits.
        headers.append(((name or b"").partition(b"\0")[0].decode(errors="replace"), content))
    timestamp = TIMESTAMP_CREATE_TIME, (created + later + 2**63) % 2**64 - 2**63
    if appended is not None:
        timestamp = TIMESTAMP_LOG_APPEND_TIME, appended
    return Message(
        topic=place[0], partition=place[1], offset=offset, key=key, value=value, headers=headers,
        timestamp=timestamp,
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
