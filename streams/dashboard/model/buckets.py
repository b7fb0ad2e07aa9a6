"""Merge windows of the store into the number of points for which a chart has room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

POINTS = 120
WINDOW = 10_000
"""The default length of a window."""
LAGS = 15_000
"""Milliseconds that a query may be behind the end of a range without a notice."""


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

    ``first`` is the start of the first range, and ``complete`` the number of ranges that are over
    and that the chart's query has read. The ``begun`` first ranges (0 or 1) began before the
    period, so they lack windows. ``unread``: the query has read only up to this time, which is long
    before the end; 0 if it has never read all records.
    """

    first: int
    width: int
    count: int
    complete: int
    begun: int = 0
    unread: int | None = None

    @property
    def end(self) -> int:
        """Return the end of the last range."""
        return self.first + self.count * self.width

    @property
    def drawn(self) -> range:
        """Return the numbers of the ranges with all of their windows."""
        return range(self.begun, max(self.begun, self.complete))

    @property
    def starts(self) -> tuple[int, ...]:
        """Return the start of each drawn range."""
        return tuple(self.first + number * self.width for number in self.drawn)

    def sort(self, rows: Iterable[Row]) -> tuple[tuple[Row, ...], ...]:
        """Return the rows of each drawn range."""
        found: dict[int, list[Row]] = {number: [] for number in self.drawn}
        for row in rows:
            number = (row.window_start - self.first) // self.width
            if number in found:
                found[number].append(row)
        return tuple(map(tuple, found.values()))

    def per_second(self, rows: Iterable[Row], count: Callable[[Row], int]) -> tuple[float, ...]:
        """Return the rate per second for each drawn range."""
        seconds = self.width / 1_000
        return tuple(sum(map(count, each)) / seconds for each in self.sort(rows))


def buckets_of(since: int, until: int, read_to: int | None, window: int = WINDOW) -> Buckets:
    """Divide a time range; the query of the figures has read all records up to ``read_to``.

    None: everything has been read. 0: the query has never read all records.
    """
    width = window
    while (until - since) / width > POINTS:
        width = _wider(width, window)
    first = since // width * width
    count = max(1, -(-(until - first) // width))
    known = until if read_to is None else min(until, read_to)
    complete = max(0, min(count, (known - first) // width))
    unread = known if until - known > LAGS else None
    return Buckets(first, width, count, complete, int(first < since), unread)


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
