"""One container file of a capture: its header, blocks and errors."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import fastavro
from fastavro.schema import to_parsing_canonical_form

from streams.capture.blocks import MARKER, Blocks, Damage, DamageError
from streams.capture.record import CaptureOrigin, Counts, Metadata, Record, TimestampType
from streams.errors import InputError
from streams.schema import load
from streams.schema.bounded import is_bounded

_SCHEMA = "CapturedRecord"
_MAGIC = b"Obj\x01"
NO_CAPTURE = "Give a file written by `hopline generate traffic` or `hopline capture`."
DAMAGED = "The file is damaged or incomplete. Copy, capture or generate it again."
_AROUND = f"{DAMAGED} `hopline inspect --salvage` reads the undamaged blocks."


class Header(NamedTuple):
    """The header of a file; ``end`` is the offset of the first byte after it."""

    metadata: Metadata
    counts: Counts | None
    end: int
    marker: bytes
    codec: str
    schema: Any


def read_header(path: Path) -> Header:
    """Read a file's header; raise InputError if it is not a capture."""
    with _open(path) as file:
        container = _container(path, file)
        end = file.tell()
        file.seek(end - MARKER)
        marker = file.read(MARKER)
    entries: Mapping[str, str] = container.metadata
    counts = _counts(path, entries.get("hopline.counts", ""))
    codec = str(container.codec)
    return Header(_metadata(path, entries), counts, end, marker, codec, container.writer_schema)


def records_of(path: Path, header: Header) -> Iterator[Record]:
    """Yield a file's records; raise InputError if a record is unreadable or records are missing."""
    number = 0
    with _open(path) as file:
        try:
            for _, fields in _blocks(file, header):
                for one in fields:
                    number += 1
                    yield _record(one)
        except (DamageError, ValueError, KeyError, TypeError) as error:
            at = f", in the block at byte {error.at:,}" if isinstance(error, DamageError) else ""
            raise InputError(
                f"Record {number + 1} cannot be read{at}: {error}.", file=str(path), remedy=_AROUND
            ) from error
    if header.counts is not None and number != header.counts.records:
        raise InputError(
            f"The file ends after record {number}; its header states {header.counts.records}.",
            file=str(path), remedy=_AROUND,
        )  # fmt: skip


def salvaged(path: Path, header: Header) -> Iterator[Record | Damage]:
    """Yield every readable record, and the damage between records."""
    with _open(path) as file:
        for found in _blocks(file, header).salvaged():
            if isinstance(found, Damage):
                yield found
                continue
            block, fields = found
            for one in fields:
                try:
                    yield _record(one)
                except (ValueError, KeyError, TypeError) as error:
                    yield Damage(block.at, block.at, error_text(error), 1)


def _open(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise InputError(
            f"The capture cannot be opened: {error.strerror}.", file=str(path), remedy=NO_CAPTURE
        ) from error


def _blocks(file: IO[bytes], header: Header) -> Blocks:
    ours = load(_SCHEMA)
    same = to_parsing_canonical_form(header.schema) == to_parsing_canonical_form(ours)
    # With a second schema, even with an equal one, reading takes twice as long.
    wanted = None if same else ours
    return Blocks(file, header.end, header.marker, header.codec, header.schema, wanted)


def _container(path: Path, file: IO[bytes]) -> Any:
    if file.read(len(_MAGIC)) != _MAGIC:
        raise InputError("This is not an Avro file.", file=str(path), remedy=NO_CAPTURE)
    file.seek(0)
    try:
        container = fastavro.reader(_Bounded(file), load(_SCHEMA))  # type: ignore[arg-type]
        name = getattr(container.writer_schema, "get", lambda _: None)("name")
    except Exception as error:  # the decoder may raise any exception for a damaged header
        raise InputError(
            f"The file's header cannot be read: {error_text(error)}.",
            file=str(path),
            remedy=DAMAGED,
        ) from error
    if name != f"hopline.capture.{_SCHEMA}":
        raise InputError(
            f"The file has records of {name!r}, not of a capture.",
            file=str(path), remedy=NO_CAPTURE,
        )  # fmt: skip
    if not is_bounded(container.writer_schema, skips=True):
        raise InputError(
            "The file's schema allows a few bytes to decode to billions of values, or to endless "
            "nesting.",
            file=str(path), remedy=NO_CAPTURE,
        )  # fmt: skip
    return container


def _metadata(path: Path, entries: Mapping[str, str]) -> Metadata:
    try:
        return Metadata(
            CaptureOrigin(entries["hopline.kind"]),
            entries["hopline.prefix"],
            entries["hopline.topology"],
            int(entries["hopline.created"]),
            schemas_in(json.loads(entries.get("hopline.schemas", "[]"))),
        )
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"The file's metadata is not that of a capture: {error_text(error)}.",
            file=str(path), remedy=NO_CAPTURE,
        ) from error  # fmt: skip


def schemas_in(found: Any) -> tuple[str, ...]:
    """Return schemas from decoded JSON; raise ValueError if invalid."""
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError("the schemas are not a list of strings")
    return tuple(found)


def _counts(path: Path, text: str) -> Counts | None:
    if not text.strip():
        return None
    try:
        return Counts(**{name: int(value) for name, value in json.loads(text).items()})
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(
            f"The file's counts cannot be read: {error_text(error)}.",
            file=str(path),
            remedy=DAMAGED,
        ) from error


class _Bounded:
    """A file that limits allocations to its size, because damaged lengths may claim exabytes."""

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


def error_text(error: BaseException) -> str:
    """Return an error's class and text."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
