"""The folder that a command writes: never over what somebody has in it, unless asked to."""

from __future__ import annotations

from pathlib import Path

from streams.errors import UsageError


def output_folder(path: Path, *, force: bool) -> None:
    """Make a folder; raise UsageError where it is a file, or not empty and not ``force``."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is no folder", "Name a folder.")
    if not force and path.is_dir() and any(path.iterdir()):
        raise UsageError(f"the folder {path} is not empty", "Name another one, or give --force.")
    path.mkdir(parents=True, exist_ok=True)
