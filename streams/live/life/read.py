"""Find the records of one dialog in the topics of a cluster, without reading all of them.

A conversation uses one partition of each topic, and none of its records has a timestamp before its
BEGIN. So the dialog's few events are read first. The events name the initiator's instance, whose
``cmd`` contains the BEGIN, and all other records are read from the time of BEGIN on. If both sides
are closed, records are read until some minutes after that. A log is in append order. Kafka finds
the first record with a timestamp at or after a given time, so no record before that offset is
needed. If the events were deleted (after a week), the whole topics are read.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from streams.errors import EventKind, SurroundingsError
from streams.kafka import (
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    first_since,
    read_begins,
    size_of,
    take,
)
from streams.kafka.listing import topic_names
from streams.live.life.records import (
    KEPT,
    KINDS,
    BrokerEvent,
    Frame,
    Issued,
    Kept,
    Record,
    Sieve,
)
from streams.prose import counted, listed
from streams.protocol import State
from streams.wire.partition import partition_of
from streams.wire.place import place_of

Place = tuple[str, int]
"""Topic and partition."""

MARGIN = 300_000
"""The maximum difference between the clocks of a dialog's timestamps, in milliseconds."""
_SLICE = 0.2
_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for reading: the number of records kept, their bytes, the duration in seconds."""

    records: int = 50_000
    size: int = 64 << 20
    seconds: float = 20.0


@dataclass(slots=True)
class Reading:
    """The records of a dialog in log order; ``left_out``: sentences about missing records.

    Only the last state of each endpoint is kept. ``size`` is the sum of the records' ``weight_of``.
    """

    records: list[Record] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    passed: int = 0
    size: int = 0


def read_dialog(
    cluster: Cluster,
    conversation: uuid.UUID,
    bounds: Bounds | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Reading:
    """Read the records of a dialog; raise SurroundingsError if Kafka does not respond."""
    try:
        return _Search(cluster, conversation, bounds or Bounds(), clock).run()
    except KafkaException as error:
        raise cluster.unreachable(error, _TIMEOUT) from error


class _Search:
    def __init__(
        self,
        cluster: Cluster,
        conversation: uuid.UUID,
        bounds: Bounds,
        clock: Callable[[], float],
    ) -> None:
        self._cluster, self._conversation, self._bounds = cluster, conversation, bounds
        self._clock, self._deadline = clock, clock() + bounds.seconds
        self._sieve = Sieve(conversation, cluster.topics)
        self._found = Reading()
        self._states: dict[object, tuple[int, int]] = {}  # index, weight of the last state
        self._full = False

    def run(self) -> Reading:
        """Read the events, then the BEGIN, then all other records."""
        places = self._places()
        topics = self._cluster.topics
        events = {p for p in places if p[0] == topics.event}
        self._read(dict.fromkeys(events), {})
        broker_events = [r.event for r in self._found.records if isinstance(r, BrokerEvent)]
        since = None
        if broker_events:
            begins = {topics.cmd(str(event["instance"])) for event in broker_events}
            commands = {p for p in places if p[0] in begins}
            self._read(dict.fromkeys(commands), {})
            events |= commands
            since = self._begin_time(broker_events)
        rest = places - events
        starts = self._starts(rest, since)
        self._read(starts, self._ends(set(starts), broker_events))
        self._report_trimmed(starts, since)
        return self._found

    def _places(self) -> set[Place]:
        """Return the partitions that can contain records of the dialog."""
        found: set[Place] = set()
        for topic, count in topic_names(self._cluster, _TIMEOUT).items():
            place = place_of(topic, self._cluster.topics)
            if place is None or place.kind not in KINDS or not count:
                continue
            mine = [partition_of(self._conversation, count)]
            found.update((topic, p) for p in (range(count) if place.kind == "queue" else mine))
        return found

    def _begin_time(self, events: Collection[Mapping[str, object]]) -> int | None:
        """Return the time of the dialog's first record; ``None`` if it is unknown."""
        stored = [r.command.stored_at for r in self._found.records if isinstance(r, Issued)]
        times = [int(str(event["at"])) for event in events]
        return min(stored + times) - MARGIN if stored else None

    def _starts(self, places: set[Place], since: int | None) -> dict[Place, int | None]:
        if since is None:
            return dict.fromkeys(places)
        # Partitions that are left out have only older records, so none of this dialog.
        return dict(first_since(self._cluster, places, since))

    def _ends(
        self, places: set[Place], events: Collection[Mapping[str, object]]
    ) -> dict[Place, int]:
        """Return the time at which reading ends: some minutes after the end of a closed dialog."""
        if not _is_over(events):
            return {}
        last = max(int(str(event["at"])) for event in events) + MARGIN
        return dict(first_since(self._cluster, places, last))

    # --- reading ---------------------------------------------------------------------------------

    def _read(self, starts: Mapping[Place, int | None], ends: Mapping[Place, int]) -> None:
        """Read partitions in parallel, from the given offsets to the given or current ends."""
        begins = {place: at for place, at in starts.items() if at != ends.get(place, -1)}
        if not begins or self._full:
            return
        consumer = self._cluster.consumer(
            f"{self._cluster.topics.prefix}life",
            auto_offset_reset="earliest",
            enable_partition_eof=True,
        )
        try:
            consumer.assign(
                [TopicPartition(*p, _FIRST if a is None else a) for p, a in begins.items()]
            )
            self._drain(consumer, set(begins), ends)
        finally:
            consumer.close()

    def _drain(self, consumer: Consumer, left: set[Place], ends: Mapping[Place, int]) -> None:
        quiet_since = self._clock()
        while left and not self._full:
            batch = take(consumer, _SLICE)
            now = self._clock()
            quiet_since = now if batch else quiet_since
            if now - quiet_since > _TIMEOUT:
                raise SurroundingsError(
                    f"Topic {min(left)[0]} cannot be read: no answer for {_TIMEOUT:.0f} s."
                )
            if now > self._deadline:
                topics = listed(sorted({topic for topic, _ in left}), 3)
                self._stop(
                    f"records of {topics} that were not read within {self._bounds.seconds:g} s"
                )
                return
            self._found.passed += len(batch)
            for message in batch:
                self._take(message, consumer, left, ends)

    def _take(
        self, message: Message, consumer: Consumer, left: set[Place], ends: Mapping[Place, int]
    ) -> None:
        place = (message.topic() or "", message.partition() or 0)
        error = message.error()
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            left.discard(place)
        elif (message.offset() or 0) >= ends.get(place, _NEVER):
            if place in left:
                left.discard(place)
                consumer.pause([TopicPartition(*place)])
        elif (record := self._sieve(message)) is not None:
            self._keep(record, weight_of(message, record))

    def _keep(self, record: Record, weight: int) -> None:
        if self._full:
            return
        found, bounds = self._found, self._bounds
        endpoint = record.endpoint if isinstance(record, Kept) else None
        at, replaced = self._states.get(endpoint, (len(found.records), 0))
        size = found.size + weight - replaced
        if at >= bounds.records:
            self._stop(f"all but the first {counted(bounds.records, 'record')} found")
        elif size > bounds.size:
            kept = counted(len(found.records), "record")
            self._stop(f"all but the first {kept} found, because they are large")
        else:
            found.records[at : at + 1] = [record]
            found.size = size
            if endpoint is not None:
                self._states[endpoint] = at, weight

    def _stop(self, sentence: str) -> None:
        self._full = True
        self._found.left_out.append(sentence)

    def _report_trimmed(self, starts: Mapping[Place, int | None], since: int | None) -> None:
        """Report the logs that begin later than the dialog may have begun."""
        begins = read_begins(self._cluster, sorted({topic for topic, _ in starts}))
        gone = {
            topic
            for (topic, partition), at in starts.items()
            if (first := begins.get((topic, partition), 0)) and (at is None or at <= first)
        }
        if gone and not self._full:
            names = listed(sorted(gone), 3)
            when = "" if since is None else ", if they existed"
            self._found.left_out.append(f"processed records of {names}, which were trimmed{when}")


def weight_of(message: Message, record: Record) -> int:
    """Return the bytes to count for a record: the message, without the omitted part of its body."""
    size = size_of(message)
    if isinstance(record, Kept):
        return _DECODED * size
    return size - max(0, record.size - KEPT) if isinstance(record, (Frame, Issued)) else size


def _is_over(events: Collection[Mapping[str, object]]) -> bool:
    """Return whether both sides have reported a state and are closed."""
    states = {
        (e["instance"], e["database"], e["from_initiator"]): e["state"]
        for e in events
        if e["event"] == EventKind.CONVERSATION and e["state"]
    }
    sides = {initiator for _, _, initiator in states}
    return sides == {True, False} and set(states.values()) == {State.CD.name}


_FIRST = -2  # librdkafka: the first record
_NEVER = 1 << 62
_DECODED = 32
"""The size of a decoded state relative to its record; 9 kB of small numbers take 200 kB."""
