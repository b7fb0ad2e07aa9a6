"""The latest records of state topics, which are compacted: earlier records have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from streams.kafka import Message, size_of

BUDGET = 128 << 20
"""Maximum size in bytes of the records in memory: the states of about 150,000 endpoints."""
_RECORD = 500
"""Estimated bytes of Python's and the client's objects for a record."""


class LatestStates:
    """The latest record of each key and partition, unless they exceed the budget.

    Workers write the state of an endpoint with every transaction that changes it, and brokers
    compact the topic much later. So most of its records are earlier states.
    """

    def __init__(self, budget: int) -> None:
        self._budget, self._size = budget, 0
        self._latest: dict[object, Message] | None = {}

    def add(self, message: Message) -> None:
        """Add a record; the records of a partition must be added in order."""
        if self._latest is None:
            return
        place = message.topic(), message.partition(), message.key()
        before = self._latest.get(place)
        self._latest[place] = message
        self._size += size_of(message) - (-_RECORD if before is None else size_of(before))
        if self._size > self._budget:
            self._latest = None

    def records(self) -> Iterator[Message] | None:
        """Return the records; ``None`` if they exceed the budget, so they must be read again."""
        return None if self._latest is None else iter(self._latest.values())
