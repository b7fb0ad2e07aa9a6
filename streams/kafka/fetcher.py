"""Fetch single records of a partition by offset."""

from __future__ import annotations

import sys
from collections import OrderedDict, deque

from confluent_kafka import Consumer, KafkaError, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster, Message, size_of
from streams.kafka.reader import next_of
from streams.kafka.taking import take_more

CACHE_BYTES = 48 << 20
"""The total size of the caches of all :class:`Fetcher` of a worker."""
RECORD_BYTES = 1_024
"""The bytes of a record besides its key and value: headers, and Python's objects."""
_SKIP, _SKIP_BYTES = 600, 16 << 20
"""Maximum number of records, and of bytes, to skip; more take longer than a new fetch (5 ms)."""
_AT_ONCE = 500
"""Maximum number of records that one call takes from the client."""
_LARGE, _SHARE = 128 << 10, 16
"""A record with more bytes, and with more than 1/16 of the cache, evicts no other record."""


class GoneError(SurroundingsError):
    """A record that is still needed was deleted from its log."""


class Fetcher:
    """Fetch records of one partition by offset, with a cache of the latest records.

    Workers keep offsets instead of bodies, and reread bodies when they are needed. A caller that
    needs several records requests them in offset order, so that the log is read forward once. The
    cache has up to ``cache_bytes``, counting keys, values, headers and :data:`RECORD_BYTES` per
    record. Skipped records are also cached, because the next call often needs them: the messages of
    waiting dialogs are interleaved. Large records use only free space.

    ``bytes_returned`` counts the bytes of requested records, ``bytes_read`` the bytes of all
    records read from Kafka, requested or skipped. Both counts include headers.
    """

    def __init__(
        self, cluster: Cluster, topic: str, partition: int, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._topic, self._partition, self._limit = topic, partition, cache_bytes
        self._cluster = cluster
        self._large = max(_LARGE, cache_bytes // _SHARE)
        self.bytes_returned = self.bytes_read = self._rested_at = self._size = 0
        self._consumer: Consumer | None = None
        self._cache: OrderedDict[int, tuple[Message, int]] = OrderedDict()
        self._read: deque[Message] = deque()
        self._next: int | None = None  # next offset to read; None before the first fetch

    def remember(self, message: Message) -> None:
        """Cache a record that another consumer has just read, because it may be needed again."""
        self._keep(message, size_of(message))

    def _keep(self, message: Message, size: int) -> None:
        offset = message.offset()
        assert offset is not None
        if offset in self._cache:
            return
        self._cache[offset] = message, size
        if size > self._large:
            self._cache.move_to_end(offset, last=False)  # it is evicted before other records
        self._size += size + RECORD_BYTES
        while self._size > self._limit:
            _, (_, evicted) = self._cache.popitem(last=False)
            self._size -= evicted + RECORD_BYTES

    def fetch(self, position: int) -> Message:
        """Return the record at an offset; raise GoneError if it was deleted.

        Any other SurroundingsError means that Kafka does not respond.
        """
        found = self._cache.get(position)
        if found is not None:
            self.bytes_returned += found[1]
            return found[0]
        consumer = self._at(position)
        skipped = self.bytes_read + _SKIP_BYTES
        while True:
            message = self._read.popleft() if self._read else self._next_of(consumer)
            error = message.error()
            if error is not None:
                self.close()
                gone = error.code() == KafkaError._AUTO_OFFSET_RESET
                raise (GoneError if gone else SurroundingsError)(
                    f"{self._topic}/{self._partition}@{position} cannot be reread: {error}"
                )
            offset, size = message.offset() or 0, size_of(message)
            self.bytes_read += size
            self._keep(message, size)
            self._next = offset + 1
            if offset == position:
                self.bytes_returned += size
                return message
            if offset > position:
                raise GoneError(
                    f"{self._topic}/{self._partition}@{position} was deleted; the log continues "
                    f"at {offset}",
                )
            if self.bytes_read > skipped:
                consumer = self._at(position, seeks=True)
                skipped = sys.maxsize  # the record is next, unless it was deleted

    def _next_of(self, consumer: Consumer) -> Message:
        try:
            message = next_of(consumer, self._topic, self._partition)
        except SurroundingsError:
            self.close()
            raise
        self._read.extend(take_more(consumer, _AT_ONCE))
        return message

    def rest(self) -> None:
        """Close the consumer if nothing was read since the last call.

        Its client keeps the records that it has read ahead, and the next fetch may be much later.
        Decompressed by lz4, they may take 255 times the size of a fetch.
        """
        if self.bytes_read == self._rested_at:
            self.close()
        self._rested_at = self.bytes_read

    def _at(self, position: int, *, seeks: bool = False) -> Consumer:
        if self._consumer is None:
            self._consumer = self._cluster.consumer(f"{self._cluster.topics.prefix}fetcher")
            self._next = None
        if seeks or self._next is None or not self._next <= position <= self._next + _SKIP:
            self._consumer.assign([TopicPartition(self._topic, self._partition, position)])
            self._read.clear()
        return self._consumer

    def close(self) -> None:
        """Close the consumer; the next fetch creates a new consumer."""
        self._read.clear()
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
