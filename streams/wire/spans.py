"""Positions in a partition as a short text, such as ``12-15 20``.

A forwarder stores the offsets of its buffered copies with its committed offset, so that a view can
show them. Kafka limits this metadata to 4,096 characters.
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 4_000
_END = 2**63 - 1
"""Offsets are below this value in any log."""


def spans_of(offsets: Iterable[int]) -> str:
    """Return the positions as text; omit positions that do not fit."""
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
    """Return the positions in a text; the result is empty if Hopline has not written the text.

    In a valid text, offsets ascend, and spans do not overlap.
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
