"""Postpone the events about dropped copies, so that later records are handled first.

After an absence, tens of thousands of expired copies may precede the first record that can still be
delivered. Reporting a copy takes several times as long as reading it. So the events wait, and each
turn of the loop writes some of them. The offset of a copy is committed after its event.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from streams.kafka import TopicPartition
from streams.wire import decode_header
from streams.wire.events import SimilarEvents
from streams.workers.forwarder.local_producer import LocalProducer
from streams.workers.forwarder.offset_tracker import Position, Where
from streams.workers.forwarder.outcome_writer import OutcomeWriter

MOST = 48 << 20
"""Maximum size in bytes of waiting events, usually 40,000 events; above it, each copy writes
some."""
_TURN = 100
"""Number of events that a turn writes, which takes 1 to 2 ms."""
_LONGEST = 1_024
"""Maximum size in bytes of an ``sb-message`` to keep; with a longer one, the event is written at
once."""
_OVERHEAD = 400
"""Bytes of a waiting event in addition to its header and the values that it may share with
others."""

_Waiting = tuple[int, bytes, bytes | None, SimilarEvents]


class PostponedEvents:
    """Events about dropped copies that wait until they are written."""

    def __init__(self, local_producer: LocalProducer, outcomes: OutcomeWriter) -> None:
        self._local_producer, self._outcomes = local_producer, outcomes
        self._waiting: defaultdict[Where, deque[_Waiting]] = defaultdict(deque)
        self._size = 0

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(
        self, position: Position, key: bytes, header: bytes | None, events: SimilarEvents
    ) -> None:
        """Postpone the event about a copy whose ``sb-message`` is ``header``.

        The copies of a partition must be added in their order.
        """
        topic, partition, offset = position
        if len(header or b"") > _LONGEST:
            self._write((topic, partition), offset, key, header, events)
            return
        self._waiting[topic, partition].append((offset, key, header, events))
        self._size += _weight(header, events)
        while self._size > MOST:
            self.write(1)

    def write(self, most: int = _TURN) -> None:
        """Write up to ``most`` events, from all partitions in turn, in the order of the copies."""
        for _ in range(min(most, len(self))):
            where, waiting = next(iter(self._waiting.items()))
            offset, key, header, events = waiting[0]
            self._write(where, offset, key, header, events)
            waiting.popleft()
            self._size -= _weight(header, events)
            del self._waiting[where]
            if waiting:  # last in turn now
                self._waiting[where] = waiting

    def write_all(self) -> None:
        """Write all events before another worker takes over the partitions."""
        self.write(len(self))

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop the events of partitions that another worker owns now; it also drops the copies.

        Their offsets are not committed.
        """
        for p in partitions:
            for _, _, header, events in self._waiting.pop((p.topic, p.partition), ()):
                self._size -= _weight(header, events)

    def positions(self) -> Iterator[Position]:
        """Yield the first copy in each partition whose event has not been written yet."""
        for where, waiting in self._waiting.items():
            yield *where, waiting[0][0]

    def _write(
        self, where: Where, offset: int, key: bytes, header: bytes | None, events: SimilarEvents
    ) -> None:
        position = *where, offset
        try:
            value = events.encode(key, decode_header(header))
        except Exception as error:
            self._outcomes.refuse(position, key, error)
            return
        self._local_producer.emit(position, key, events.event, value)


def _weight(header: bytes | None, events: SimilarEvents) -> int:
    """Return the approximate size of an event that does not share values with other events."""
    return _OVERHEAD + len(header or b"") + 2 * events.size
