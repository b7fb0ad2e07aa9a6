"""A consumer group's records in ``reading.<instance>``: proof that it has read, and a lower bound
of its position.

These records outlive the group's offsets, which Kafka deletes if the group has no member for a week
(docs/decisions/0022).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping

from streams.errors import SurroundingsError
from streams.kafka import (
    UNCOMPRESSED,
    AbortedError,
    Cluster,
    KafkaError,
    Producer,
    partitions_of,
    read_live,
    topic_id,
)
from streams.wire import MalformedError
from streams.wire.reading import Reading, decode_reading, reading_key, reading_record

RENEW = 3_600.0
"""Seconds after which a record is written again, with the current position."""
_TIMEOUT = 30.0


class Readings:
    """The records of one group for one topic; ``instance`` may be a pair."""

    def __init__(self, cluster: Cluster, instance: str, topic: str, group: str) -> None:
        self._cluster, self._topic, self._group = cluster, topic, group
        self._log = cluster.topics.reading(instance)
        self._id: uuid.UUID | None = None
        self._producer: Producer | None = None
        self._written: dict[int, float] = {}

    def begin(self) -> None:
        """Reset the state, and read the topic's current id: the topic may have been recreated.

        Later records belong to this id, even if the name then belongs to another topic.
        """
        self._written.clear()
        self._id = topic_id(self._cluster, self._topic)

    def note(self, positions: Mapping[int, int]) -> None:
        """Record that the group has read; ``positions`` are its committed offsets so far.

        Call this before each commit; most calls do nothing. Raises AbortedError if Kafka does not
        accept the record.
        """
        now = time.monotonic()
        due = {p: at for p, at in positions.items() if now - self._written.get(p, -RENEW) >= RENEW}
        if due:
            self._write(due)
            self._written.update(dict.fromkeys(due, now))

    def known(self, partitions: Iterable[int]) -> dict[int, Reading]:
        """Return the group's records of these partitions of this topic.

        Records of the topic before it was deleted and recreated do not count. Records of other
        groups are ignored, because any client with write access can write any record.
        """
        keys = {reading_key(self._topic, p, self._group): p for p in partitions}
        live = read_live(self._cluster, self._log, only=keys)
        found: dict[int, Reading] = {}
        for key, partition in keys.items():
            if key not in live:
                continue
            try:
                found[partition] = decode_reading(live[key])
            except MalformedError as error:
                raise SurroundingsError(
                    f"{self._log}: the record {key.decode()} cannot be read: {error}.",
                    "If a newer version wrote it, use that version; otherwise use another group "
                    "name, or give a start position (--begin, in a program begin=...).",
                ) from error
        return {p: reading for p, reading in found.items() if reading.topic_id == self._topic_id()}

    def _write(self, positions: Mapping[int, int]) -> None:
        if self._producer is None:
            # its error states the remedy if there is no start position
            partitions_of(self._cluster, self._log)
            self._producer = self._cluster.producer(linger_ms=0, **UNCOMPRESSED)
        failed: list[KafkaError] = []
        at = time.time_ns() // 1_000_000
        for partition, position in positions.items():
            key, value = reading_record(
                Reading(self._group, self._topic, self._topic_id(), partition, position, at)
            )
            self._producer.produce(
                self._log,
                key=key,
                value=value,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        left = self._producer.flush(_TIMEOUT)
        if failed or left:
            self._producer = None  # the next attempt uses a new client: this client may be stuck
            why = failed[0].str() if failed else f"no answer for {_TIMEOUT:.0f} s"
            raise AbortedError(
                f"{self._log}: the group's position was not recorded: {why}.",
                self._cluster.remedy("Nothing was committed, so the messages are redelivered."),
            )

    def _topic_id(self) -> uuid.UUID:
        if self._id is None:
            self._id = topic_id(self._cluster, self._topic)
        return self._id
