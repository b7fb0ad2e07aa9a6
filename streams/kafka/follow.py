"""Read many topics at the same time, merged into one order: to their ends, or continuously."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka.bounded_poll import take
from streams.kafka.cluster import Cluster, Message
from streams.kafka.consumer_health import ConsumerHealth
from streams.kafka.headers import headers_of, size_of
from streams.wire import MalformedError
from streams.wire.describe import RawRecord

Item = TypeVar("Item")
Place = tuple[str, int]

_AHEAD = 1_000
"""Maximum number of records of one partition to buffer while they wait for other partitions."""
_AHEAD_BYTES = 16 << 20
"""If the buffered records exceed this total size, only partitions without buffered records are
read."""
_SLICE = 0.2
"""Seconds per call of the client library; short, so that interrupts are handled."""
_PATIENCE = 30.0
_TAIL = -2000  # librdkafka's OFFSET_TAIL_BASE: this value minus n means n records before the end


def raw_record(message: Message) -> RawRecord:
    """Return a record with any content, as :func:`streams.wire.describe.describe` expects it."""
    key: Any = message.key()
    value: Any = message.value()
    unreadable = ""
    try:
        headers = headers_of(message)
    except MalformedError as error:
        headers, unreadable = [], str(error)
    return RawRecord(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        key.encode() if isinstance(key, str) else key,
        value.encode() if isinstance(value, str) else value,
        tuple(headers),
        unreadable,
    )


class Follower(Generic[Item]):
    """Read partitions of topics in parallel.

    ``make`` turns a record into an item, or returns ``None`` to omit the record; ``order`` returns
    an item's sort key. The order of records within a partition is kept. Items that wait for other
    partitions are limited in number and in the size of their records.
    """

    def __init__(
        self,
        cluster: Cluster,
        topics: Sequence[tuple[str, int]],
        make: Callable[[Message], Item | None],
        order: Callable[[Item], Any],
        *,
        last: int | None = None,
    ) -> None:
        """Start at the beginning or, with ``last``, that many records before each end."""
        self._make, self._order = make, order
        self._health = ConsumerHealth(cluster)
        self._consumer = cluster.consumer(
            f"{cluster.topics.prefix}tail",
            auto_offset_reset="earliest",
            enable_partition_eof=True,
            stats=self._health.report,
        )
        places = [(topic, p) for topic, count in topics for p in range(count)]
        start = OFFSET_BEGINNING if last is None else _TAIL - last
        self._consumer.assign([TopicPartition(t, p, start) for t, p in places])
        self._buffers: dict[Place, deque[tuple[Item, int]]] = {p: deque() for p in places}
        self._size = 0
        self._heads: list[tuple[Any, int, Place]] = []
        self._reading = set(places)
        self._waiting = set(places)
        self._paused: set[Place] = set()
        self._ticket = 0

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def to_end(self) -> Iterator[Item]:
        """Yield the items that exist now, in order."""
        quiet_since = time.monotonic()
        while self._reading or self._heads:
            yield from self._ready()
            if not self._reading:
                continue
            batch = self._poll()
            if batch:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > _PATIENCE:
                topic = min(self._reading)[0]
                raise SurroundingsError(
                    f"Topic {topic} cannot be read: no answer for {_PATIENCE:.0f} s."
                )
            for message in batch:
                self._take(message)
        self._consumer.resume([TopicPartition(*place) for place in self._paused])
        self._paused.clear()

    def onward(self) -> Iterator[Item]:
        """Yield new records as they arrive, forever; raises SurroundingsError."""
        while True:
            batch = self._poll()
            self._health.look(bool(batch), self._consumer)
            for message in batch:
                error = message.error()
                if error is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    continue
                item = self._make(message)
                if item is not None:
                    yield item

    def _poll(self) -> list[Message]:
        return take(self._consumer, _SLICE, 500)

    def _take(self, message: Message) -> None:
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            self._reading.discard(place)
            self._waiting.discard(place)
            return
        item = self._make(message)
        if item is None:
            return
        buffer, size = self._buffers[place], size_of(message)
        buffer.append((item, size))
        self._size += size
        if len(buffer) == 1:
            self._waiting.discard(place)
            self._push(place)
        is_full = len(buffer) >= _AHEAD or self._size > _AHEAD_BYTES
        if is_full and place not in self._paused:
            self._paused.add(place)
            self._consumer.pause([TopicPartition(*place)])

    def _ready(self) -> Iterator[Item]:
        """Yield items in order while the next item of every unfinished partition is known."""
        while self._heads and not self._waiting:
            _, _, place = heapq.heappop(self._heads)
            buffer = self._buffers[place]
            item, size = buffer.popleft()
            self._size -= size
            yield item
            if buffer:
                self._push(place)
            elif place in self._reading:
                self._waiting.add(place)
                if place in self._paused:
                    self._paused.discard(place)
                    self._consumer.resume([TopicPartition(*place)])

    def _push(self, place: Place) -> None:
        self._ticket += 1
        entry = (self._order(self._buffers[place][0][0]), self._ticket, place)
        heapq.heappush(self._heads, entry)
