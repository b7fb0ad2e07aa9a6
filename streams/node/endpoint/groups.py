"""Which conversations share a conversation group."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from streams.protocol import DialogKey


class Groups:
    """Open conversations by group. Nearly every group has one: then one dict entry is enough."""

    def __init__(self) -> None:
        self._first: dict[int, DialogKey] = {}
        self._others: dict[int, dict[DialogKey, None]] = {}

    def add(self, key: DialogKey, group: uuid.UUID) -> None:
        """Add a conversation to a group."""
        first = self._first.setdefault(group.int, key)
        if first != key:
            self._others.setdefault(group.int, {})[key] = None

    def remove(self, key: DialogKey, group: uuid.UUID) -> None:
        """Remove a conversation from a group."""
        others = self._others.get(group.int, {})
        others.pop(key, None)
        if self._first.get(group.int) == key:
            del self._first[group.int]
            if others:
                self._first[group.int], _ = others.popitem()
        if not others:
            self._others.pop(group.int, None)

    def members(self, database: str, group: uuid.UUID) -> Iterator[DialogKey]:
        """Yield the conversations of a database's group."""
        first = self._first.get(group.int)
        if first is None:
            return
        for key in (first, *self._others.get(group.int, ())):
            if key[0] == database:
                yield key
