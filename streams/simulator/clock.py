"""Virtual time: events are ordered by time, and events with the same time by ticket.

Time is whole microseconds from 0. Neither this module nor its callers read a real clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from streams import chance

MILLISECOND = 1_000
SECOND = 1_000_000
START = 1_767_225_600_000
"""The time that a clock without skew shows at 0: 2026-01-01T00:00:00Z in epoch milliseconds."""


class Clock:
    """The event queue; :attr:`now` moves only from one event to the next.

    :attr:`passed` counts the events.
    """

    def __init__(self) -> None:
        self.now = 0
        self.passed = 0
        self._events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._ticket = 0

    def at(self, instant: int, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` at a given time; a time in the past means now."""
        self._ticket += 1
        heapq.heappush(self._events, (max(instant, self.now), self._ticket, action, args))

    def step(self, until: int) -> bool:
        """Run the next event; return ``False`` if there is no event up to ``until``."""
        if not self._events or self._events[0][0] > until:
            self.now = max(self.now, until)
            return False
        self.now, _, action, args = heapq.heappop(self._events)
        self.passed += 1
        action(*args)
        return True


class Alarm:
    """One scheduled call; an earlier time replaces a later time."""

    __slots__ = ("_action", "_at", "_clock")

    def __init__(self, clock: Clock, action: Callable[[], None]) -> None:
        self._clock = clock
        self._action = action
        self._at: int | None = None

    def set(self, instant: int) -> None:
        """Schedule the call, unless it is already scheduled at or before ``instant``."""
        instant = max(instant, self._clock.now)
        if self._at is None or instant < self._at:
            self._at = instant
            self._clock.at(instant, self._ring, instant)

    def clear(self) -> None:
        """Cancel the call."""
        self._at = None

    def _ring(self, instant: int) -> None:
        if self._at == instant:
            self._at = None
            self._action()


class Chance(chance.Chance):
    """Seeded random numbers for one consumer, named ``stream``.

    An additional draw by one consumer changes nothing for other consumers. So a shortened scenario
    behaves similarly.
    """

    def __init__(self, seed: int, stream: str) -> None:
        super().__init__(f"{seed}/{stream}")

    def happens(self, probability: float) -> bool:
        """Return true with this probability; for 0 and 1, no number is drawn."""
        return probability > 0 and self._random() < probability
