"""Captures in several files: a folder of containers, and a manifest that says what they are.

A capture that grows, from Kafka say, is split by size: a part that is complete is never touched
again, and the manifest is replaced, never rewritten in place. So after a crash the capture is what
the manifest says, and ``positions`` where to go on; a file that ends in ``.part`` is rubbish.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from streams.capture.record import Counts, Kind, Metadata, Record
from streams.capture.writer import CaptureWriter
from streams.errors import InputError, UsageError

MANIFEST = "manifest.json"
_MARK, _VERSION = "hopline_capture", 1
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the capture: its name, what is in it, its bytes and their SHA-256 in hex."""

    file: str
    counts: Counts
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder holds. ``positions``: by topic and partition, the offset behind the last one.

    ``complete`` is false while somebody still writes, or after he was interrupted.
    """

    metadata: Metadata
    parts: tuple[Part, ...] = ()
    positions: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    complete: bool = False

    @property
    def counts(self) -> Counts | None:
        """Return what all parts hold together; None for a capture that is not complete."""
        return _sum(self.parts) if self.complete else None


def _sum(parts: tuple[Part, ...]) -> Counts:
    timed = [part.counts for part in parts if part.counts.first >= 0]
    return Counts(
        sum(part.counts.records for part in parts),
        sum(part.counts.body_bytes for part in parts),
        min((counts.first for counts in timed), default=-1),
        max((counts.last for counts in timed), default=-1),
    )


class CaptureFolder:
    """Write a capture as a folder; a new part begins behind ``split`` bytes of records.

    ``resume``: go on with what a former writer has left there; ``positions`` says from where. As a
    context manager it completes the capture unless it is left by an exception; what was complete by
    then stays. Raises UsageError for a folder that holds something, and where nothing can be
    written; InputError for a manifest that cannot be read.
    """

    def __init__(
        self, path: str | os.PathLike[str], metadata: Metadata, split: int, *, resume: bool = False
    ) -> None:
        self.path = Path(path)
        self._split, self._bytes = split, 0
        self._metadata = metadata
        self._parts: tuple[Part, ...] = ()
        self.positions: dict[str, dict[int, int]] = {}
        """By topic and partition, the offset behind the last record that is in a complete part or
        was written since."""
        self._writer: CaptureWriter | None = None
        if resume and (self.path / MANIFEST).exists():
            self._take_up(read_manifest(self.path))
        else:
            _make(self.path)
        self._note(complete=False)

    def _take_up(self, manifest: Manifest) -> None:
        self._metadata, self._parts = manifest.metadata, manifest.parts
        self.positions = {topic: dict(of) for topic, of in manifest.positions.items()}

    @property
    def counts(self) -> Counts:
        """Return what was written so far, by former writers too."""
        current = self._writer
        held = () if current is None else (Part("", current.counts, 0, ""),)
        return _sum((*self._parts, *held))

    def write(self, record: Record) -> None:
        """Append one record."""
        if self._writer is None:
            name = f"part-{len(self._parts) + 1:05}.avro"
            self._writer, self._bytes = CaptureWriter(self.path / name, self._metadata), 0
        self._writer.write(record)
        self.positions.setdefault(record.topic, {})[record.partition] = record.offset + 1
        self._bytes += len(record.value or b"") + len(record.key or b"") + 100
        self._bytes += sum(len(name) + len(value or b"") for name, value in record.headers)
        if self._bytes >= self._split:
            self.finish_part()

    def finish_part(self) -> None:
        """Complete the part at hand, so that whoever goes on begins behind it."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()
            size = writer.path.stat().st_size
            part = Part(writer.path.name, writer.counts, size, digest(writer.path))
            self._parts = (*self._parts, part)
        self._note(complete=False)

    def close(self) -> None:
        """Complete the capture."""
        self.finish_part()
        self._note(complete=True)

    def _note(self, *, complete: bool) -> None:
        manifest = Manifest(self._metadata, self._parts, self.positions, complete)
        path = self.path / MANIFEST
        try:
            draft = path.with_name(MANIFEST + ".part")
            draft.write_text(json.dumps(_encoded(manifest), indent=2) + "\n", encoding="utf-8")
            os.replace(draft, path)
        except OSError as error:
            raise UsageError(
                f"{path}: the file cannot be written: {error.strerror}",
                "Give a folder with room and the right to write there.",
            ) from error

    def __enter__(self) -> CaptureFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        elif self._writer is not None:
            self._writer.__exit__(kind, error, trace)


def _make(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} holds something already", "Name a new or an empty folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: the folder cannot be made: {error.strerror}", "Name another one."
        ) from error


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest; raises InputError where it is none."""
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found[_MARK] != _VERSION:
            raise ValueError(f"its version is {found[_MARK]!r}, and {_VERSION} is known")
        return _decoded(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(
            f"the manifest cannot be read: {said}", file=str(path),
            remedy="Copy it again, or read the parts one by one.",
        ) from error  # fmt: skip


def _encoded(manifest: Manifest) -> dict[str, Any]:
    return {
        _MARK: _VERSION,
        **asdict(manifest.metadata),
        "kind": manifest.metadata.kind.value,
        "complete": manifest.complete,
        "parts": [
            {"file": p.file, **asdict(p.counts), "size": p.size, "sha256": p.sha256}
            for p in manifest.parts
        ],
        "positions": {
            topic: {str(partition): offset for partition, offset in of.items()}
            for topic, of in manifest.positions.items()
        },
    }


def _decoded(found: Mapping[str, Any]) -> Manifest:
    metadata = Metadata(
        Kind(found["kind"]), str(found["prefix"]), str(found["topology"]), int(found["created"])
    )
    parts = tuple(
        Part(
            _plain(part["file"]),
            Counts(*(int(part[name]) for name in Counts.__slots__)),
            int(part["size"]),
            str(part["sha256"]),
        )
        for part in found["parts"]
    )
    positions = {
        str(topic): {int(partition): int(offset) for partition, offset in of.items()}
        for topic, of in found["positions"].items()
    }
    return Manifest(metadata, parts, positions, bool(found["complete"]))


def _plain(name: Any) -> str:
    """Return a part's name, which is one of a file right in the folder and nowhere else."""
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is no name of a part")
    return name
