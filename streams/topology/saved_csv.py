"""Properties of tables that sqlcmd, SSMS or Excel have saved as text."""

from __future__ import annotations

from collections.abc import Collection

_DELIMITERS = ",;\t|"


def delimiter_of(header: str, known: Collection[str]) -> str:
    """Return the delimiter that yields the most known columns, or else the most words."""

    def found(delimiter: str) -> tuple[int, int]:
        words = [word.strip().strip('"').casefold() for word in header.strip().split(delimiter)]
        return sum(word in known for word in words), len(words)

    return max(_DELIMITERS, key=found)


def is_ruled(cells: list[str]) -> bool:
    """Return whether a line is empty, or is sqlcmd's rule of dashes or its row count."""
    text = "".join(cells).strip()
    return not text.strip("-") or (len(cells) == 1 and text.startswith("(") and text.endswith(")"))
