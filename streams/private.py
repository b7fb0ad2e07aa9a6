"""Folders and files that only their owner can read, regardless of the umask.

Kafka data, captures and worker logs contain other people's messages. Windows has no file modes, so
a file inherits the rights of its folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, Any

UMASK = -1 if sys.platform == "win32" else 0o077
"""The ``umask`` of ``subprocess.Popen`` for child processes that write such files themselves."""
_FOLDER = 0o777 if sys.platform == "win32" else 0o700
_FILE = 0o666 if sys.platform == "win32" else 0o600


def make_folder(path: Path) -> None:
    """Create a folder and missing parents, accessible only to their owner.

    An existing folder keeps its rights, because its owner has chosen them.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(_FOLDER, exist_ok=True)
    path.mkdir(exist_ok=True)  # raises an error if a file has this name


def open_private(path: Path, mode: str, encoding: str | None = None) -> IO[Any]:
    """Open a file; if this creates the file, only its owner may read it."""
    return open(path, mode, encoding=encoding, opener=_opener)


def write_private(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a text file that only its owner may read."""
    with open_private(path, "w", encoding) as file:
        file.write(text)


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, _FILE)
