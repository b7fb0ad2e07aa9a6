"""Read the records of a stored batch as the broker has read them when it checked the batch.

The broker reads lengths as 32 bits, and Kafka's client (librdkafka) as 64 bits. So a hostile
program can write records that the client cannot read (decision 47). This module reads them as the
broker does.
"""

from __future__ import annotations

import struct
from array import array
from contextlib import suppress

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

from streams.kafka.stalled_fetch import Place

_HEADER = struct.Struct(">q13xh4xqq14xi")
"""Of a batch: first offset, attributes, first and highest timestamp, number of records."""
_CODEC, _LOG_APPEND_TIME = 0b111, 0b1000
_MOST_HEADERS = 100_000
"""Number of headers above which the client returns a record without headers."""
_BITS, _LONG = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF


class StoredBatch:
    """A batch of a topic partition ``place``, whose records are read when they are requested.

    ``offsets`` are those of its records, none if it is compressed; ``size`` is in bytes. To find a
    record, only the lengths of the records before it are read, and none of them twice. So the other
    records in a hostile batch, which may have many headers, do not take time.
    """

    def __init__(self, place: Place, data: bytes) -> None:
        """Read the header; raise IndexError if the batch is incomplete."""
        if len(data) < _HEADER.size:
            raise IndexError
        first, attributes, self._created, appended, count = _HEADER.unpack_from(data)
        self.offsets = range(first, first if attributes & _CODEC else first + count)
        self.size = len(data)
        self._place, self._data = place, data
        self._appended = appended if attributes & _LOG_APPEND_TIME else None
        self._starts = array("q", (_HEADER.size,))  # of the records found so far

    def record(self, offset: int) -> Message:
        """Return a record; raise IndexError if the batch is incomplete."""
        number = offset - self.offsets.start
        while len(self._starts) <= number:
            length, at = _varint(self._data, self._starts[-1])
            self._starts.append(at + length)
        _, at = _varint(self._data, self._starts[number])
        return _record(self._place, self._data, at, offset, self._created, self._appended)

    @property
    def is_readable(self) -> bool:
        """Return whether the client reads the same lengths of records, keys and values."""
        at = _HEADER.size
        with suppress(IndexError):
            for _ in self.offsets:
                length, first = _length(self._data, at)
                _, at = _varint(self._data, first + 1, _LONG)  # behind the attributes: the time
                _, at = _varint(self._data, at)  # the stated offset
                for _ in range(2):  # the key and the value
                    size, at = _length(self._data, at)
                    at += max(0, size)
                at = first + length
            return True
        return False


def _length(batch: bytes, at: int) -> tuple[int, int]:
    """Return a length and the place behind it; raise IndexError if the client reads another one."""
    length, behind = _varint(batch, at)
    if _varint(batch, at, _LONG)[0] != length:
        raise IndexError
    return length, behind


def _record(
    place: Place, batch: bytes, at: int, offset: int, created: int, appended: int | None
) -> Message:
    later, at = _varint(batch, at + 1, _LONG)
    _, at = _varint(batch, at)  # the stated offset
    key, at = _bytes(batch, at)
    value, at = _bytes(batch, at)
    count, at = _varint(batch, at)
    count = count if count <= _MOST_HEADERS else 0
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
