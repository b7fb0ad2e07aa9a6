"""Read offset ranges of many partitions in bulk, or continuously."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka.bounded_poll import take
from streams.kafka.cluster import Cluster, Message
from streams.kafka.committed import Offsets
from streams.kafka.listing import names_known
from streams.kafka.reader import watermarks

_SLICE = 0.2
"""Seconds per call of the client library; short, so that interrupts are handled."""
_LOOK = 2.0
"""Timeout in seconds for listing topics, which is retried later."""
# Unbound methods, because ``map`` is several times as fast with them.
_error: Callable[[Message], Any] = Message.error
_topic: Callable[[Message], Any] = Message.topic
_partition: Callable[[Message], Any] = Message.partition
_offset: Callable[[Message], Any] = Message.offset

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Offsets of a partition that were deleted before they were read: ``begin`` up to ``end``."""

    topic: str
    partition: int
    begin: int
    end: int


@dataclass(slots=True)
class Spans:
    """Read partitions in parallel, committed records only, in arrival order.

    ``positions`` are the next offsets, initially the start offsets. ``ends`` are exclusive; without
    them, reading never ends. ``patience``: seconds without a record after which the reader checks
    whether Kafka responds. ``name``: consumer group of the reader, which does not join it. With
    access control, the reader must have the right to describe this group.
    """

    cluster: Cluster
    positions: Offsets
    ends: Mapping[Place, int] | None = None
    patience: float = 30.0
    name: str = "capture"
    overtaken: list[Overtaken] = field(default_factory=list)
    """Records deleted before they were read, in the order of detection."""
    _open: set[Place] = field(init=False)
    _heard_at: float = field(init=False)
    _consumer: Any = field(init=False)

    def __post_init__(self) -> None:
        group = f"{self.cluster.topics.prefix}{self.name}"
        self._consumer = self.cluster.consumer(group, enable_partition_eof=True)
        ends = self.ends
        self._open = {
            place for place, at in self.positions.items() if ends is None or at < ends[place]
        }
        self._heard_at = time.monotonic()
        self._consumer.assign([TopicPartition(*p, self.positions[p]) for p in sorted(self._open)])

    @property
    def done(self) -> bool:
        """Return whether every partition was read to its end."""
        return not self._open

    @property
    def left(self) -> int:
        """Return the number of offsets still to be read; 0 if there are no end offsets."""
        ends = self.ends
        return 0 if ends is None else sum(ends[p] - self.positions[p] for p in self._open)

    def add(self, begins: Offsets) -> None:
        """Add partitions with their start offsets, for reading without end offsets."""
        self.positions.update(begins)
        self._open |= set(begins)
        self._consumer.incremental_assign([TopicPartition(*p, begins[p]) for p in sorted(begins)])

    def topics(self) -> dict[str, int]:
        """Return all topics of the cluster with their numbers of partitions.

        Raises KafkaException if the cluster does not respond within 2 s.
        """
        return names_known(self._consumer, _LOOK)

    def read(self) -> list[Message]:
        """Return the next records, possibly an empty list; wait at most 0.2 s.

        Raises SurroundingsError if Kafka does not respond, and KafkaException if it returns an
        error.
        """
        batch = take(self._consumer, _SLICE)
        if not batch:
            self._demand_life()
            return []
        self._heard_at = time.monotonic()
        if any(map(_error, batch)):
            batch = [message for message in batch if not self._took_error(message)]
        return self._within(batch)

    def _within(self, batch: list[Message]) -> list[Message]:
        """Update the partitions' offsets; drop records at or after their ends."""
        places = zip(map(_topic, batch), map(_partition, batch), strict=True)
        latest = dict(zip(places, map(_offset, batch), strict=True))
        ends, over = self.ends, False
        for place, offset in latest.items():
            self.positions[place] = offset + 1
            if ends is not None and offset + 1 >= ends[place]:
                over = over or offset >= ends[place]
                self._end(place)
        if not over or ends is None:
            return batch
        return [m for m in batch if _offset(m) < ends[_topic(m), _partition(m)]]

    def _end(self, place: Place) -> None:
        if self.ends is not None:
            self.positions[place] = self.ends[place]
        if place in self._open:
            self._open.discard(place)
            self._consumer.pause([TopicPartition(*place)])

    def _took_error(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return False
        place = (message.topic() or "", message.partition() or 0)
        if error.code() == KafkaError._PARTITION_EOF:
            if self.ends is not None and (message.offset() or 0) >= self.ends[place]:
                self._end(place)
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._go_on(place)
        else:
            raise KafkaException(error)
        return True

    def _go_on(self, place: Place) -> None:
        """Continue at the new start of a trimmed log."""
        low, _ = watermarks(self._consumer, *place)
        at = self.positions[place]
        if low <= at:
            raise SurroundingsError(
                f"{place[0]}/{place[1]} has no offset {at:,}: its log ends earlier.",
                "The topic was recreated; record it into another folder.",
            )
        end = low if self.ends is None else min(low, self.ends[place])
        self.overtaken.append(Overtaken(*place, at, end))
        self.positions[place] = end
        if self.ends is not None and end >= self.ends[place]:
            self._end(place)
            return
        self._consumer.incremental_unassign([TopicPartition(*place)])
        self._consumer.incremental_assign([TopicPartition(*place, low)])

    def _demand_life(self) -> None:
        if time.monotonic() - self._heard_at < self.patience:
            return
        place = min(self._open)
        try:
            self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=self.patience)
        except KafkaException as error:
            raise SurroundingsError(
                f"Topic {place[0]} cannot be read: no answer for {self.patience:.0f} s."
            ) from error
        self._heard_at = time.monotonic()

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
