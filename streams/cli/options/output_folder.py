"""A command's output folder: the user's files are never overwritten unless requested."""

from __future__ import annotations

from pathlib import Path

from streams.errors import UsageError


def output_folder(path: Path, *, force: bool) -> None:
    """Create a folder; raise UsageError if it is a file, or not empty and not ``force``."""
    ensure_usable(path, force=force)
    path.mkdir(parents=True, exist_ok=True)


def ensure_usable(path: Path, *, force: bool) -> None:
    """Raise UsageError unless a folder is new or empty, or writing to it is forced."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is not a folder.", "Give a folder.")
    if not force and path.is_dir() and any(path.iterdir()):
        raise UsageError(f"The folder {path} is not empty.", "Choose another one, or use --force.")


def write_text(path: Path, text: str) -> None:
    """Write a string as UTF-8, with a line feed after each line on every platform.

    A script that is not ASCII gets a byte order mark, which lets SQL Server's tools detect UTF-8.
    """
    marked = path.suffix == ".sql" and not text.isascii()
    # A lone surrogate, which UTF-8 cannot encode, becomes a question mark.
    data = text.encode("utf-8-sig" if marked else "utf-8", "replace")
    path.write_bytes(data)
