"""Read the lines of a file in any encoding."""

from __future__ import annotations

from pathlib import Path

from streams.topology.decode import decode


def read_lines(path: Path) -> list[str]:
    """Return a file's lines without line endings; only CR and LF end a line."""
    text, _ = decode(path.read_bytes())
    return lines_of(text)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without line endings; only CR and LF end a line."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
