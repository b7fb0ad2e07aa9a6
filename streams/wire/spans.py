"""Positions in a partition as a short text, such as ``12-15 20``.

A forwarder notes beside its committed position what it holds in memory, so that a view can show it.
Kafka keeps up to 4,096 characters of a note.
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 4_000


def spans_of(offsets: Iterable[int]) -> str:
    """Return a text of the positions; what does not fit into it is left out."""
    parts: list[str] = []
    length = 0
    for first, last in _runs(sorted(offsets)):
        part = str(first) if first == last else f"{first}-{last}"
        length += len(part) + 1
        if length > LONGEST:
            break
        parts.append(part)
    return " ".join(parts)


def spans_in(text: str | None) -> tuple[range, ...]:
    """Return the positions of a text; nothing of one that somebody else has written."""
    parts = [part.partition("-") for part in (text or "").split()]
    try:
        return tuple(range(int(first), int(last or first) + 1) for first, _, last in parts)
    except ValueError:
        return ()


def _runs(offsets: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for offset in offsets:
        if runs and offset <= runs[-1][1] + 1:
            runs[-1] = runs[-1][0], offset
        else:
            runs.append((offset, offset))
    return runs
