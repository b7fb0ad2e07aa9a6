"""The copies that a forwarder buffers in memory, and the times at which it reconsiders them.

A copy waits for next hops that send no heartbeats, or for a next hop whose cluster did not confirm
the copy. All copies are reconsidered when an unreachable hop is reachable again, or when the
catalog has changed. A copy is also reconsidered when its time to live has expired; an unconfirmed
copy, when its hop is retried. One turn reconsiders at most a thousand copies.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from streams.errors import Number
from streams.kafka import Message, headers_of
from streams.node import Holding, Record, forward_size
from streams.wire.spans import spans_of
from streams.workers.forwarder.local_producer import source_of
from streams.workers.forwarder.offset_tracker import Where

_AGAIN = 1.0
"""Seconds until a next hop that is alive but did not accept a copy is retried."""
_NEVER = float("inf")
_TURN = 1_000
"""Maximum number of copies that one turn reconsiders; records are read between turns."""


@dataclass(slots=True)
class BufferedCopy:
    """A copy in memory: the record, its Kafka message, and the end of its time to live.

    ``refused_by``: the next hop, if any, that did not accept the copy although it sends heartbeats.
    """

    message: Message
    record: Record
    expires_at: int
    refused_by: str | None = None


class BufferedCopies:
    """The copies that a forwarder buffers; ``limit`` is MESSAGE_FORWARD_SIZE in bytes."""

    def __init__(self, reachable: Callable[[str], bool]) -> None:
        self._reachable = reachable
        self._holding: Holding[BufferedCopy] = Holding(0)
        self._due: deque[tuple[object, ...]] = deque()
        self._missed: set[str] = set()
        """Next hops that were not reachable; a copy may wait for any of them."""
        self._refused: dict[str, float] = {}
        """Next hops that did not accept a copy, and the monotonic times of their retries."""
        self._changed = False
        self._first_end = _NEVER
        """Earliest possible expiry of a buffered copy."""
        self._places: defaultdict[Where, dict[int, None]] = defaultdict(dict)
        self._notes: dict[Where, str] = {}

    def __len__(self) -> int:
        return len(self._holding)

    @property
    def size(self) -> int:
        """Return the number of buffered bytes."""
        return self._holding.size

    def notes(self) -> Mapping[Where, str]:
        """Return the source offsets of buffered copies (``spans``); only changes are written."""
        for place in self._places.keys() - self._notes.keys():
            self._notes[place] = spans_of(self._places[place])
        return self._notes

    def limit(self, size: int) -> None:
        """Set the catalog's current limit; all copies will be reconsidered."""
        self._holding.limit = size
        self._changed = True

    def reachable(self, instance: str) -> bool:
        """Return whether a next hop is reachable; copies wait for an unreachable next hop."""
        found = self._reachable(instance)
        if not found:
            self._missed.add(instance)
        return found

    def add(self, key: tuple[object, ...], held: BufferedCopy) -> Number | None:
        """Buffer a copy, or return the error number with which it is dropped: 11288 or 11289."""
        if held.refused_by is not None:
            self._refused[held.refused_by] = time.monotonic() + _AGAIN
        size = forward_size(held.record.size, headers_of(held.message))
        number = self._holding.add(key, held, size)
        if number is None:
            self._first_end = min(self._first_end, held.expires_at)
            topic, partition, offset = source_of(held.message)
            self._places[topic, partition][offset] = None
            self._notes.pop((topic, partition), None)
        return number

    def take_expired(self, key: tuple[object, ...], now: int) -> BufferedCopy | None:
        """Remove and return a copy whose time to live has expired, before its turn (``due``).

        Thousands of copies may expire together. A retry that arrives in the meantime must not be
        dropped as a duplicate of a copy that is about to be dropped.
        """
        held = self._holding.get(key)
        return None if held is None or held.expires_at > now else self._take(key)

    def due(self, now: int) -> Iterator[BufferedCopy]:
        """Remove and yield copies to be reconsidered; ``now`` is in epoch milliseconds.

        If there are more copies than one turn may take, the next calls yield the remaining copies
        before they look for others.
        """
        if not self._due:
            self._find_due(now)
        for _ in range(min(len(self._due), _TURN)):
            key = self._due.popleft()
            if self._holding.get(key) is not None:
                yield self._take(key)

    def _find_due(self, now: int) -> None:
        every, retried = self._woken(), self._retried()
        if not every and not retried and now < self._first_end:
            return
        self._first_end = _NEVER
        for key, held in self._holding.items():
            if every or held.refused_by in retried or held.expires_at <= now:
                self._due.append(key)
            else:
                self._first_end = min(self._first_end, held.expires_at)

    def _take(self, key: tuple[object, ...]) -> BufferedCopy:
        held = self._holding.remove(key)
        topic, partition, offset = source_of(held.message)
        self._places[topic, partition].pop(offset, None)
        self._notes.pop((topic, partition), None)
        return held

    def _woken(self) -> bool:
        changed, self._changed = self._changed, False
        back = any(map(self._reachable, self._missed))
        if changed or back:
            self._missed.clear()  # copies for a hop that is still down wait again
        return changed or back

    def _retried(self) -> set[str]:
        """Return the next hops that did not accept a copy and must be retried now."""
        clock = time.monotonic()
        due = {i for i, at in self._refused.items() if at <= clock and self._reachable(i)}
        for instance in due:
            del self._refused[instance]
        return due
