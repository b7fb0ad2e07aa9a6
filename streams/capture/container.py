"""Captures as files: an Avro object container of ``CapturedRecord``, compressed with deflate.

Both directions keep one block in memory, whatever the file's size. The file's metadata has five
entries, all text::

    hopline.counts      JSON, padded with spaces to a fixed width; blank until the file is complete
    hopline.kind        captured | generated
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
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import fastavro
from fastavro.write import Writer

from streams.capture.record import Counts, Kind, Metadata, Record, TimestampType
from streams.errors import InputError, UsageError
from streams.schema import load

__all__ = ["CaptureReader", "CaptureWriter"]

_SCHEMA = "CapturedRecord"
_COUNTS_WIDTH = 256
_BLOCK_BYTES = 128 * 1024  # before compression: deflate looks back 32 KB
_MAGIC = b"Obj\x01"
_NO_CAPTURE = "give a file that `hopline generate traffic` has written"
_DAMAGED = "the file is damaged or incomplete: copy it again, or capture or generate it anew"


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
            load(_SCHEMA),
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


class CaptureReader:
    """Read a capture, as often as wanted: every iteration begins at the first record.

    ``counts`` is None where the writer did not come to its end; such a file is read as far as it
    goes. Raises InputError, here or while iterating, for everything that is no complete capture.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with self._open() as file:
            entries = self._container(file).metadata
        self.metadata = self._metadata(entries)
        self.counts = self._read_counts(entries.get("hopline.counts", ""))

    def _open(self) -> IO[bytes]:
        try:
            return open(self.path, "rb")
        except OSError as error:
            raise InputError(
                f"the capture cannot be opened: {error.strerror}",
                file=str(self.path),
                remedy="give the path of a file that `hopline generate traffic` has written",
            ) from error

    def _container(self, file: IO[bytes]) -> Any:
        bounded = _Bounded(file)
        if file.read(len(_MAGIC)) != _MAGIC:
            raise InputError("this is no Avro file", file=str(self.path), remedy=_NO_CAPTURE)
        file.seek(0)
        try:
            container = fastavro.reader(bounded, load(_SCHEMA))  # type: ignore[arg-type]
            name = getattr(container.writer_schema, "get", lambda _: None)("name")
        except Exception as error:  # a damaged header raises whatever the decoder happens to hit
            raise InputError(
                f"the file's header cannot be read: {_said(error)}",
                file=str(self.path),
                remedy=_DAMAGED,
            ) from error
        if name != f"hopline.capture.{_SCHEMA}":
            raise InputError(
                f"the file holds records of {name!r}, not of a capture",
                file=str(self.path),
                remedy=_NO_CAPTURE,
            )
        return container

    def _metadata(self, entries: Mapping[str, str]) -> Metadata:
        try:
            return Metadata(
                Kind(entries["hopline.kind"]),
                entries["hopline.prefix"],
                entries["hopline.topology"],
                int(entries["hopline.created"]),
            )
        except (KeyError, ValueError) as error:
            raise InputError(
                f"the file's metadata is not a capture's: {_said(error)}",
                file=str(self.path),
                remedy=_NO_CAPTURE,
            ) from error

    def _read_counts(self, text: str) -> Counts | None:
        if not text.strip():
            return None
        try:
            return Counts(**{name: int(value) for name, value in json.loads(text).items()})
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"the file's counts cannot be read: {_said(error)}",
                file=str(self.path),
                remedy=_DAMAGED,
            ) from error

    def __iter__(self) -> Iterator[Record]:
        number = 0
        with self._open() as file:
            container = self._container(file)
            while True:
                try:
                    fields = next(container)
                    record = _record(fields)
                except StopIteration:
                    break
                except Exception as error:  # damaged bytes: see _container
                    raise InputError(
                        f"record {number + 1} cannot be read: {_said(error)}",
                        file=str(self.path),
                        remedy=_DAMAGED,
                    ) from error
                number += 1
                yield record
        if self.counts is not None and number != self.counts.records:
            raise InputError(
                f"the file ends after record {number} and says that it has {self.counts.records}",
                file=str(self.path),
                remedy=_DAMAGED,
            )


class _Bounded:
    """A file that never allocates for more bytes than it has: damaged lengths name exabytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def read(self, size: int = -1) -> bytes:
        if size > self._size - self._file.tell():
            raise EOFError("the file ends in the middle of a block")
        return self._file.read(size)


def _record(fields: Mapping[str, Any]) -> Record:
    return Record(
        fields["topic"],
        fields["partition"],
        fields["offset"],
        fields["timestamp"],
        TimestampType(fields["timestamp_type"]),
        fields["key"],
        tuple((header["key"], header["value"]) for header in fields["headers"]),
        fields["value"],
    )


def _marker(entries: Mapping[str, str]) -> bytes:
    """Return the sync marker: from the metadata and not by chance, so equal input, equal bytes."""
    return hashlib.blake2b(json.dumps(entries).encode(), digest_size=16).digest()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: the file cannot be written: {error.strerror}",
        "give a path in a folder that exists, with room and the right to write there",
    )
