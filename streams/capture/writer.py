"""Write captures: an Avro object container of ``CapturedRecord``, in compressed blocks.

Only a few blocks are in memory, regardless of the file's size. The file's metadata has these
entries, all of them text::

    hopline.counts      JSON, padded with spaces to a fixed width; blank until the file is complete
    hopline.kind        captured | generated | imported
    hopline.prefix      the topics' prefix
    hopline.topology    the topology's name
    hopline.created     epoch milliseconds
    hopline.schemas     JSON: the Avro schemas with which headers and values may be written

The header is at the beginning, but the counts are known only at the end, so the writer reserves
space and fills them in on close. A reader compares the counts with the records read, which also
detects a file that was cut exactly between two blocks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

import fastavro

from streams.capture.batch import Batch, batch_of
from streams.capture.codec import Codec
from streams.capture.compression import Squeezer
from streams.capture.packing import pack
from streams.capture.record import Counts, Metadata, Record
from streams.errors import UsageError
from streams.private import open_private
from streams.schema import load
from streams.wire.packing import pack_long

_COUNTS_WIDTH = 256
_BLOCK_BYTES = 128 * 1024  # before compression


class CaptureWriter:
    """Write a capture. As a context manager, the writer renames the file when it is complete.

    Until then, the name is ``<name>.part``. After an exception this file stays and is readable up
    to the last written block. An existing file is replaced only at the end. Raises UsageError if
    the file cannot be written.
    """

    def __init__(
        self, path: str | os.PathLike[str], metadata: Metadata, *, codec: Codec = Codec.DEFLATE
    ) -> None:
        named = Path(path)
        self.path = named.resolve() if named.is_symlink() else named  # keep the link itself
        if self.path.exists() and not self.path.is_file():
            raise UsageError(
                f"{path} is not a regular file and is not replaced.", "Give a file to write."
            )
        self.counts = Counts()
        """The counts so far."""
        self._part = self.path.with_name(self.path.name + ".part")
        self._block: list[bytes] = []
        self._block_bytes = self._passed_bytes = 0
        entries = _entries(metadata)
        self._marker = _marker(entries)
        try:
            self._file: IO[bytes] = open_private(self._part, "w+b")  # closed by close()
            fastavro.writer(  # this writes only the header
                self._file, load("CapturedRecord"), [], codec=codec.value, metadata=dict(entries),
                sync_marker=self._marker,
            )  # fmt: skip
            self._counts_at = self._find_counts()
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._squeezer = Squeezer(self._append, codec)

    def _find_counts(self) -> int:
        self._file.flush()
        self._file.seek(0)
        at = self._file.read().index(b" " * _COUNTS_WIDTH)
        self._file.seek(0, os.SEEK_END)
        return at

    @property
    def size(self) -> int:
        """Return the uncompressed bytes of the records so far."""
        return self._passed_bytes + self._block_bytes

    def write(self, record: Record) -> None:
        """Append one record."""
        self.write_batch(batch_of((record,)))

    def write_batch(self, batch: Batch) -> None:
        """Append several records, which is several times as fast as single appends."""
        packed = pack(batch)
        self.counts += batch.counts
        for raw in packed:
            self._block.append(raw)
            self._block_bytes += len(raw)
            if self._block_bytes >= _BLOCK_BYTES:
                self._end_block()

    def _end_block(self) -> None:
        if not self._block:
            return
        self._passed_bytes += self._block_bytes
        records, data = len(self._block), b"".join(self._block)
        self._block, self._block_bytes = [], 0
        try:
            self._squeezer.add(records, data)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _append(self, records: int, data: bytes) -> None:
        self._file.write(pack_long(records) + pack_long(len(data)))
        self._file.write(data)
        self._file.write(self._marker)

    def close(self) -> None:
        """Complete the file: last block, counts, name."""
        counts = self.counts
        text = json.dumps({name: getattr(counts, name) for name in Counts.__slots__})
        try:
            self._end_block()
            self._squeezer.finish()
            self._file.seek(self._counts_at)
            self._file.write(text.ljust(_COUNTS_WIDTH).encode("ascii"))
            self._file.flush()
            os.fsync(self._file.fileno())  # this must happen before any file refers to this one
            self._file.close()
            os.replace(self._part, self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def leave(self) -> None:
        """Stop before the end; the part written so far is readable."""
        try:
            self._end_block()
            self._squeezer.finish()
        finally:
            self._file.close()

    def __enter__(self) -> CaptureWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.leave()


def _entries(metadata: Metadata) -> dict[str, str]:
    entries = {
        "hopline.counts": " " * _COUNTS_WIDTH,
        "hopline.kind": metadata.kind.value,
        "hopline.prefix": metadata.prefix,
        "hopline.topology": metadata.topology,
        "hopline.created": str(metadata.created),
    }
    if metadata.schemas:
        entries["hopline.schemas"] = json.dumps(metadata.schemas)
    return entries


def _marker(entries: Mapping[str, str]) -> bytes:
    """Return the sync marker, derived from the metadata, so that equal input yields equal bytes."""
    return hashlib.blake2b(json.dumps(entries).encode(), digest_size=16).digest()


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: the file cannot be written: {error.strerror}.",
        "Give a path in an existing, writable folder with enough space.",
    )
