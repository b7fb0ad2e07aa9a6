"""Read the blocks of an Avro object container one at a time, and skip damaged blocks.

A container consists of a header and blocks. A block consists of the number of records, the number
of bytes, these bytes, and a copy of the header's 16-byte sync marker. So a reader that finds a
damaged block can search for the next marker.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import fastavro

from streams.capture.codec import inflate
from streams.wire.items import exceeds
from streams.wire.packing import pack_long

MARKER = 16
_PIECE = 1 << 20
_LONGEST = 10  # maximum bytes of a number
_RECORDS = 100_000
"""Maximum number of records in a block; the writer's blocks of 128 kB have at most about 10,000."""
_HEADERS = 1_000_000
"""Maximum number of headers in a block. A decoded header takes 300 bytes of memory."""


class Block(NamedTuple):
    """A block of the file: its offset, its number of records, its bytes."""

    at: int
    records: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """An unreadable part of the file: from byte ``at`` up to ``until``, and the reason.

    ``records`` is the number of its records, if the block contains it.
    """

    at: int
    until: int
    why: str
    records: int | None = None


class DamageError(Exception):
    """A block cannot be read."""

    def __init__(self, at: int, why: str, records: int | None = None) -> None:
        super().__init__(why)
        self.at, self.why, self.records = at, why, records


class Blocks:
    """Read blocks from ``begin`` on, with the writer's ``schema``.

    The records have the ``wanted`` schema, or the writer's if it is ``None``.
    """

    def __init__(
        self, file: IO[bytes], begin: int, marker: bytes, codec: str, schema: Any, wanted: Any
    ) -> None:
        self._file, self._marker, self._codec = file, marker, codec
        self._size = os.fstat(file.fileno()).st_size
        self._begin = begin
        self._schema = {"type": "array", "items": schema}
        self._wanted = None if wanted is None else {"type": "array", "items": wanted}

    def __iter__(self) -> Iterator[tuple[Block, list[dict[str, Any]]]]:
        """Yield every block with its records; raise DamageError at the first damaged block."""
        self._file.seek(self._begin)
        while self._file.tell() < self._size:
            block = self._next()
            yield block, self._records(block)

    def salvaged(self) -> Iterator[tuple[Block, list[dict[str, Any]]] | Damage]:
        """Yield every readable block, and the damage between blocks."""
        self._file.seek(self._begin)
        while self._file.tell() < self._size:
            try:
                block = self._next()
                yield block, self._records(block)
            except DamageError as error:
                until = self._resume(error.at)
                yield Damage(error.at, until, error.why, error.records)

    def _next(self) -> Block:
        at = self._file.tell()
        records, size = self._number(at), self._number(at)
        left = self._size - self._file.tell() - MARKER
        if records < 0 or size < 0:
            raise DamageError(at, "a block of negative size")
        if size > left:
            raise DamageError(at, "the file ends in the middle of a block")
        data = self._file.read(size)
        if self._file.read(MARKER) != self._marker:
            raise DamageError(at, "the block does not end with the file's sync marker")
        return Block(at, records, data)

    def _number(self, at: int) -> int:
        value = 0
        for n in range(_LONGEST):
            byte = self._file.read(1)
            if not byte:
                raise DamageError(at, "the file ends in the middle of a block")
            value |= (byte[0] & 0x7F) << (7 * n)
            if byte[0] < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise DamageError(at, "an unterminated number")

    def _records(self, block: Block) -> list[dict[str, Any]]:
        """Decode a block; its number of records, its bytes and a zero form an Avro array."""
        if block.records > _RECORDS:
            why = f"a block of {block.records:,} records, more than the limit of {_RECORDS:,}"
            raise DamageError(block.at, why, block.records)
        try:
            data = inflate(self._codec, block.data)
            if not block.records:
                return []
            # A header takes at least one byte, so only large blocks need a count.
            record = self._schema["items"]
            if len(data) > _HEADERS and exceeds(record, data, block.records, _HEADERS):
                raise ValueError(f"its records have more than {_HEADERS:,} headers")
            array = io.BytesIO(pack_long(block.records) + data + b"\0")
            found = fastavro.schemaless_reader(array, self._schema, self._wanted)
            if array.read(1) or len(found) != block.records:  # type: ignore[arg-type]
                raise ValueError("its records do not have the stated length")
        except Exception as error:  # the decoder may raise any exception for damaged bytes
            why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise DamageError(block.at, why, block.records) from error
        return found  # type: ignore[return-value]

    def _resume(self, at: int) -> int:
        """Seek to the end of the next marker after a damaged block's start; return the position."""
        self._file.seek(at)
        held, before = b"", at
        while piece := self._file.read(_PIECE):
            held += piece
            found = held.find(self._marker)
            if found >= 0:
                until = before + found + MARKER
                self._file.seek(until)
                return until
            cut = max(0, len(held) - MARKER + 1)
            held, before = held[cut:], before + cut
        return self._size
