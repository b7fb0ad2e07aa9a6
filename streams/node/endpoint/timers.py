"""Timers of a partition's dialogs, without scanning all of them."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

NEAR = 3_600_000
"""Milliseconds: later timers are in a drawer, not in the heap."""
_DRAWER = 18
"""A drawer has the timers of the same 2**18 milliseconds, about four minutes."""
STALE = 2
"""Heap entries per key before a rebuild, which costs less than keeping them."""
AT_ONCE = 1_000
"""Keys taken at a time, so that no transaction grows with the number of dialogs."""


class Timers(Generic[K]):
    """One time (epoch milliseconds) per key.

    A key is either in the heap, which is ordered, or in a drawer, which is cheap: most dialogs are
    due at the end of their lifetime, up to 68 years ahead. A drawer is opened an hour before its
    time. A key has one valid heap entry, no later than the key is due: each acknowledgement
    postpones the retry, and an entry for each would be several per dialog. A reached entry is added
    again if the key is due later. Other outdated entries are dropped when they are reached, or when
    they are most of the heap.
    """

    def __init__(self) -> None:
        self._due: dict[K, int] = {}
        self._entered: dict[K, int] = {}
        """For keys in the heap: the time of the valid entry."""
        # (when, a unique ticket, key); without a key: open the drawer ~ticket
        self._heap: list[tuple[int, int, K | None]] = []
        self._drawers: dict[int, dict[K, None]] = {}
        self._far = float("inf")  # until the time is set
        self._ticket = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due(self) -> int | None:
        """Return when the next one is due, or earlier; ``None``: never."""
        return self._heap[0][0] if self._heap else None

    def advance(self, now: int) -> None:
        """Set the time."""
        self._far = now + NEAR + (1 << _DRAWER)

    def arm(self, key: K, due: int | None) -> None:
        """Set or replace the time of a key; ``None``: never."""
        before = self._due.get(key)
        if before == due:
            return
        if before is not None:
            number = before >> _DRAWER
            drawer = self._drawers.get(number)
            if drawer is not None:
                drawer.pop(key, None)
                if not drawer:
                    del self._drawers[number]
        if due is None:
            del self._due[key]
            return
        self._due[key] = due
        if due < self._far:
            self._push(due, key)
        else:
            self._lay_aside(due, key)

    def take(self, now: int, most: int = AT_ONCE) -> list[K]:
        """Take due keys, the earliest first; at most ``most``."""
        self.advance(now)
        keys: list[K] = []
        while self._heap and self._heap[0][0] <= now and len(keys) < most:
            due, number, key = heapq.heappop(self._heap)
            if key is None:
                self._open(~number)
            elif self._entered.get(key) == due:
                del self._entered[key]
                if self._due.get(key) == due:
                    del self._due[key]
                    keys.append(key)
                else:
                    self._enter_again(key)
        return keys

    def _enter_again(self, key: K) -> None:
        due = self._due.get(key)
        if due is not None and not self._is_aside(due, key):
            self._push(due, key)

    def _push(self, due: int, key: K) -> None:
        entered = self._entered.get(key)
        if entered is None or due < entered:
            self._entered[key] = due
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
        # Outdated entries are removed only at their time.
        if len(self._heap) > 64 + STALE * len(self._due):
            drawers = [(self._opens(number), ~number, None) for number in self._drawers]
            near = {key: due for key, due in self._due.items() if not self._is_aside(due, key)}
            self._entered = near
            self._heap = [*drawers, *((due, n, key) for n, (key, due) in enumerate(near.items()))]
            heapq.heapify(self._heap)

    def _open(self, number: int) -> None:
        for key in self._drawers.pop(number, ()):
            self._push(self._due[key], key)

    def _is_aside(self, due: int, key: K) -> bool:
        return key in self._drawers.get(due >> _DRAWER, ())

    @staticmethod
    def _opens(number: int) -> int:
        return (number << _DRAWER) - NEAR
