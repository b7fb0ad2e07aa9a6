"""Find where a consumer group starts to read a queue; raise an error if the position is lost.

Kafka deletes the offsets of a group without members after ``offsets.retention.minutes``. So the
group also has records in ``reading.<instance>``, which is compacted (docs/decisions/0022). The
cases are:

    1. neither offset nor record    it has received nothing: start at the log's beginning
    2. an offset                    continue there, if the log still has it
    3. a record but no offset       Kafka has lost the offset: PositionLostError

Each assignment writes the record before the first message is committed. At that time, the group
already has an offset, because start positions are committed first. So every group that has received
messages has a record, and every group with a record had an offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from streams.client.readings import Readings
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, read_begins, read_ends
from streams.prose import counted
from streams.wire.reading import Reading

Begin = Literal["beginning", "end"] | int | Mapping[int, int]
"""The start position of partitions without an offset: one for all partitions, or one for each."""


class PositionLostError(SurroundingsError):
    """A group has received messages from a queue, but its committed offset is lost."""


class Beginning:
    """The start positions of one group in one queue of an instance (or pair)."""

    def __init__(
        self, cluster: Cluster, instance: str, topic: str, group: str, begin: Begin | None = None
    ) -> None:
        self._cluster, self._topic, self._group = cluster, topic, group
        self._readings = Readings(cluster, instance, topic, group)
        self._begin = begin

    def positions(self, committed: Mapping[int, int]) -> dict[int, int]:
        """Return the start offset of each partition; a negative ``committed`` means no offset.

        Raises PositionLostError if the position is unknown and ``begin`` is not given, and
        UsageError if ``begin`` is impossible. Afterwards, the group's records are written again.
        """
        self._readings.begin()
        lows = {p: at for (_, p), at in read_begins(self._cluster, [self._topic]).items()}
        lost = [p for p, at in committed.items() if at < lows.get(p, 0)]
        if not lost:
            return dict(committed)
        unset = [p for p in lost if committed[p] < 0 and self._begin is None]
        known = self._readings.known(unset) if unset else {}
        chosen: dict[int, int] = {}
        for p in sorted(lost):
            if self._begin is not None:
                chosen[p] = self._chosen(p, lows.get(p, 0), len(lows))
            elif committed[p] >= 0:
                raise self._trimmed(p, committed[p], lows[p])
            elif p in known:
                raise self._forgotten(known[p])
            else:  # this broker may not know a partition that was just added
                chosen[p] = lows.get(p, 0)
        return {**committed, **chosen}

    def note(self, positions: Mapping[int, int]) -> None:
        """Record that the group receives messages, like :meth:`Readings.note`."""
        self._readings.note(positions)

    # --- choosing --------------------------------------------------------------------------------

    def _chosen(self, partition: int, low: int, partitions: int) -> int:
        begin = self._begin
        if begin == "beginning":
            return low
        high = read_ends(self._cluster, [self._topic]).get((self._topic, partition), low)
        if begin == "end":
            return high
        if isinstance(begin, Mapping):
            at = begin.get(partition)
        else:
            at = begin if partitions == 1 and isinstance(begin, int) else None
        if at is None:
            raise UsageError(
                f"{self._topic}/{partition} has no start position.",
                f"Give {partition}:OFFSET too; the queue has {counted(partitions, 'partition')}.",
            )
        if not low <= at <= high:
            raise UsageError(
                f"{self._topic}/{partition} has no offset {at}: offsets range from {low} to "
                f"{high}.",
                "Give an offset in this range.",
            )
        return at

    def _forgotten(self, reading: Reading) -> PositionLostError:
        return PositionLostError(
            f"{self._topic}/{reading.partition}: the group {self._group} has received from this "
            f"queue, but Kafka has lost its committed offsets. By {reading.when} it had received "
            f"everything below {reading.position}, and may have received more.",
            _REMEDY.format(f"{reading.partition}:{reading.position}"),
        )

    def _trimmed(self, partition: int, position: int, low: int) -> PositionLostError:
        return PositionLostError(
            f"{self._topic}/{partition}: the group {self._group} has received everything below "
            f"{position}, but the queue begins at {low}: the messages in between were trimmed "
            "after other groups had received them.",
            _REMEDY.format(f"{partition}:{low}"),
        )


_REMEDY = (
    "Give the start position: --begin {} (an offset), --begin beginning (everything again) or "
    "--begin end (skip waiting messages); in a program begin=... See docs/operation.md."
)

__all__ = ["Begin", "Beginning", "PositionLostError"]
