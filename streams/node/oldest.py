"""Keys in the order of a position that each has, the lowest first."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Oldest(Generic[K]):
    """Keys, each with a position; :meth:`first` is the order.

    An entry of the heap that its key has outdated is dropped when it is reached, or when such
    entries are most of the heap.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, K]] = []
        self._entries: dict[K, tuple[int, int, K]] = {}
        self._ticket = 0  # no other entry's: keys are never compared

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def put(self, key: K, position: int) -> None:
        """Let a key be there, at a position."""
        entry = self._entries.get(key)
        if entry is not None and entry[0] == position:
            return
        self._ticket += 1
        entry = self._entries[key] = (position, self._ticket, key)
        heapq.heappush(self._heap, entry)
        if len(self._heap) > 64 + 4 * len(self._entries):
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)

    def drop(self, key: K) -> None:
        """Let a key not be there."""
        self._entries.pop(key, None)

    def first(self, most: int) -> Iterator[K]:
        """Yield up to so many keys, the lowest position first; they stay there."""
        found: list[tuple[int, int, K]] = []
        while self._heap and len(found) < most:
            entry = heapq.heappop(self._heap)
            if self._entries.get(entry[2]) is entry:
                found.append(entry)
        for entry in found:
            heapq.heappush(self._heap, entry)
        return iter([key for _, _, key in found])
