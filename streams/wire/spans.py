"""Positions in a partition as a short text, such as ``12-15 20``.

A forwarder notes beside its committed position what it holds in memory, so that a view can show it.
Kafka keeps up to 4,096 characters of a note.
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 4_000
_END = 2**63 - 1
"""No log goes so far."""


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
    """Return the positions of a text; nothing of one that somebody else has written.

    Ours has positions of a log, and rises: no position is in two of its spans.
    """
    parts = [part.partition("-") for part in (text or "").split()]
    try:
        spans = tuple(range(int(first), int(last or first) + 1) for first, _, last in parts)
    except ValueError:
        return ()
    ends = [0, *(span.stop for span in spans)]
    rises = all(end <= span.start < span.stop for end, span in zip(ends, spans, strict=False))
    return spans if rises and ends[-1] <= _END else ()


def _runs(offsets: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for offset in offsets:
        if runs and offset <= runs[-1][1] + 1:
            runs[-1] = runs[-1][0], offset
        else:
            runs.append((offset, offset))
    return runs
