"""Detect a partition that a consumer no longer fetches, although it has records to read.

After leaders have changed several times within seconds, librdkafka may wait forever for a response
about a partition's leader epoch (issue 4492), without an error. The client continues to work for
its other partitions. Only a new client can read the stalled partition.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any, Protocol

from confluent_kafka import KafkaException, TopicPartition

from streams.kafka.statistics import ReadStatistics, Statistics

Place = tuple[str, int]
"""Topic and partition."""

_QUIET = 30.0
"""Seconds without a fetch after which the log end is requested, to detect records that were not
fetched."""
_EVERY = 10.0
"""Seconds between such checks."""
_TIMEOUT = 1.0


class Fetching(Protocol):
    """A consumer."""

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> Any:
        """Return the current first and end offset of a partition, from Kafka."""


class StalledFetch:
    """Find stalled partitions in a consumer's statistics; ``clock`` is in seconds.

    A partition is stalled if its fetch position is below the last stable offset in two successive
    checks and has not changed, although the application takes records. The application takes
    records if the client has reported an empty buffer, or has fetched other records in the
    meantime. (A client whose buffer has records may not be fetching because its application is
    slow. All partitions share the buffer, so it is seldom empty if one of them has much traffic.)
    The reports are also passed to ``also``.
    """

    def __init__(
        self,
        also: ReadStatistics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._also, self._clock = also, clock
        self._fetched: dict[Place, tuple[int, float]] = {}
        """The next offset to fetch of each partition, and the time of its last change."""
        self._behind: dict[Place, int] = {}
        self._fetched_at = 0.0
        """The time of the last report in which a next offset had changed."""
        self.is_drained = False
        """Whether the client buffered no records at its last report."""
        self._reported = False
        self._look_at = 0.0

    def report(self, report: Statistics) -> None:
        """Process a report of the client; raise an exception if it cannot be read."""
        said = {
            (topic, int(number)): (int(partition["next_offset"]), int(partition["fetchq_cnt"]))
            for topic, about in report["topics"].items()
            for number, partition in about["partitions"].items()
            if partition["next_offset"] >= 0 and partition["fetch_state"] != "none"
        }
        now, before = self._clock(), self._fetched
        unchanged = {p for p, (offset, _) in said.items() if p in before and before[p][0] == offset}
        self._fetched = {
            place: before[place] if place in unchanged else (offset, now)
            for place, (offset, _) in said.items()
        }
        if said.keys() & before.keys() - unchanged:
            self._fetched_at = now
        self.is_drained, self._reported = not any(count for _, count in said.values()), True
        if self._also is not None:
            self._also(report)

    def find(self, consumer: Fetching, paused: Collection[Place] = ()) -> Place | None:
        """Return a stalled partition, if any; ``paused`` partitions are not checked.

        Sends requests only about partitions from which nothing was fetched for 30 s. The call takes
        at most a second if their leader does not respond.
        """
        now = self._clock()
        if now < self._look_at or not self._reported:
            return None
        self._look_at, self._reported = now + _EVERY, False
        before, self._behind = self._behind, {}
        for place, (offset, since) in list(self._fetched.items()):
            takes = self.is_drained or self._fetched_at - since >= _QUIET
            if now - since < _QUIET or place in paused or not takes:
                continue
            try:
                end = consumer.get_watermark_offsets(TopicPartition(*place), timeout=_TIMEOUT)[1]
            except KafkaException:  # the leader is down, so no client can fetch the partition
                break
            if end <= offset:
                self._fetched[place] = offset, now
            elif before.get(place) == offset:
                return place
            else:
                self._behind[place] = offset
        return None

    def offset_of(self, place: Place) -> int:
        """Return the next offset to fetch in a partition that :meth:`find` has returned."""
        return self._fetched[place][0]
