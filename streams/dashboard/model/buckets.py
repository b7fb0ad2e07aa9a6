"""Merge windows of the store into the number of points for which a chart has room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

POINTS = 120
WINDOW = 10_000
"""The default length of a window."""


class Windowed(Protocol):
    """A row with the figures of a window."""

    @property
    def window_start(self) -> int:
        """Return the window's start, epoch milliseconds."""

    @property
    def window_end(self) -> int:
        """Return the window's end, epoch milliseconds."""


Row = TypeVar("Row", bound=Windowed)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Buckets:
    """Time ranges of equal length in epoch milliseconds; each consists of whole windows.

    ``first`` is the start of the first range, ``complete`` the number of ranges that are over.
    """

    first: int
    width: int
    count: int
    complete: int

    @property
    def starts(self) -> tuple[int, ...]:
        """Return the start of each range."""
        return tuple(self.first + number * self.width for number in range(self.complete))

    def sort(self, rows: Iterable[Row]) -> tuple[tuple[Row, ...], ...]:
        """Return the rows of each complete range."""
        found: list[list[Row]] = [[] for _ in range(self.complete)]
        for row in rows:
            number = (row.window_start - self.first) // self.width
            if 0 <= number < self.complete:
                found[number].append(row)
        return tuple(tuple(each) for each in found)

    def per_second(self, rows: Iterable[Row], count: Callable[[Row], int]) -> tuple[float, ...]:
        """Return the rate per second for each complete range."""
        seconds = self.width / 1_000
        return tuple(sum(map(count, each)) / seconds for each in self.sort(rows))


def buckets_of(since: int, until: int, as_of: int | None, window: int = WINDOW) -> Buckets:
    """Divide a time range; there are no figures after ``as_of``."""
    width = window
    while (until - since) / width > POINTS:
        width = _wider(width, window)
    first = since // width * width
    count = max(1, -(-(until - first) // width))
    known = until if as_of is None else min(until, as_of)
    return Buckets(first, width, count, max(0, min(count, (known - first) // width)))


def _wider(width: int, window: int) -> int:
    """Return the next usual length that consists of whole windows."""
    for step in _STEPS:
        if step > width and step % window == 0:
            return step
    return width * 2


_STEPS = tuple(
    1_000 * seconds
    for seconds in (10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)
)


def window_of(rows: Sequence[Windowed]) -> int:
    """Return the length of the windows, or of merged windows if the rows include any."""
    return max((row.window_end - row.window_start for row in rows), default=WINDOW)
