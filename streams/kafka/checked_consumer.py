"""A consumer that skips malformed batches, which only a hostile writer sends (decision 46)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from confluent_kafka import OFFSET_STORED, KafkaError, KafkaException, Message, TopicPartition

from streams.causes import Causes, more
from streams.kafka.batch_headers import Batch
from streams.kafka.fallback_consumer import FallbackConsumer
from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_batches import StoredBatches, UnknownError

log = logging.getLogger("hopline.kafka")

UNREADABLE = frozenset({KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION})
"""The client's errors for a batch that it cannot decompress."""
_TIMEOUT = 10.0
_BUDGET, _SEARCHES = 2.0, 10.0
"""Seconds after which a search ends, and seconds after which a call starts no other search; the
next poll continues."""
# Unbound methods, because calling a bound method for every record would be slower.
_error: Callable[[Message], Any] = Message.error
_topic: Callable[[Message], Any] = Message.topic
_partition: Callable[[Message], Any] = Message.partition
_offset: Callable[[Message], Any] = Message.offset


class CheckedConsumer(FallbackConsumer):
    """A consumer that continues after unreadable batches and after records with a wrong offset.

    A batch may contain a wrong offset for a record. The client also uses this offset to determine
    where to fetch next. An application that commits such an offset skips all records before it. If
    the offset is beyond the end of the log, the client cannot continue.

    * A record of a compressed batch whose offset is at or beyond the end of the log is dropped.
      Each response contains this end. If the batch is not compressed, it is read as stored.
    * In the topics ``exact``, offsets must increase. After a gap, the record must be the first of
      its batch, and only transaction markers and aborted batches may be in the gap. Other topics do
      not need this check, for example because senders retry frames.

    The headers of stored batches show this, and where to continue after a bad batch. ``stored``
    opens them when they are first needed, or immediately for ``exact`` topics: with TLS, this takes
    up to 30 ms. If Kafka does not respond, the record is read again. A search in a partition ends
    after 2 s, and a call starts no search after 10 s. The next call continues, so that the thread
    can do other work in between. The check takes 0.25 µs for a record without a gap. If ``stored``
    returns ``None``, gaps are not checked, and a bad batch takes a fetch for each of its offsets.
    """

    def __init__(
        self,
        config: dict[str, Any],
        stored: Callable[[], StoredBatches | None],
        exact: Collection[str] = (),
    ) -> None:
        super().__init__(config, stored, exact)
        self._highs: dict[Place, int] = {}
        self._suspects: dict[Place, range] = {}
        """For each partition, the batch that did not begin as it must when it was first read."""
        self._skipped = Causes()
        self._search_until = 0.0

    # --- records ---------------------------------------------------------------------------------

    def poll(self, timeout: float = -1) -> Message | None:
        """Return the next sound record, or another message of the client."""
        until = None if timeout < 0 else time.monotonic() + timeout
        while (message := super().poll(timeout)) is not None and not self._checked([message]):
            if until is not None and (timeout := until - time.monotonic()) <= 0:
                return None
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Return sound records and other messages: fewer than requested if some were dropped."""
        return self._checked(super().consume(num_messages, timeout))

    def _checked(self, batch: list[Message]) -> list[Message]:
        highs, nexts, exact = self._highs, self._nexts, self._exact
        for number, message in enumerate(batch):
            place, offset = (_topic(message), _partition(message)), _offset(message)
            if offset is None or offset >= highs.get(place, 0) or _error(message) is not None:
                return batch[:number] + self._sift(batch[number:])
            if exact and place[0] in exact and offset != nexts.get(place):
                return batch[:number] + self._sift(batch[number:])
            if offset >= nexts.get(place, 0):  # other topics may contain lower offsets again
                nexts[place] = offset + 1
        return batch

    def _sift(self, batch: Sequence[Message]) -> list[Message]:
        """Return the sound messages, except those that are read again after a seek."""
        kept, again = list[Message](), dict[Place, int]()
        self._search_until = time.monotonic() + _SEARCHES
        for message in batch:
            place = message.topic() or "", message.partition() or 0
            if place in again:
                continue
            if place in self.as_stored:
                kept.append(message)
                if message.error() is None:
                    self._nexts[place] = (message.offset() or 0) + 1
                continue
            try:
                end = self._end_of_unsound(place, message)
            except (KafkaException, UnknownError) as error:
                log.info("%s/%d@%s is read again: %r", *place, message.offset(), error)
                end = self._nexts.get(place, self._starts.get(place, OFFSET_STORED))
                if isinstance(error, UnknownError):
                    end = max(end, error.at)
            if end is not None:
                again[place] = end
            elif message.error() is not None:
                kept.append(message)
            elif message.offset() is not None and not self._is_before(place, message):
                kept.append(message)
                self._nexts[place] = max(self._nexts.get(place, 0), (message.offset() or 0) + 1)
        self._go_on({place: at for place, at in again.items() if place not in self.as_stored})
        return kept

    def _end_of_unsound(self, place: Place, message: Message) -> int | None:
        """Return where to continue if a message is not sound; ``None`` to continue after it.

        Raises UnknownError or KafkaException if Kafka does not respond, because then nothing may be
        skipped.
        """
        error, offset, expected = message.error(), message.offset(), self._nexts.get(place)
        if error is not None and error.code() not in UNREADABLE:
            if expected is None or not self._is_consequence(place, message):
                return None
            self.read_as_stored(place, expected)
            return expected
        if offset is None:
            return None
        is_bad = error is not None or offset >= self._high(place, offset)
        is_behind_gap = place[0] in self._exact and expected is not None and offset > expected
        if not is_bad and not is_behind_gap:
            return None
        if expected is None:
            expected = self._first_of(place)
        start = expected if error is None else max(expected, offset)
        batch = self._batch_at(place, start)
        if not is_bad and (batch is None or offset == batch.offsets.start):
            return None
        if batch is not None and batch.can_be_read and self.read_as_stored(place, start):
            return start
        offsets = range(start, start + 1) if batch is None else batch.offsets
        if batch is not None and place[0] in self._exact and self._suspects.get(place) != offsets:
            self._suspects[place] = offsets
            return max(start, offsets.start)  # the client may have left its place
        end = offsets.stop
        self._log(place, f"the rest of a batch from {start} to {end - 1}; it is unreadable")
        return end

    def _first_of(self, place: Place) -> int:
        """Return where reading has begun that was not assigned an offset."""
        where = TopicPartition(*place)
        if self._starts.get(place, OFFSET_STORED) == OFFSET_STORED:
            offset = self.committed([where], timeout=self._time_left())[0].offset
            if offset >= 0:
                return int(offset)
        return self.get_watermark_offsets(where, timeout=self._time_left())[0]

    def _batch_at(self, place: Place, start: int) -> Batch | None:
        """Return the batch from which a record comes that was read at ``start``.

        Raises UnknownError if Kafka does not respond, or if this call has spent its time.
        """
        if self._stored is None:
            return None
        self._time_left()
        return self._stored.first_with_records(place, start, _BUDGET)

    def _time_left(self) -> float:
        """Return the seconds for a request; raise UnknownError if this call has spent its time."""
        left = self._search_until - time.monotonic()
        if left <= 0:
            raise UnknownError(OFFSET_STORED)
        return min(_TIMEOUT, left)

    def _is_consequence(self, place: Place, message: Message) -> bool:
        """Return whether the client has tried to continue at an offset other than the next one.

        The client does so after a wrong offset, perhaps one that was still beyond the end of the
        log. If the next offset was deleted, or the topic was recreated, the client reports this.
        """
        error, expected = message.error(), self._nexts.get(place)
        if error is None or error.code() != KafkaError._AUTO_OFFSET_RESET or expected is None:
            return False
        if message.offset() != expected:
            return True
        low, high = self.get_watermark_offsets(TopicPartition(*place), timeout=self._time_left())
        return low <= expected <= high

    def _is_before(self, place: Place, message: Message) -> bool:
        """Return whether a record of an exact topic has the offset of an earlier record."""
        is_before = place[0] in self._exact and (message.offset() or 0) < self._nexts.get(place, 0)
        if is_before:  # the client does not go back to such an offset
            self._log(place, f"a record with the wrong offset {message.offset()}")
        return is_before

    def _high(self, place: Place, offset: int) -> int:
        """Return the end of a log as of the last fetch, or an earlier end above ``offset``.

        Before an offset counts as too high, the end is requested from Kafka: the last fetch may be
        from a new leader that did not know the end yet. The leader does not respond to this request
        until it knows the end.
        """
        high, where = self._highs.get(place, 0), TopicPartition(*place)
        if offset >= high:
            _, high = self.get_watermark_offsets(where, cached=True)
            if offset >= high:
                _, high = self.get_watermark_offsets(where, timeout=self._time_left())
            self._highs[place] = high
        return high

    def _log(self, place: Place, what: str) -> None:
        omitted = self._skipped.due(place)
        if omitted is not None:
            log.warning("%s/%d: skipped: %s%s", *place, what, more(omitted))
