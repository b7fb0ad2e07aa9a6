"""Divide a transaction's records into rounds, so that Kafka's client need not queue any.

With an idempotent producer, Kafka's client (librdkafka) has only one request in flight for each
partition. As long as more records of the partition are ready, the client's thread for the broker
does not sleep, but polls its socket in a loop until the request is confirmed. In one case, a broker
was slow for a moment, a few such threads used both cores of the machine, and so the broker stalled
for ten seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ROUND = 1_000_000
"""Maximum size in bytes of a topic in a round: the default ``batch.size`` of Kafka's client."""
_OVERHEAD = 400
"""Estimated bytes of a record besides its value: key, headers and Kafka's own fields."""

Record = tuple[Any, ...]


class Rounds:
    """Records in rounds; each round has at most ROUND bytes, or a single record, of each topic."""

    def __init__(self) -> None:
        self._rounds: list[list[Record]] = []
        self._filled: dict[str, tuple[int, int]] = {}

    def __iter__(self) -> Iterator[list[Record]]:
        """Yield the records of each round; records of the same topic keep their order."""
        return iter(self._rounds)

    def add(self, topic: str, value: bytes | None, record: Record) -> None:
        """Add a record of ``topic``, which has this ``value``."""
        size = len(value or b"") + _OVERHEAD
        number, filled = self._filled.get(topic, (0, 0))
        if filled and filled + size > ROUND:
            number, filled = number + 1, 0
        self._filled[topic] = number, filled + size
        if number == len(self._rounds):
            self._rounds.append([])
        self._rounds[number].append(record)

    def clear(self) -> None:
        """Drop all records."""
        self._rounds.clear()
        self._filled.clear()


__all__ = ["ROUND", "Rounds"]
