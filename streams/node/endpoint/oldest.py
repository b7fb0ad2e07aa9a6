"""Keys ordered by position, lowest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar


class Placed(Protocol):
    """A key with fields for its place; ``line`` is the :class:`Oldest` that contains the key.

    Keys with the same position are ordered by the keys themselves.
    """

    line: Any
    position: int

    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=Placed)

STALE = 2
"""Maximum number of heap entries per key; with more, rebuilding the heap is cheaper."""


class Oldest(Generic[K]):
    """Keys, each with one position; :meth:`first` returns them in order of position.

    Each key has a heap entry no higher than its position. Positions mostly increase, and an entry
    is updated only when it is reached. Entries of removed keys are dropped when they are reached,
    or when they make up most of the heap.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, K]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: K) -> bool:
        return key.line is self

    def put(self, key: K, position: int) -> None:
        """Add or move a key to a position."""
        before = key.position if key.line is self else None
        if before is None:
            if key.line is not None:
                key.line.drop(key)
            key.line = self
            self._count += 1
        key.position = position
        if before is not None and before <= position:
            return
        heapq.heappush(self._heap, (position, key))
        if len(self._heap) > 64 + STALE * self._count:
            keys = dict.fromkeys(key for _, key in self._heap if key.line is self)
            self._heap = [(key.position, key) for key in keys]
            heapq.heapify(self._heap)

    def drop(self, key: K) -> None:
        """Remove a key, if present."""
        if key.line is self:
            key.line = None
            self._count -= 1

    def first(self, most: int) -> Iterator[K]:
        """Yield up to this number of keys, lowest position first, without removing them."""
        found: dict[K, int] = {}  # an entry may be duplicated
        while self._heap and len(found) < most:
            entered, key = heapq.heappop(self._heap)
            if key.line is not self or key in found:
                continue
            if entered < key.position:
                heapq.heappush(self._heap, (key.position, key))
            else:
                found[key] = key.position
        for key, position in found.items():
            heapq.heappush(self._heap, (position, key))
        return iter(list(found))
