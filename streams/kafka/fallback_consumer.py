"""A consumer that reads a partition as stored while Kafka's client (librdkafka) cannot read it."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from confluent_kafka import (
    OFFSET_STORED,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from streams.causes import Causes, more
from streams.kafka.silent_partitions import SilentPartitions
from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_batches import StoredBatches
from streams.kafka.stored_partitions import StoredPartitions

log = logging.getLogger("hopline.kafka")

_SLICE = 0.05
"""Seconds to wait for the client while other partitions are read as stored."""


class FallbackConsumer(Consumer):
    """A consumer that can read partitions as stored, each for a minute.

    Meanwhile the client is paused there. Compressed batches are not read as stored, because a
    broker has not checked their records. If the client has stopped in a partition of the topics
    ``exact`` at records that it cannot read, the partition is read as stored after 1 to 2 s.

    ``stored`` opens the reader of stored batches when it is first needed, or immediately for
    ``exact`` topics: with TLS, this takes up to 30 ms. If it returns ``None``, the client reads all
    partitions.
    """

    def __init__(
        self,
        config: dict[str, Any],
        stored: Callable[[], StoredBatches | None],
        exact: Collection[str] = (),
    ) -> None:
        super().__init__(config)
        self._open_stored, self._exact = stored, exact
        self._starts: dict[Place, int] = {}
        self._nexts: dict[Place, int] = {}
        """For each partition, the offset after the last record that was returned."""
        self._paused = set[Place]()
        self._silent, self._causes = SilentPartitions(), Causes()
        self.as_stored = StoredPartitions(with_ends=bool(config.get("enable.partition.eof")))
        self._client_first = False
        if exact:
            _ = self._stored

    @cached_property
    def _stored(self) -> StoredBatches | None:
        return self._open_stored()

    # --- positions -------------------------------------------------------------------------------

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read only these partitions, starting at their offsets."""
        self.as_stored.end([*self.as_stored])
        self._paused.clear()
        self._begin(partitions)
        super().assign(partitions)
        super().resume(partitions)  # the client does not forget that it was paused

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions too."""
        self.as_stored.end(_places(partitions))
        self._paused.difference_update(_places(partitions))
        self._begin(partitions)
        super().incremental_assign(partitions)
        super().resume(partitions)

    def seek(self, partition: TopicPartition) -> None:
        """Continue at an offset."""
        place = partition.topic, partition.partition
        if place in self.as_stored:
            self.as_stored.seek(place, partition.offset)
        else:
            super().seek(partition)
        self._begin([partition])

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Return no records of these partitions."""
        super().pause(partitions)
        self._paused.update(_places(partitions))

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Return records of these partitions again."""
        self._paused.difference_update(_places(partitions))
        super().resume([p for p in partitions if (p.topic, p.partition) not in self.as_stored])

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the next offsets, also after transaction markers."""
        found = super().position(partitions)
        for one in found:
            if (place := (one.topic, one.partition)) in self.as_stored:
                one.offset = self.as_stored.next_offset(place)
        return found

    def next_offset(self, place: Place) -> int | None:
        """Return the offset after the last returned record, or the start offset."""
        return self._nexts.get(place)

    def _begin(self, partitions: Sequence[TopicPartition]) -> None:
        for one in partitions:
            place = one.topic, one.partition
            self._starts[place] = one.offset
            self._nexts.pop(place, None)
            if one.offset >= 0:
                self._nexts[place] = one.offset

    def _go_on(self, offsets: Mapping[Place, int]) -> None:
        """Continue at these offsets, even if the client has given up the partitions."""
        gave_up = False
        for place, offset in offsets.items():
            try:
                self.seek(TopicPartition(*place, offset))
            except KafkaException as error:
                log.info("%s/%d@%d: %s", *place, offset, error)
                gave_up = error.args[0].code() == KafkaError._STATE or gave_up
                self._nexts[place] = offset
        if gave_up:
            known, assigned = {**self._starts, **self._nexts}, self.assignment()
            at = [TopicPartition(*p, known.get(p, OFFSET_STORED)) for p in _places(assigned)]
            super().assign(at)
            super().pause([TopicPartition(*p) for p in {*self._paused, *self.as_stored}])

    # --- records ---------------------------------------------------------------------------------

    def poll(self, timeout: float = -1) -> Message | None:
        """Return the next record or another message; ``None`` if there is none."""
        if self.as_stored:
            return next(iter(self._read(1, timeout)), None)
        message = super().poll(timeout)
        if message is None and self._exact:
            self._look_for_silent()
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Return the next records and other messages."""
        if self.as_stored:
            return self._read(num_messages, timeout)
        read = super().consume(num_messages, timeout)
        if len(read) < num_messages and self._exact:
            self._look_for_silent(read)
        return read

    def read_as_stored(self, place: Place, start: int) -> bool:
        """Read a partition as stored; return whether this is possible."""
        if self._stored is None:
            return False
        if place not in self.as_stored:
            super().pause([TopicPartition(*place)])
            self.as_stored.begin(self._stored, place, start)
            if (omitted := self._causes.due(place)) is not None:
                log.warning(
                    "%s/%d@%d: malformed batches: the partition is read as stored for a minute%s",
                    *place, start, more(omitted),
                )  # fmt: skip
        return True

    def close(self) -> None:
        """Leave the group and close the connections."""
        self.as_stored.end([*self.as_stored])
        try:
            if "_stored" in vars(self) and self._stored is not None:
                self._stored.close()
        finally:
            super().close()

    def _read(self, most: int, timeout: float) -> list[Message]:
        """Return messages as soon as there are some, after ``timeout`` seconds at the latest."""
        until = math.inf if timeout < 0 else time.monotonic() + timeout
        while not (read := self._read_now(most, min(until - time.monotonic(), _SLICE))):
            if time.monotonic() >= until:
                break
        return read

    def _read_now(self, most: int, timeout: float) -> list[Message]:
        """Return messages of the client and stored records; they take turns to be the first."""
        # First of all: records that are returned here become the next offsets only afterwards.
        self._end_as_stored()
        self._look_for_silent()
        self._client_first = not self._client_first
        read = self._of_client(most, 0) if self._client_first else []
        read += self.as_stored.take(most - len(read), self._paused)
        if len(read) < most:
            read += self._of_client(most - len(read), 0 if read else max(0.0, timeout))
        return read

    def _of_client(self, most: int, timeout: float) -> list[Message]:
        """Return messages about the other partitions; some may still be in the client's buffer."""
        read = super().consume(most, timeout)
        return [m for m in read if (m.topic(), m.partition()) not in self.as_stored]

    def _look_for_silent(self, read: Collection[Message] = ()) -> None:
        """Read silent partitions as stored; those of records that were just ``read`` are not."""
        if self._stored is None or not self._silent.is_due:
            return
        assigned = self._assigned()
        self.as_stored.end([place for place in self.as_stored if place not in assigned])
        others = {*self._paused, *self.as_stored, *((m.topic(), m.partition()) for m in read)}
        nexts = {
            place: offset
            for place, offset in self._nexts.items()
            if place[0] in self._exact and place in assigned and place not in others
        }
        for place in self._silent.find(nexts, self._end_of_log, self._stored):
            self.read_as_stored(place, nexts[place])

    def _assigned(self) -> set[Place]:
        return set(_places(self.assignment()))

    def _end_of_log(self, place: Place) -> int:
        return int(self.get_watermark_offsets(TopicPartition(*place), cached=True)[1])

    def _end_as_stored(self) -> None:
        if over := self.as_stored.over():
            assigned = self._assigned()
            over = {place: offset for place, offset in over.items() if place in assigned}
            self._go_on(over)
            resumed = [place for place in over if place not in self._paused]
            super().resume([TopicPartition(*place) for place in resumed])


def _places(partitions: Iterable[TopicPartition]) -> list[Place]:
    return [(one.topic, one.partition) for one in partitions]
