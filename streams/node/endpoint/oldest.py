"""Keys ordered by a position, the lowest first."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

STALE = 2
"""Heap entries per key before a rebuild, which costs less than keeping them."""


class Oldest(Generic[K]):
    """Keys, each with a position; :meth:`first` returns them in order.

    A key has a heap entry no higher than its position. Positions mostly rise, and an entry is
    raised only when it is reached. Entries of removed keys are dropped then, or when they are most
    of the heap.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, K]] = []
        self._positions: dict[K, int] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, key: object) -> bool:
        return key in self._positions

    def put(self, key: K, position: int) -> None:
        """Add or move a key to a position."""
        before = self._positions.get(key)
        self._positions[key] = position
        if before is not None and before <= position:
            return
        heapq.heappush(self._heap, (position, key))
        if len(self._heap) > 64 + STALE * len(self._positions):
            self._heap = [(at, key) for key, at in self._positions.items()]
            heapq.heapify(self._heap)

    def drop(self, key: K) -> None:
        """Remove a key."""
        self._positions.pop(key, None)

    def first(self, most: int) -> Iterator[K]:
        """Yield up to this number of keys, the lowest position first, without removing them."""
        found: dict[K, int] = {}  # an entry may be duplicated
        while self._heap and len(found) < most:
            entered, key = heapq.heappop(self._heap)
            position = self._positions.get(key)
            if position is None or key in found:
                continue
            if entered < position:
                heapq.heappush(self._heap, (position, key))
            else:
                found[key] = position
        for key, position in found.items():
            heapq.heappush(self._heap, (position, key))
        return iter(list(found))
