"""The timers of a partition's dialogs; finds due timers without scanning all of them."""

from __future__ import annotations

import heapq
from typing import Generic, Protocol, TypeVar


class Timed(Protocol):
    """A key with two times: when it is ``due``, and the time of its valid heap entry."""

    due: int | None
    entered: int | None


K = TypeVar("K", bound=Timed)

NEAR = 3_600_000
"""Timers due in more than this many milliseconds are stored in a drawer, not in the heap."""
_DRAWER = 18
"""A drawer contains the timers of one period of 2**18 milliseconds, about four minutes."""
STALE = 2
"""Maximum number of heap entries per key; with more, rebuilding the heap is cheaper."""
AT_ONCE = 1_000
"""Maximum number of keys per transaction, regardless of how many dialogs are due."""


class Timers(Generic[K]):
    """One time (epoch milliseconds) per key.

    A key is either in the heap, which is ordered, or in a drawer, which is cheaper. Most dialogs
    are due only at the end of their lifetime, up to 68 years ahead. A drawer is opened an hour
    before its time. A key has one valid heap entry, whose time may be earlier than the key's time.
    Acknowledgements postpone the retry without adding an entry; otherwise a dialog would accumulate
    entries. When an entry is reached, it is added again if its key is due later. Other outdated
    entries are dropped when they are reached, or when they make up most of the heap.
    """

    def __init__(self) -> None:
        self._count = 0
        # (when, a unique ticket, key); an entry without a key opens the drawer ~ticket
        self._heap: list[tuple[int, int, K | None]] = []
        self._drawers: dict[int, dict[K, None]] = {}
        self._far = float("inf")  # infinite until the time is set
        self._ticket = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due(self) -> int | None:
        """Return the earliest time at which a key can be due; ``None`` means never."""
        return self._heap[0][0] if self._heap else None

    def advance(self, now: int) -> None:
        """Set the time."""
        self._far = now + NEAR + (1 << _DRAWER)

    def arm(self, key: K, due: int | None) -> None:
        """Set or replace the time of a key; ``None`` means never."""
        before = key.due
        if before == due:
            return
        self._count += (due is not None) - (before is not None)
        key.due = due
        if before is not None:
            number = before >> _DRAWER
            drawer = self._drawers.get(number)
            if drawer is not None:
                drawer.pop(key, None)
                if not drawer:
                    del self._drawers[number]
        if due is None:
            return
        if due < self._far:
            self._push(due, key)
        else:
            self._lay_aside(due, key)

    def take(self, now: int, most: int = AT_ONCE) -> list[K]:
        """Take up to ``most`` due keys, earliest first."""
        self.advance(now)
        keys: list[K] = []
        while self._heap and self._heap[0][0] <= now and len(keys) < most:
            due, number, key = heapq.heappop(self._heap)
            if key is None:
                self._open(~number)
            elif key.entered == due:
                key.entered = None
                if key.due == due:
                    key.due = None
                    self._count -= 1
                    keys.append(key)
                else:
                    self._enter_again(key)
        return keys

    def _enter_again(self, key: K) -> None:
        if key.due is not None and not self._is_aside(key.due, key):
            self._push(key.due, key)

    def _push(self, due: int, key: K) -> None:
        if key.entered is None or due < key.entered:
            key.entered = due
            self._ticket += 1
            self._enter(due, self._ticket, key)

    def _lay_aside(self, due: int, key: K) -> None:
        number = due >> _DRAWER
        drawer = self._drawers.get(number)
        if drawer is not None:
            drawer[key] = None
        else:
            self._drawers[number] = {key: None}
            self._enter(self._opens(number), ~number, None)

    def _enter(self, due: int, ticket: int, key: K | None) -> None:
        heapq.heappush(self._heap, (due, ticket, key))
        # Outdated entries are normally removed only when they are reached.
        if len(self._heap) > 64 + STALE * self._count:
            drawers = [(self._opens(number), ~number, None) for number in self._drawers]
            self._heap = [*drawers, *self._valid()]
            heapq.heapify(self._heap)

    def _valid(self) -> list[tuple[int, int, K]]:
        """Return an entry for each key that needs one, with the time at which the key is due."""
        found = []
        for at, ticket, key in self._heap:
            if key is not None and key.entered == at:
                key.entered = None  # another entry of the key may have the same time
                if key.due is not None and not self._is_aside(key.due, key):
                    found.append((key.due, ticket, key))
        for due, _, key in found:
            key.entered = due
        return found

    def _open(self, number: int) -> None:
        for key in self._drawers.pop(number, ()):
            assert key.due is not None
            self._push(key.due, key)

    def _is_aside(self, due: int, key: K) -> bool:
        return key in self._drawers.get(due >> _DRAWER, ())

    @staticmethod
    def _opens(number: int) -> int:
        return (number << _DRAWER) - NEAR
