"""Write captures: an Avro object container of ``CapturedRecord``, compressed with deflate.

One block is in memory, whatever the file's size. The file's metadata has five entries, all text::

    hopline.counts      JSON, padded with spaces to a fixed width; blank until the file is complete
    hopline.kind        captured | generated | imported
    hopline.prefix      the topics' prefix
    hopline.topology    the topology's name
    hopline.created     epoch milliseconds

The header stands at the beginning, but what is counted is known at the end: so the writer leaves
room and fills it in when it closes. A reader that meets a filled-in count holds it against what it
read, which also finds a file that was cut exactly between two blocks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

from fastavro.write import Writer

from streams.capture.record import Counts, Metadata, Record
from streams.errors import UsageError
from streams.schema import load

_COUNTS_WIDTH = 256
_BLOCK_BYTES = 128 * 1024  # before compression: deflate looks back 32 KB


class CaptureWriter:
    """Write a capture; as a context manager, the file appears under its name when it is complete.

    Until then it is ``<name>.part``, and so it stays when the block is left by an exception: what
    was captured up to there can still be read. A file of that name is replaced only at the end.
    Raises UsageError where the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], metadata: Metadata) -> None:
        self.path = Path(path)
        self._part = self.path.with_name(self.path.name + ".part")
        self._records = self._body_bytes = 0
        self._first = self._last = -1
        entries = {
            "hopline.counts": " " * _COUNTS_WIDTH,
            "hopline.kind": metadata.kind.value,
            "hopline.prefix": metadata.prefix,
            "hopline.topology": metadata.topology,
            "hopline.created": str(metadata.created),
        }
        try:
            self._file: IO[bytes] = open(self._part, "w+b")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._writer = Writer(
            self._file,
            load("CapturedRecord"),
            codec="deflate",
            sync_interval=_BLOCK_BYTES,
            metadata=dict(entries),
            sync_marker=_marker(entries),
        )
        self._counts_at = self._find_counts()

    def _find_counts(self) -> int:
        self._file.flush()
        self._file.seek(0)
        at = self._file.read().index(b" " * _COUNTS_WIDTH)
        self._file.seek(0, os.SEEK_END)
        return at

    @property
    def counts(self) -> Counts:
        """Return what was written so far."""
        return Counts(self._records, self._body_bytes, self._first, self._last)

    def write(self, record: Record) -> None:
        """Append one record."""
        try:
            self._writer.write(
                {
                    "topic": record.topic,
                    "partition": record.partition,
                    "offset": record.offset,
                    "timestamp": record.timestamp,
                    "timestamp_type": int(record.timestamp_type),
                    "key": record.key,
                    "headers": [{"key": key, "value": value} for key, value in record.headers],
                    "value": record.value,
                }
            )
        except OSError as error:
            raise _unwritable(self.path, error) from error
        self._records += 1
        self._body_bytes += len(record.value or b"")
        if record.timestamp >= 0:
            self._last = max(self._last, record.timestamp)
            self._first = record.timestamp if self._first < 0 else self._first
            self._first = min(self._first, record.timestamp)

    def close(self) -> None:
        """Complete the file: last block, counts, name."""
        counts = self.counts
        text = json.dumps({name: getattr(counts, name) for name in Counts.__slots__})
        try:
            self._writer.flush()
            self._file.seek(self._counts_at)
            self._file.write(text.ljust(_COUNTS_WIDTH).encode("ascii"))
            self._file.close()
            os.replace(self._part, self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from error

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
            return
        try:
            self._writer.flush()
        finally:
            self._file.close()


def _marker(entries: Mapping[str, str]) -> bytes:
    """Return the sync marker: from the metadata and not by chance, so equal input, equal bytes."""
    return hashlib.blake2b(json.dumps(entries).encode(), digest_size=16).digest()


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: the file cannot be written: {error.strerror}",
        "give a path in a folder that exists, with room and the right to write there",
    )
