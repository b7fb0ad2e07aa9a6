"""Group the parts of dialogs in memory, and on disk if they exceed the budget."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

from streams.report.parts import Kept, Part

BUDGET = 512 << 20
"""Bytes of parts that are in memory: those of about half a million records."""
_PART = 1_000
"""Bytes that a part takes, Python's own objects included, without the state that it holds."""
_FILES = 64
"""Number of files into which excess records are split by dialog; one is in memory at a time."""

_Grouped = defaultdict[bytes, list[Part]]


class Dialogs(AbstractContextManager["Dialogs"]):
    """Groups parts by dialog; its temporary files are removed when the ``with`` block ends."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._budget, self._size = budget, 0
        self._parts = _Grouped(list)
        self._folder: TemporaryDirectory[str] | None = None

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, dialog: bytes, part: Part) -> None:
        """Take a part of a dialog."""
        self._parts[dialog].append(part)
        self._size += _PART
        if isinstance(part, Kept) and part.value is not None:
            self._size += len(part.value)
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
            files[crc32(dialog) % _FILES].append(dialog)
        for number, dialogs in files.items():
            with (Path(self._folder.name) / f"{number:02}").open("ab") as file:
                for dialog in dialogs:
                    pickle.dump((dialog, self._parts[dialog]), file, pickle.HIGHEST_PROTOCOL)
        self._parts, self._size = _Grouped(list), 0


def _read(path: Path) -> _Grouped:
    """Read a file of ours back; its folder is private."""
    found = _Grouped(list)
    with path.open("rb") as file:
        while file.peek(1):
            dialog, parts = pickle.load(file)
            found[dialog] += parts
    return found
