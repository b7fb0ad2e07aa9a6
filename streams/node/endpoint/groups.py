"""The conversations of each conversation group."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from streams.protocol import DialogKey


class Groups:
    """Open conversations by database and group.

    Nearly every group has only one conversation, for which a single dict entry is enough.
    """

    def __init__(self) -> None:
        self._databases: dict[str, _Groups] = {}

    def add(self, key: DialogKey, group: uuid.UUID) -> None:
        """Add a conversation to a group of its database."""
        of = self._databases.get(key[0])
        if of is None:
            of = self._databases[key[0]] = _Groups()
        of.add(key, group.bytes)

    def remove(self, key: DialogKey, group: uuid.UUID) -> None:
        """Remove a conversation from a group."""
        of = self._databases.get(key[0])
        if of is not None:
            of.remove(key, group.bytes)

    def members(self, database: str, group: uuid.UUID) -> Iterator[DialogKey]:
        """Yield the conversations of a group in a database."""
        of = self._databases.get(database)
        return iter(()) if of is None else of.members(group.bytes)


class _Groups:
    """The groups of one database; another database may have a group with the same id.

    Ids are bytes, because clients could choose integers with equal hashes.
    """

    def __init__(self) -> None:
        self._first: dict[bytes, DialogKey] = {}
        self._others: dict[bytes, dict[DialogKey, None]] = {}

    def add(self, key: DialogKey, group: bytes) -> None:
        first = self._first.setdefault(group, key)
        if first != key:
            self._others.setdefault(group, {})[key] = None

    def remove(self, key: DialogKey, group: bytes) -> None:
        others = self._others.get(group, {})
        others.pop(key, None)
        if self._first.get(group) == key:
            del self._first[group]
            if others:
                self._first[group], _ = others.popitem()
        if not others:
            self._others.pop(group, None)

    def members(self, group: bytes) -> Iterator[DialogKey]:
        first = self._first.get(group)
        if first is not None:
            yield first
            yield from self._others.get(group, ())
