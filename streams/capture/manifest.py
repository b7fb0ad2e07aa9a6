"""The manifest of a capture in several files: its parts, and their source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from streams.capture.record import CaptureOrigin, Counts, Metadata
from streams.errors import InputError

MANIFEST = "manifest.json"
_MARK, _VERSION = "hopline_capture", 1
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the capture: its name, counts, bytes and SHA-256 in hex."""

    file: str
    counts: Counts
    size: int
    sha256: str


Positions = Mapping[str, Mapping[int, int]]
"""Offsets by topic and partition."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Deleted offsets of a partition that were not read: ``begin`` up to ``end``."""

    topic: str
    partition: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Recording:
    """The source of a recording in Kafka; a resumed recording must have the same source.

    ``asked`` contains the command's arguments, ``topics`` Kafka's ids of the topics, by name.
    """

    cluster: str
    asked: Mapping[str, str]
    topics: Mapping[str, str]
    begins: Positions
    ends: Positions | None = None
    """The end offsets, exclusive; None if the partitions are followed until the recording stops."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a folder. ``positions`` contains the next offset by topic and partition.

    ``complete`` is false while the capture is being written, or after an interruption.
    ``recording`` is missing if the capture is not from Kafka.
    """

    metadata: Metadata
    parts: tuple[Part, ...] = ()
    positions: Positions = field(default_factory=dict)
    complete: bool = False
    recording: Recording | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def counts(self) -> Counts | None:
        """Return the counts of all parts, or None for an incomplete capture."""
        return total(self.parts) if self.complete else None


def total(parts: Iterable[Part]) -> Counts:
    """Return the sum of the parts' counts."""
    return sum((part.counts for part in parts), Counts())


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest; raise InputError for any other file."""
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found[_MARK] != _VERSION:
            raise ValueError(f"its version is {found[_MARK]!r}; supported is {_VERSION}")
        return _decoded(found)
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError
    ) as error:  # fmt: skip
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(
            f"The manifest cannot be read: {reason}.", file=str(path),
            remedy="Copy it again, or read each part separately.",
        ) from error  # fmt: skip


def encoded(manifest: Manifest) -> str:
    """Return the manifest's text."""
    found: dict[str, Any] = {
        _MARK: _VERSION,
        **asdict(manifest.metadata),
        "kind": manifest.metadata.kind.value,
        "complete": manifest.complete,
        "parts": [
            {"file": p.file, **asdict(p.counts), "size": p.size, "sha256": p.sha256}
            for p in manifest.parts
        ],
        "positions": manifest.positions,
        "gaps": [asdict(gap) for gap in manifest.gaps],
    }
    if manifest.recording is not None:
        found["recording"] = asdict(manifest.recording)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _decoded(found: Mapping[str, Any]) -> Manifest:
    metadata = Metadata(
        CaptureOrigin(found["kind"]), str(found["prefix"]), str(found["topology"]),
        int(found["created"]), tuple(map(str, found.get("schemas", ()))),
    )  # fmt: skip
    parts = tuple(
        Part(
            _plain(part["file"]),
            Counts(*(int(part[name]) for name in Counts.__slots__)),
            int(part["size"]),
            str(part["sha256"]),
        )
        for part in found["parts"]
    )
    gaps = tuple(
        Gap(str(gap["topic"]), int(gap["partition"]), int(gap["begin"]), int(gap["end"]))
        for gap in found.get("gaps", ())
    )
    recording = found.get("recording")
    return Manifest(
        metadata, parts, _positions(found["positions"]), bool(found["complete"]),
        None if recording is None else _recording(recording), gaps,
    )  # fmt: skip


def _recording(found: Mapping[str, Any]) -> Recording:
    ends = found["ends"]
    return Recording(
        str(found["cluster"]),
        {str(name): str(value) for name, value in found["asked"].items()},
        {str(name): str(value) for name, value in found["topics"].items()},
        _positions(found["begins"]),
        None if ends is None else _positions(ends),
    )


def _positions(found: Mapping[str, Any]) -> Positions:
    return {
        str(topic): {int(partition): int(offset) for partition, offset in of.items()}
        for topic, of in found.items()
    }


def _plain(name: Any) -> str:
    """Return a part's name, which must be that of a file directly in the folder."""
    # No file system allows names with null characters or without a UTF-8 form.
    if not isinstance(name, str) or not name.isprintable():
        raise ValueError(f"{name!r} is not a part's name")
    if Path(name).name != name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not a part's name")
    return name
