"""Windows of the store, put together to as many points as a chart has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

POINTS = 120
WINDOW = 10_000
"""How long a window is where there is none to look at."""


class Windowed(Protocol):
    """A row that is about a window."""

    @property
    def window_start(self) -> int:
        """Return its beginning, epoch milliseconds."""

    @property
    def window_end(self) -> int:
        """Return its end."""


Row = TypeVar("Row", bound=Windowed)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Buckets:
    """Stretches of time of one length, each of whole windows; epoch milliseconds.

    ``first`` is where the first one begins, ``complete`` how many are over: the one that is being
    filled tells too little of anything.
    """

    first: int
    width: int
    count: int
    complete: int

    @property
    def starts(self) -> tuple[int, ...]:
        """Return when each begins."""
        return tuple(self.first + number * self.width for number in range(self.complete))

    def sort(self, rows: Iterable[Row]) -> tuple[tuple[Row, ...], ...]:
        """Return the rows of each that is over."""
        found: list[list[Row]] = [[] for _ in range(self.complete)]
        for row in rows:
            number = (row.window_start - self.first) // self.width
            if 0 <= number < self.complete:
                found[number].append(row)
        return tuple(tuple(each) for each in found)

    def per_second(self, rows: Iterable[Row], count: Callable[[Row], int]) -> tuple[float, ...]:
        """Return how many there were in a second, for each that is over."""
        seconds = self.width / 1_000
        return tuple(sum(map(count, each)) / seconds for each in self.sort(rows))


def buckets_of(since: int, until: int, as_of: int | None, window: int = WINDOW) -> Buckets:
    """Divide a stretch of time; what is behind ``as_of`` is not known yet."""
    width = window
    while (until - since) / width > POINTS:
        width = _wider(width, window)
    first = since // width * width
    count = max(1, -(-(until - first) // width))
    known = until if as_of is None else min(until, as_of)
    return Buckets(first, width, count, max(0, min(count, (known - first) // width)))


def _wider(width: int, window: int) -> int:
    """Return the next length that people count in and that is made of whole windows."""
    for step in _STEPS:
        if step > width and step % window == 0:
            return step
    return width * 2


_STEPS = tuple(
    1_000 * seconds
    for seconds in (10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)
)


def window_of(rows: Sequence[Windowed]) -> int:
    """Return how long windows are, those that are put together of others if there are any."""
    return max((row.window_end - row.window_start for row in rows), default=WINDOW)
