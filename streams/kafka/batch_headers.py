"""Parse the headers of stored batches in a response of a broker."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

_HEADER = struct.Struct(">qiibIhiqqqhii")
"""First offset, length, leader epoch, format, checksum, attributes, last offset minus first, two
timestamps, producer id, epoch and sequence, number of records."""
_BEFORE_LENGTH = 12
"""Bytes of a batch that its length does not include."""
_FORMAT = 2
_CODEC, _TRANSACTIONAL, _CONTROL = 0b111, 1 << 4, 1 << 5


class Batch(NamedTuple):
    """The header of a stored batch."""

    offsets: range
    records: int
    producer: int
    is_transactional: bool
    is_control: bool
    """Whether the batch is a transaction marker."""
    is_compressed: bool = False
    stored: slice = slice(0)
    """Where the batch is in the response; it may be cut off there."""

    @property
    def can_be_read(self) -> bool:
        """Return whether the records are as a broker has checked them, and none was compacted."""
        return not self.is_compressed and self.records == len(self.offsets)


class Fetched(NamedTuple):
    """A response: headers of batches, and the id and first offset of aborted transactions.

    ``stable`` is the last stable offset; ``None`` if a quota delays this client's responses.
    """

    batches: list[Batch]
    aborted: list[tuple[int, int]]
    data: bytes = b""
    stable: int | None = None


def headers(data: bytes) -> Iterator[Batch]:
    """Yield the headers of the batches in a response; the last batch can be cut off."""
    at = 0
    while at + _HEADER.size <= len(data):
        first, length, _, magic, _, attributes, last, _, _, producer, _, _, records = (
            _HEADER.unpack_from(data, at)
        )
        if magic != _FORMAT:  # no broker that Hopline supports stores another format
            return
        yield Batch(
            range(first, first + last + 1),
            records,
            producer,
            bool(attributes & _TRANSACTIONAL),
            bool(attributes & _CONTROL),
            bool(attributes & _CODEC),
            slice(at, stop := at + _BEFORE_LENGTH + length),
        )
        at = stop


def readable(fetched: Fetched) -> list[Batch]:
    """Return the batches with committed records, as Kafka's clients find them.

    From the first offset of an aborted transaction up to the next marker of the same producer, all
    transactional batches of this producer belong to the transaction.
    """
    found = list[Batch]()
    waiting = deque(sorted(fetched.aborted, key=_first_offset))
    aborting = set[int]()
    for batch in fetched.batches:
        while waiting and waiting[0][1] < batch.offsets.stop:
            aborting.add(waiting.popleft()[0])
        if batch.is_control:
            aborting.discard(batch.producer)
        elif batch.records and not (batch.is_transactional and batch.producer in aborting):
            found.append(batch)
    return found


def _first_offset(transaction: tuple[int, int]) -> int:
    return transaction[1]
