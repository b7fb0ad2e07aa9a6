"""Where a consumer group begins in a queue, and where it must not guess.

Kafka forgets the offsets of a group without members after ``offsets.retention.minutes``. So the
group also has records in ``reading.<instance>``, which is compacted (docs/decisions/0019):

    1. it has no offset and no record      it has received nothing: begin at the log's beginning
    2. it has an offset                    go on there, if the log still has it
    3. it has a record and no offset       Kafka has forgotten the offset: PositionLostError

The record is written before the first commit of each assignment, and the group has an offset before
that. So whoever has received has a record, and whoever has a record once had an offset.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from streams.errors import SurroundingsError, UsageError
from streams.kafka import (
    AbortedError,
    Cluster,
    KafkaError,
    Producer,
    partitions_of,
    read_begins,
    read_ends,
    read_live,
    topic_id,
)
from streams.wire import MalformedError
from streams.wire.reading import Reading, decode_reading, reading_record

Begin = Literal["beginning", "end"] | int | Mapping[int, int]
"""Where partitions without a position begin: an offset, of one partition or by partition."""

RENEW = 3_600.0
"""Seconds after which a record is written again, so that its position is a useful one."""
_TIMEOUT = 30.0


class PositionLostError(SurroundingsError):
    """A group has received from a queue, and its position there is gone."""


class Beginning:
    """The beginnings of one group in one queue of an instance (or pair)."""

    def __init__(
        self, cluster: Cluster, instance: str, topic: str, group: str, begin: Begin | None = None
    ) -> None:
        self._cluster, self._topic, self._group = cluster, topic, group
        self._readings = cluster.topics.reading(instance)
        self._begin = begin
        self._id: uuid.UUID | None = None
        self._producer: Producer | None = None
        self._written: dict[int, float] = {}

    def positions(self, committed: Mapping[int, int]) -> dict[int, int]:
        """Return where to read each partition; ``committed`` is below 0 where nothing is.

        Raises PositionLostError where that is not certain and nobody has said ``begin``, UsageError
        where ``begin`` cannot be. Forgets which records were written.
        """
        self._written.clear()
        self._id = None
        lows = {p: at for (_, p), at in read_begins(self._cluster, [self._topic]).items()}
        lost = [p for p, at in committed.items() if at < lows.get(p, 0)]
        if not lost:
            return dict(committed)
        known = self._known() if any(committed[p] < 0 for p in lost) else {}
        chosen: dict[int, int] = {}
        for p in sorted(lost):
            if self._begin is not None:
                chosen[p] = self._chosen(p, lows[p], len(lows))
            elif committed[p] >= 0:
                raise self._trimmed(p, committed[p], lows[p])
            elif p in known:
                raise self._forgotten(known[p])
            else:
                chosen[p] = lows[p]
        return {**committed, **chosen}

    def note(self, positions: Mapping[int, int]) -> None:
        """Write down that the group receives; ``positions`` are what it has committed so far.

        To be called before each commit: most calls do nothing. Raises AbortedError where Kafka
        does not take it.
        """
        now = time.monotonic()
        due = {p: at for p, at in positions.items() if now - self._written.get(p, -RENEW) >= RENEW}
        if due:
            self._write(due)
            self._written.update(dict.fromkeys(due, now))

    # --- records ---------------------------------------------------------------------------------

    def _known(self) -> dict[int, Reading]:
        """Return the group's records of this topic, by partition."""
        found: dict[int, Reading] = {}
        for key, value in read_live(self._cluster, self._readings).items():
            try:
                reading = decode_reading(value)
            except MalformedError as error:
                name = key.decode(errors="replace")
                raise SurroundingsError(
                    f"{self._readings}: the record {name} cannot be read: {error}.",
                    "A newer version has written it: use that one.",
                ) from error
            if (reading.group, reading.topic) == (self._group, self._topic):
                found[reading.partition] = reading
        return {p: reading for p, reading in found.items() if reading.topic_id == self._topic_id()}

    def _write(self, positions: Mapping[int, int]) -> None:
        if self._producer is None:
            partitions_of(self._cluster, self._readings)  # which says what to do without it
            self._producer = self._cluster.producer(linger_ms=0)
        failed: list[KafkaError] = []
        at = time.time_ns() // 1_000_000
        for partition, position in positions.items():
            key, value = reading_record(
                Reading(self._group, self._topic, self._topic_id(), partition, position, at)
            )
            self._producer.produce(
                self._readings,
                key=key,
                value=value,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        left = self._producer.flush(_TIMEOUT)
        if failed or left:
            why = failed[0].str() if failed else f"no answer for {_TIMEOUT:.0f} s"
            raise AbortedError(
                f"{self._readings}: who receives was not written down: {why}.",
                self._cluster.remedy("What was received comes again."),
            )

    def _topic_id(self) -> uuid.UUID:
        if self._id is None:
            self._id = topic_id(self._cluster, self._topic)
        return self._id

    # --- choosing --------------------------------------------------------------------------------

    def _chosen(self, partition: int, low: int, partitions: int) -> int:
        begin = self._begin
        if begin == "beginning":
            return low
        high = read_ends(self._cluster, [self._topic])[self._topic, partition]
        if begin == "end":
            return high
        if isinstance(begin, Mapping):
            at = begin.get(partition)
        else:
            at = begin if partitions == 1 and isinstance(begin, int) else None
        if at is None:
            raise UsageError(
                f"{self._topic}/{partition}: nothing says where to begin in this partition.",
                f"Say {partition}:OFFSET too; the queue has {partitions} partitions.",
            )
        if not low <= at <= high:
            raise UsageError(
                f"{self._topic}/{partition} has no offset {at}: it goes from {low} to {high}.",
                "Say one of these, or one between them.",
            )
        return at

    def _forgotten(self, reading: Reading) -> PositionLostError:
        at = datetime.fromtimestamp(reading.at / 1000, UTC).isoformat(timespec="seconds")
        return PositionLostError(
            f"{self._topic}/{reading.partition}: the group {self._group} has received from this "
            f"queue, and Kafka has no position of it any more. By {at} it had received everything "
            f"below {reading.position}, and may have received more.",
            _REMEDY.format(f"{reading.partition}:{reading.position}"),
        )

    def _trimmed(self, partition: int, position: int, low: int) -> PositionLostError:
        return PositionLostError(
            f"{self._topic}/{partition}: the group {self._group} has received everything below "
            f"{position}, but the queue begins at {low}: what is between was trimmed behind "
            "another group.",
            _REMEDY.format(f"{partition}:{low}"),
        )


_REMEDY = (
    "Say where it begins: --from {} (an offset), --from beginning (everything again) or --from end "
    "(skip what waits); in a program begin=...; docs/operation.md says more."
)

__all__ = ["RENEW", "Begin", "Beginning", "PositionLostError"]
