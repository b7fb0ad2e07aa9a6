"""Read partitions as Kafka has stored them, while its client (librdkafka) cannot read them.

The offsets and lengths of uncompressed batches are correct as the broker reads them, whatever a
hostile program has written (decision 46).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress

from confluent_kafka import KafkaError, Message

from streams.kafka.batch_headers import Fetched, readable
from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_batches import StoredBatches, UnknownError
from streams.kafka.stored_records import StoredBatch

_FETCH = 256 << 10
"""Bytes that a request may return; a larger batch is returned alone."""
_LASTS = 60.0
"""Seconds after which the client reads a partition again."""
_AT_ONCE = 0.005
"""Seconds to wait for a response; other partitions wait meanwhile."""
_PAUSE = 0.05
"""Seconds until the next request at the end of the log."""
_LONG = 0.1
"""Seconds after which no more records are taken: one with 99,000 headers takes 0.13 s."""


class StoredPartition:
    """The committed records of a partition from the offset ``start`` on; ``clock`` is in seconds.

    ``next`` is the offset after the last record that was taken. Reading ``is_over`` after 60 s, at
    a compressed or compacted batch, or if Kafka does not respond. Then the client continues there.
    """

    def __init__(
        self,
        stored: StoredBatches,
        place: Place,
        start: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.next, self.is_over = start, False
        self._stored, self._place, self._clock = stored, place, clock
        self._until, self._again_at = clock() + _LASTS, 0.0
        self._records: Iterator[Message] = iter(())
        self._response: Future[Fetched] | None = None
        self._end: int | None = None

    def seek(self, offset: int) -> None:
        """Continue at an offset."""
        self.close()
        self.next, self._records, self._response, self._end = offset, iter(()), None, None
        self.is_over = False

    def close(self) -> None:
        """Cancel the request that has no response yet."""
        if self._response is not None:
            self._response.cancel()

    def take(self) -> Message | None:
        """Return the next record, or the end of the partition; ``None`` if there is none now."""
        while (message := next(self._records, None)) is None:
            if self.is_over or not self._asks():
                return None
            fetched = self._fetched()
            if fetched is None:
                return None
            if fetched.batches:
                self._records = self._read(fetched)
            else:
                return self._at_end(fetched.stable)
        return message

    def _asks(self) -> bool:
        """Return whether a request has been sent."""
        now = self._clock()
        if self._response is None and now >= self._until:
            self.is_over = True
        elif self._response is None and now >= self._again_at:
            self._response = self._stored.ask(self._place, self.next, _FETCH)
        return self._response is not None

    def _fetched(self) -> Fetched | None:
        assert self._response is not None
        if not wait((self._response,), _AT_ONCE).done:
            return None
        response, self._response = self._response, None
        try:
            return response.result()
        except UnknownError as error:
            self._stored.report(self._place, error)
            self.is_over = True
            return None

    def _read(self, fetched: Fetched) -> Iterator[Message]:
        for batch in readable(fetched):
            data, (first, stop) = fetched.data[batch.stored], (batch.offsets[0], batch.offsets.stop)
            if not batch.can_be_read:
                self.next, self.is_over = max(self.next, first), True
                return
            if len(data) < batch.stored.stop - batch.stored.start:
                break
            records = StoredBatch(self._place, data)
            for offset in range(max(self.next, first), stop):
                self.next = offset + 1
                with suppress(IndexError):  # no broker stores such a batch
                    yield records.record(offset)
        whole = [one for one in fetched.batches if one.stored.stop <= len(fetched.data)]
        self.next = max(self.next, whole[-1].offsets.stop)

    def _at_end(self, stable: int | None) -> Message | None:
        self._again_at = self._clock() + _PAUSE
        if stable is None or stable == self._end:
            return None
        self._end, (topic, partition) = stable, self._place
        error = KafkaError(KafkaError._PARTITION_EOF)
        return Message(topic=topic, partition=partition, offset=stable, error=error)


class StoredPartitions:
    """The partitions that a consumer reads as stored, and how they take turns.

    Ends of partitions are returned if ``with_ends``, as with ``enable.partition.eof``.
    """

    def __init__(self, *, with_ends: bool = False) -> None:
        self._with_ends = with_ends
        self._partitions: dict[Place, StoredPartition] = {}

    def __len__(self) -> int:
        return len(self._partitions)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._partitions)

    def __contains__(self, place: object) -> bool:
        return place in self._partitions

    def begin(self, stored: StoredBatches, place: Place, start: int) -> None:
        """Read a partition from an offset on."""
        self._partitions[place] = StoredPartition(stored, place, start)

    def seek(self, place: Place, offset: int) -> None:
        """Continue at an offset in one of the partitions."""
        self._partitions[place].seek(offset)

    def next_offset(self, place: Place) -> int:
        """Return the next offset in one of the partitions."""
        return self._partitions[place].next

    def end(self, places: Collection[Place]) -> None:
        """No longer read these partitions."""
        for place in places:
            if (partition := self._partitions.pop(place, None)) is not None:
                partition.close()

    def take(self, most: int, paused: Collection[Place]) -> list[Message]:
        """Return up to ``most`` records and ends, in turn from each partition not ``paused``."""
        taken = list[Message]()
        turn = [place for place in self._partitions if place not in paused]
        until = time.monotonic() + _LONG
        while turn and len(taken) < most and time.monotonic() < until:
            place = turn.pop(0)
            message = self._partitions[place].take()
            if message is not None:
                if self._with_ends or message.error() is None:
                    taken.append(message)
                turn.append(place)
                self._partitions[place] = self._partitions.pop(place)  # last in the next turn
        return taken

    def over(self) -> dict[Place, int]:
        """End the partitions that are over; return at which offsets the client continues."""
        over = {place: one.next for place, one in self._partitions.items() if one.is_over}
        self.end(over)
        return over
