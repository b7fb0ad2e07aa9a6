"""Write a capture as a folder of containers with a manifest.

A growing capture, such as one from Kafka, is split by size. A complete part is never changed, and
the manifest is replaced, never rewritten in place. So after a crash the capture consists of the
parts in the manifest, and a writer continues at ``positions``; a file whose name ends in ``.part``
is discarded.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO

from streams.capture.batch import Batch, batch_of
from streams.capture.codec import Codec
from streams.capture.manifest import (
    MANIFEST,
    Gap,
    Manifest,
    Part,
    Recording,
    digest,
    encoded,
    read_manifest,
    total,
)
from streams.capture.record import Counts, Metadata, Record
from streams.capture.writer import CaptureWriter
from streams.errors import UsageError
from streams.private import make_folder, open_private

_LOCK = ".lock"


class CaptureFolder:
    """Write a capture as a folder; a new part begins after ``split`` bytes of records.

    ``resume``: continue after a previous writer at the offsets in ``positions``. As a context
    manager, the writer completes the capture unless an exception occurs; complete parts are kept.
    ``recording`` is written to the manifest; ``codec`` is the compression of parts. Raises
    UsageError for a folder that is not empty or not writable; InputError for an unreadable
    manifest.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        metadata: Metadata,
        split: int,
        *,
        resume: bool = False,
        recording: Recording | None = None,
        codec: Codec = Codec.DEFLATE,
    ) -> None:
        self.path = Path(path)
        self._split, self._codec = split, codec
        self._manifest = Manifest(metadata, recording=recording)
        self.positions: dict[str, dict[int, int]] = {}
        """The offset after the last written record, by topic and partition."""
        self._writer: CaptureWriter | None = None
        self._lock: IO[bytes] | None = None
        if resume and (self.path / MANIFEST).exists():
            self._manifest = read_manifest(self.path)
            self._lock = _locked(self.path)
            if recording is not None:
                self._manifest = replace(self._manifest, recording=recording)
            self.positions = {topic: dict(of) for topic, of in self._manifest.positions.items()}
            for rubbish in self.path.glob("*.part"):
                rubbish.unlink(missing_ok=True)
        else:
            _make(self.path)
            self._lock = _locked(self.path)
        self._note(complete=False)

    @property
    def manifest(self) -> Manifest:
        """Return the current manifest."""
        return self._manifest

    @property
    def counts(self) -> Counts:
        """Return the counts so far, including the records of previous writers."""
        so_far = total(self._manifest.parts)
        return so_far if self._writer is None else so_far + self._writer.counts

    def write(self, record: Record) -> None:
        """Append one record."""
        self.write_batch(batch_of((record,)))

    def write_batch(self, batch: Batch) -> None:
        """Append records as one unit."""
        if self._writer is None:
            name = f"part-{len(self._manifest.parts) + 1:05}.avro"
            metadata = self._manifest.metadata
            self._writer = CaptureWriter(self.path / name, metadata, codec=self._codec)
        self._writer.write_batch(batch)
        for (topic, partition), end in batch.ends.items():
            self.positions.setdefault(topic, {})[partition] = end
        if self._writer.size >= self._split:
            self.finish_part()

    def miss(self, gap: Gap) -> None:
        """Note deleted offsets, and continue after them."""
        self.finish_part()
        self.positions.setdefault(gap.topic, {})[gap.partition] = gap.end
        self._manifest = replace(self._manifest, gaps=(*self._manifest.gaps, gap))
        self._note(complete=False)

    def widen(self, recording: Recording) -> None:
        """Extend the recording from now on."""
        self._manifest = replace(self._manifest, recording=recording)
        self.finish_part()  # the manifest's positions refer to complete parts only

    def name_schemas(self, schemas: tuple[str, ...]) -> None:
        """Add schemas that apply from the next part on."""
        metadata = self._manifest.metadata
        both = tuple(dict.fromkeys((*metadata.schemas, *schemas)))
        self._manifest = replace(self._manifest, metadata=replace(metadata, schemas=both))

    def finish_part(self) -> None:
        """Complete the current part, so that a resumed recording begins after it."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()
            size = writer.path.stat().st_size
            part = Part(writer.path.name, writer.counts, size, digest(writer.path))
            self._manifest = replace(self._manifest, parts=(*self._manifest.parts, part))
        self._note(complete=False)

    def close(self) -> None:
        """Complete the capture."""
        self.finish_part()
        self._note(complete=True)
        self._unlock()

    def leave(self) -> None:
        """Close without completing the capture; has no effect on a complete capture."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.leave()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            (self.path / _LOCK).unlink(missing_ok=True)
            self._lock = None

    def _note(self, *, complete: bool) -> None:
        self._manifest = replace(
            self._manifest, positions={t: dict(of) for t, of in self.positions.items()},
            complete=complete,
        )  # fmt: skip
        path = self.path / MANIFEST
        draft = path.with_name(MANIFEST + ".part")
        try:
            with open_private(draft, "w", "utf-8") as file:
                file.write(encoded(self._manifest))
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except OSError as error:
            raise UsageError(
                f"{path}: the file cannot be written: {error.strerror}.",
                "Give a writable folder with enough space.",
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
        else:
            self.leave()


def _make(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(p.name != _LOCK for p in folder.iterdir())):
        raise UsageError(f"{folder} is not empty.", "Give a new or empty folder.")
    try:
        make_folder(folder)
    except OSError as error:
        raise UsageError(
            f"{folder}: the folder cannot be created: {error.strerror}.", "Choose another folder."
        ) from error


def _locked(folder: Path) -> IO[bytes]:
    """Lock the folder until the file is closed; raise UsageError if another process locks it."""
    file = open_private(folder / _LOCK, "wb")
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise UsageError(
                f"{folder}: another process is writing a capture there.", "Choose another folder."
            ) from None
    return file
