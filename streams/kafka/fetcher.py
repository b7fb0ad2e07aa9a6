"""Fetch single records of a partition by offset."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict, deque

from confluent_kafka import KafkaError, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka.bounded_poll import take_more
from streams.kafka.checked_consumer import CheckedConsumer
from streams.kafka.cluster import Cluster, Message
from streams.kafka.headers import size_of
from streams.kafka.reader import next_of
from streams.kafka.record_cache import CACHE_BYTES, RecordCache
from streams.kafka.search_time import NotNowError, SearchTime
from streams.kafka.silent_search import SilentSearch
from streams.kafka.stored_reader import StoredReader

_SKIP, _SKIP_BYTES = 600, 2 << 20
"""Maximum number of records and bytes to skip; skipping more takes longer than a new fetch (5 ms).

Both are limited, because clients choose the size of the records between two bodies.
"""
_BLOCKED, _SUSPECTED, _REMEMBERED = 0.5, 100, 1_000
"""Three limits: seconds without a record until the fetch begins again at the requested offset
(decision 46), the number of seeks after that, and the maximum number of blocked offsets to
remember."""
_THERE, _AGAIN = 0.5, 0.05
"""Seconds without the record at a requested offset until a new client checks whether it can read
the record: normally, and for the next hundred records after an unreadable one."""
_UNREADABLE = 20_000
"""Maximum number of unreadable records to remember."""
_AT_ONCE = 500
"""Maximum number of records that one call takes from the client."""


class GoneError(SurroundingsError):
    """A required record was deleted from its log, or can no longer be read."""


class Fetcher:
    """Fetch records of one partition by offset, with a cache of the latest records.

    Workers keep offsets instead of bodies, and reread bodies when they are needed. A caller that
    needs several records requests them in offset order, so that the log is read forward once. The
    cache has up to ``cache_bytes`` (:class:`RecordCache`). Skipped records are also cached, because
    the next call often needs them: the messages of waiting dialogs are interleaved.

    A batch that Kafka's client cannot read blocks reading forward (decision 46). The fetcher
    remembers its place and seeks past the batch the next time. There may be many such batches. So
    after the first, the fetcher seeks past the next hundred gaps, which takes as long as waiting
    once.

    A record that the client does not return from its offset is read from its stored batch. If this
    is not possible, and a new client cannot read the record either, it counts as deleted (decision
    47). If the time for ``searches`` is used up, the fetcher raises NotNowError instead.

    ``bytes_returned`` counts the bytes of requested records, ``bytes_read`` the bytes of all
    records read from Kafka, requested or skipped. Both counts include headers.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        cache_bytes: int = CACHE_BYTES,
        searches: SearchTime | None = None,
    ) -> None:
        self._topic, self._partition = self._place = topic, partition
        self._cluster, self._searches = cluster, searches
        self.bytes_returned = self.bytes_read = self._rested_at = 0
        self._consumer: CheckedConsumer | None = None
        self._stored = StoredReader(cluster, self._place)
        self._cache = RecordCache(cache_bytes)
        self._read: deque[Message] = deque()
        self._next: int | None = None  # next offset to read; None before the first fetch
        self._blocked: list[int] = []  # ascending offsets from which nothing could be read
        self._suspected = 0  # number of gaps to seek past
        self._unreadable: OrderedDict[int, None] = OrderedDict()
        self._expected = 0  # number of records that may be unreadable too
        self._unsearched: int | None = None  # the last record for which there was no time
        self._waited = 0.0  # seconds of the last wait for a record at its offset

    def remember(self, message: Message) -> None:
        """Cache a record that another consumer has just read, because it may be needed again."""
        self._cache.keep(message, size_of(message))

    def fetch(self, position: int, *, directly: bool = False) -> Message:
        """Return the record at an offset; raise GoneError if it was deleted or is unreadable.

        Any other SurroundingsError means that Kafka does not respond. If a hostile record before
        the offset claims to have this offset, that record is returned. With ``directly``, the cache
        is not used, and the fetch begins at the offset, so records before it are not read (5 ms).
        """
        if directly:
            self._cache.forget(position)
        found = self._cache.get(position)
        if found is not None:
            self.bytes_returned += found[1]
            return found[0]
        if position in self._unreadable:
            raise self._lost(position)
        if position == self._unsearched and not self._may_search():
            raise self._not_now(position)
        if self._expected:
            self._expected -= 1
            if (stored := self._read_stored(position)) is not None:
                return stored
        is_there = self._go_to(position, seeks=directly)
        skipped = self.bytes_read + _SKIP_BYTES
        blocked, since = None, 0.0
        while True:
            message = self._read.popleft() if self._read else self._next_of(is_there)
            if message is None and is_there:
                if (stored := self._read_stored(position)) is not None:
                    self._expected = _SUSPECTED
                    return stored
                if not self._may_search():
                    self._unsearched, self._next = position, None
                    raise self._not_now(position)
                if self._proves_unreadable(position):
                    raise self._lost(position)
                return self._wait_for(position)  # Kafka is slow or unavailable
            if message is None:
                blocked, since = self._note_blocked(), time.monotonic()
                is_there = self._go_to(position, seeks=True)
                continue
            offset, size = self._take(message, position)
            if offset == position:
                self.bytes_returned += size
                if blocked is not None and time.monotonic() - since > _BLOCKED:
                    self._trust(blocked)
                return message
            if offset > position and is_there:
                raise self._deleted(position, offset)
            # An unreadable batch before the requested record may claim a later offset.
            if not is_there and (offset > position or self.bytes_read > skipped):
                is_there = self._go_to(position, seeks=True)

    def _take(self, message: Message, position: int) -> tuple[int, int]:
        """Cache a record that was read before or at a position; return its offset and size."""
        error = message.error()
        if error is not None:
            self.close()
            gone = error.code() == KafkaError._AUTO_OFFSET_RESET
            raise (GoneError if gone else SurroundingsError)(
                f"{self._topic}/{self._partition}@{position} cannot be reread: {error}"
            )
        offset, size = message.offset() or 0, size_of(message)
        self.bytes_read += size
        self._cache.keep(message, size)
        self._next = offset + 1
        return offset, size

    def _deleted(self, position: int, following: int) -> GoneError:
        return GoneError(
            f"{self._topic}/{self._partition}@{position} was deleted; the log continues at "
            f"{following}"
        )

    def _next_of(self, is_there: bool) -> Message | None:
        """Return the next message; ``None`` if a record may block the requested record."""
        consumer = self._consumer
        assert consumer is not None
        there = self._waited = _AGAIN if self._expected else _THERE
        self._expected = max(0, self._expected - is_there)
        message = consumer.poll(there if is_there else _BLOCKED)
        if message is not None:
            self._read.extend(take_more(consumer, _AT_ONCE))
        return message

    # --- records that cannot be fetched at their offsets -----------------------------------------

    def _read_stored(self, position: int) -> Message | None:
        """Return a record of a stored batch that is not compressed."""
        before = self._stored.bytes_read
        message = self._stored.read(position)
        if message is None:
            return None
        self._next, size = None, size_of(message)
        self.bytes_returned += size
        self.bytes_read += self._stored.bytes_read - before
        self._cache.keep(message, size)
        return message

    def is_unreadable(self, position: int) -> bool:
        """Return whether a record is known to be unreadable."""
        return position in self._unreadable

    def _proves_unreadable(self, position: int) -> bool:
        """Return whether Kafka responds but a new client cannot read a record; takes up to 10 s."""
        began = time.monotonic()
        search = SilentSearch(self._cluster, self._place, position, once=True)
        search.wait()
        if search.found == position:
            return False
        if self._searches is not None:
            self._searches.spend(self._waited + time.monotonic() - began)
        rest = range(position, min(search.found, position + _UNREADABLE))  # behind the same length
        self._unreadable.update(dict.fromkeys(rest))
        self._expected = _SUSPECTED
        self._next = None  # reading forward from here would wait in vain
        while len(self._unreadable) > _UNREADABLE:
            self._unreadable.popitem(last=False)
        return True

    def _may_search(self) -> bool:
        return self._searches is None or self._searches.has_left()

    def _not_now(self, position: int) -> NotNowError:
        return NotNowError(f"{self._topic}/{self._partition}@{position} is not read now")

    def _lost(self, position: int) -> GoneError:
        return GoneError(f"{self._topic}/{self._partition}@{position} is in an unreadable batch")

    def _wait_for(self, position: int) -> Message:
        """Return a record as soon as Kafka responds; raise SurroundingsError after two minutes."""
        self._assign(position)
        try:
            message = next_of(self._open(), self._topic, self._partition)
        except SurroundingsError:
            self.close()
            raise
        offset, size = self._take(message, position)
        if offset != position:
            raise self._deleted(position, offset)
        self.bytes_returned += size
        return message

    # --- the consumer ----------------------------------------------------------------------------

    def rest(self) -> None:
        """Close the consumer if nothing was read since the last call.

        The client would keep the records that it has read ahead, although the next fetch may be
        much later. Decompressed from lz4, these records may take 255 times the size of a fetch.
        """
        if self.bytes_read == self._rested_at:
            self.close()
        self._rested_at = self.bytes_read

    def _go_to(self, position: int, *, seeks: bool = False) -> bool:
        """Read from an offset on, or forward to it; return whether its record is the next one."""
        self._open()
        begin = self._next
        is_near = begin is not None and begin <= position <= begin + _SKIP
        if begin is not None and is_near and not seeks and not self._is_blocked(begin, position):
            return False
        self._assign(position)
        return True

    def _open(self) -> CheckedConsumer:
        if self._consumer is None:
            self._consumer = self._cluster.consumer(f"{self._cluster.topics.prefix}fetcher")
            self._next = None
        return self._consumer

    def _assign(self, position: int) -> None:
        self._open().assign([TopicPartition(self._topic, self._partition, position)])
        self._read.clear()
        self._next = position

    def _is_blocked(self, begin: int, position: int) -> bool:
        """Return whether an unreadable batch is known, or suspected, between two offsets."""
        if begin < position and self._suspected:
            self._suspected -= 1
            return True
        at = bisect_left(self._blocked, begin)
        return at < len(self._blocked) and self._blocked[at] < position

    def _note_blocked(self) -> int:
        """Remember the next offset as blocked, because nothing could be read from it; return it."""
        assert self._next is not None
        self._blocked = sorted({*self._blocked, self._next})[-_REMEMBERED:]
        self._suspected = _SUSPECTED
        return self._next

    def _trust(self, offset: int) -> None:
        """Forget that an offset is blocked, because Kafka is slow at other offsets too."""
        self._blocked = [other for other in self._blocked if other != offset]
        self._suspected = 0

    def close(self) -> None:
        """Close the consumer; the next fetch creates a new consumer."""
        self._read.clear()
        self._stored.close()
        if self._consumer is not None:
            self._consumer.close()
        self._consumer = None
