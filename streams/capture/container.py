"""Read captures: a container file, or a folder of container files with a manifest.

Only one block is in memory, regardless of the capture's size. At a damaged block, the reader stops
and reports the place. In salvage mode, it continues after the damage and counts the lost records.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from streams.capture.blocks import Damage
from streams.capture.manifest import MANIFEST, Part, digest, read_manifest
from streams.capture.one_file import DAMAGED, read_header, records_of, salvaged
from streams.capture.record import Counts, Metadata, Record
from streams.capture.writer import CaptureWriter
from streams.errors import InputError
from streams.wire import MalformedError
from streams.wire.evolution import learn_schemas

__all__ = ["CaptureReader", "CaptureWriter", "Loss", "readers_of"]


class Loss(NamedTuple):
    """The skipped part of a file: some bytes, or the whole file."""

    file: Path
    damage: Damage


class CaptureReader:
    """Read a capture any number of times; each iteration starts at the first record.

    ``counts`` is None if the writer did not finish; such a file is read to its end. Raises
    InputError, here or during iteration, unless the capture is complete. With ``salvage``, an
    iteration skips damage; ``losses`` and ``lost`` report what was skipped.
    """

    def __init__(self, path: str | os.PathLike[str], *, salvage: bool = False) -> None:
        self.path = Path(path)
        self.losses: list[Loss] = []
        self._salvage, self._read = salvage, 0
        self.metadata: Metadata
        self.counts: Counts | None
        if (self.path / MANIFEST).exists():
            manifest = read_manifest(self.path)
            self.metadata, self.counts = manifest.metadata, manifest.counts
            self._parts: tuple[Part | None, ...] = manifest.parts
        else:
            self.metadata, self.counts, *_ = read_header(self.path)
            self._parts = (None,)
        self._learn()

    def _learn(self) -> None:
        """Register the schemas of the capture's writers in this process."""
        try:
            learn_schemas(self.metadata.schemas)
        except MalformedError as error:
            raise InputError(
                f"The capture has an invalid schema: {error}.",
                file=str(self.path), remedy=DAMAGED,
            ) from error  # fmt: skip

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the container files of the capture."""
        return tuple(self.path if part is None else self.path / part.file for part in self._parts)

    @property
    def lost(self) -> int | None:
        """Return the number of records that the last iteration could not read; None if unknown."""
        if self.counts is not None:
            return self.counts.records - self._read
        known = [loss.damage.records for loss in self.losses]
        return None if None in known else sum(n for n in known if n is not None)

    def __iter__(self) -> Iterator[Record]:
        self.losses, self._read = [], 0
        for file, part in zip(self.files, self._parts, strict=True):
            found = self._salvaged(file) if self._salvage else _whole(file, part)
            for record in found:
                self._read += 1
                yield record
        if self._salvage and self.lost and not self.losses:  # the file was cut between two blocks
            why = "it ends before its last record"
            size = self.files[-1].stat().st_size
            self.losses.append(Loss(self.files[-1], Damage(size, size, why, self.lost)))

    def _salvaged(self, file: Path) -> Iterator[Record]:
        try:
            header = read_header(file)
        except InputError as error:
            self.losses.append(Loss(file, Damage(0, 0, error.message)))
            return
        for found in salvaged(file, header):
            if isinstance(found, Record):
                yield found
            else:
                self.losses.append(Loss(file, found))


def readers_of(paths: Iterable[Path]) -> list[CaptureReader]:
    """Return a reader for each container file of some captures, for engines that read files."""
    return [CaptureReader(file) for path in paths for file in CaptureReader(path).files]


def _whole(file: Path, part: Part | None) -> Iterator[Record]:
    header = read_header(file)
    if part is not None and digest(file) != part.sha256:
        raise InputError(
            "The file does not match the manifest: its checksum differs.",
            file=str(file), remedy=f"{DAMAGED} Or read it with --salvage.",
        )  # fmt: skip
    return records_of(file, header)
