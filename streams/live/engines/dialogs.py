"""Group the parts of dialogs in memory, and on disk if they exceed the budget."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

from streams.protocol import Cause
from streams.report.parts import Began, Ended, Kept, Part, Queued, Sent

BUDGET = 512 << 20
"""Maximum size in bytes of parts in memory: the parts of about half a million records."""
_PART, _VISIT = 1_000, 200
"""Estimated bytes per part, and per visit on its path, including Python's own objects."""
_FILES = 64
"""Number of files into which excess records are split by dialog; one file is loaded at a time."""

_Grouped = defaultdict[bytes, list[Part]]


class Dialogs(AbstractContextManager["Dialogs"]):
    """Group parts by dialog; temporary files are removed when the ``with`` block ends."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget, self._size = budget, 0
        self._parts = _Grouped(list)
        self._folder: TemporaryDirectory[str] | None = None

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, dialog: bytes, part: Part) -> None:
        """Add a part of a dialog."""
        self._parts[dialog].append(part)
        self._size += _size(part)
        if self._size > self._budget:
            self._write()

    def grouped(self) -> Iterator[tuple[bytes, list[Part]]]:
        """Yield every dialog once, with all of its parts."""
        if self._folder is None:
            yield from self._parts.items()
            return
        self._write()
        for file in sorted(Path(self._folder.name).iterdir()):
            yield from _read(file).items()

    def _write(self) -> None:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="hopline-verify-")
        files: defaultdict[int, list[bytes]] = defaultdict(list)
        for dialog in self._parts:
            # Applications choose ids. Python's hash is keyed, so chosen ids do not all share a
            # file.
            files[hash(dialog) % _FILES].append(dialog)
        for number, dialogs in files.items():
            with (Path(self._folder.name) / f"{number:02}").open("ab") as file:
                for dialog in dialogs:
                    pickle.dump((dialog, self._parts[dialog]), file, pickle.HIGHEST_PROTOCOL)
        self._parts, self._size = _Grouped(list), 0


def _size(part: Part) -> int:
    match part:
        case Kept(value=bytes(value)):
            return _PART + len(value)
        case Sent(cause=Cause(source)) | Ended(cause=Cause(source)):
            return _PART + len(source.application) + len(source.agent)
        case Queued(path=path):
            return _PART + _VISIT * len(path)
        case Began(job=job):
            return _PART + len(job)
    return _PART


def _read(path: Path) -> _Grouped:
    """Read back one of the temporary files, whose folder is private."""
    found = _Grouped(list)
    with path.open("rb") as file:
        while file.peek(1):
            dialog, parts = pickle.load(file)
            found[dialog] += parts
    return found
