"""Record topics of Kafka: the loop between the client library and a folder of containers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams.capture.batch import Batch
from streams.capture.folder import CaptureFolder
from streams.capture.manifest import Gap, Recording
from streams.capture.recording import flat, widened
from streams.kafka import Cluster, KafkaException, Message, Spans, read_catalog
from streams.kafka.listing import topic_names
from streams.wire.evolution import learned_schemas, own_schemas
from streams.wire.id_secret import secret_owner

_MAY_HAVE_SECRETS = "reading."
_PROGRESS_EVERY = 1.0
_PART_AT_LEAST_EVERY = 300.0
"""Seconds after which a recording without an end completes a part.

After a crash, the records of complete parts need not be read again, so trimming loses none of them.
"""

# Unbound methods, because ``map`` with them is several times as fast, and is type-checked.
_topic: Callable[[Message], Any] = Message.topic
_partition: Callable[[Message], Any] = Message.partition
_offset: Callable[[Message], Any] = Message.offset
_timestamp: Callable[[Message], Any] = Message.timestamp
_key: Callable[[Message], Any] = Message.key
_value: Callable[[Message], Any] = Message.value
_headers: Callable[[Message], Any] = Message.headers


Choose = Callable[[Mapping[str, int]], Sequence[str]]
"""Selects the topics to record; topics are given by name with their numbers of partitions."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a recording; ``left`` in offsets, ``rate`` in records per second."""

    records: int
    left: int
    rate: float


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of a recording: ``records`` of this run, ``unreadable`` headers."""

    records: int
    seconds: float
    unreadable: int
    complete: bool


def learn_from(cluster: Cluster) -> tuple[str, ...]:
    """Return the schemas of the cluster's records, and the schemas of this version."""
    if cluster.topics.catalog in topic_names(cluster):
        read_catalog(cluster)  # registers the announced schemas
    return (*own_schemas(), *learned_schemas())


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Record into folders until the end, or until ``stopped``.

    ``monotonic`` is a clock in seconds. Without end offsets, the recorder looks for new topics
    every ``look_every`` seconds; new topics that ``chosen`` accepts are recorded from their
    beginnings. ``patience`` is the number of seconds for which Kafka may be unavailable.
    """

    monotonic: Callable[[], float]
    stopped: Callable[[], bool]
    report: Callable[[Progress], None] = lambda _: None
    missed: Callable[[Gap], None] = lambda _: None
    chosen: Choose | None = None
    look_every: float = 5.0
    patience: float = 30.0

    def record(self, cluster: Cluster, folder: CaptureFolder, recording: Recording) -> Recorded:
        """Record into the folder, and complete it.

        A recording with end offsets that is stopped before them stays incomplete and can be
        resumed.
        """
        started = self.monotonic()
        try:
            records, unreadable, complete = self._read(cluster, folder, recording)
            if complete:
                folder.close()
            else:
                folder.finish_part()
        finally:
            folder.leave()
        return Recorded(records, self.monotonic() - started, unreadable, complete)

    def _read(
        self, cluster: Cluster, folder: CaptureFolder, recording: Recording
    ) -> tuple[int, int, bool]:
        """Return (records written, records with unreadable headers, whether all were read)."""
        known = flat(folder.positions)
        begins = flat(recording.begins) | {
            place: at for place, at in known.items() if place[0] in recording.begins
        }
        ends = None if recording.ends is None else flat(recording.ends)
        spans = Spans(cluster, begins, ends, self.patience)
        reported_at = part_since = looked = self.monotonic()
        records = unreadable = before = 0
        try:
            while not spans.done and not self.stopped():
                messages = without_secrets(spans.read(), recording.topics)
                if messages:
                    batch, damaged = columns(messages)
                    folder.write_batch(batch)
                    records, unreadable = records + len(messages), unreadable + damaged
                while spans.overtaken:
                    gone = spans.overtaken.pop(0)
                    gap = Gap(gone.topic, gone.partition, gone.begin, gone.end)
                    folder.miss(gap)
                    self.missed(gap)
                now = self.monotonic()
                if now - reported_at >= _PROGRESS_EVERY:
                    rate = (records - before) / (now - reported_at)
                    self.report(Progress(records, spans.left, rate))
                    reported_at, before = now, records
                if ends is None and self.chosen is not None and now - looked >= self.look_every:
                    recording = _look(cluster, folder, recording, spans, self.chosen)
                    looked = now
                if ends is None and now - part_since >= _PART_AT_LEAST_EVERY:
                    folder.finish_part()
                    folder.name_schemas(learn_from(cluster))
                    part_since = now
            return records, unreadable, ends is None or spans.done
        finally:
            spans.close()


def _look(
    cluster: Cluster, folder: CaptureFolder, known: Recording, spans: Spans, chosen: Choose
) -> Recording:
    """Add new topics; if Kafka is unavailable, retry later."""
    try:
        names = spans.topics()
        new = {name: names[name] for name in chosen(names) if name not in known.begins}
        if not new:
            return known
        wider = widened(cluster, known, new)
    except KafkaException:
        return known
    folder.widen(wider)
    spans.add(flat({topic: wider.begins[topic] for topic in new}))
    return wider


def without_secrets(messages: list[Message], topics: Collection[str]) -> list[Message]:
    """Remove the secrets of applications, which are stored in topics of reading positions.

    ``topics`` are the recorded topics, possibly of another system, whose prefix is not known.
    """
    if not any(_MAY_HAVE_SECRETS in topic for topic in topics):
        return messages
    return [m for m in messages if _MAY_HAVE_SECRETS not in _topic(m) or not secret_owner(_key(m))]


def columns(messages: Sequence[Message]) -> tuple[Batch, int]:
    """Return records as columns, and the number of records with unreadable headers."""
    headers, damaged = _headers_of(messages)
    times = list(map(_timestamp, messages))
    return Batch(
        list(map(_topic, messages)),
        list(map(_partition, messages)),
        list(map(_offset, messages)),
        [at for _, at in times],
        # the library counts from 0 (not available), Kafka from -1 (none)
        [kind - 1 for kind, _ in times],
        list(map(_key, messages)),
        headers,
        list(map(_value, messages)),
    ), damaged


def _headers_of(messages: Sequence[Message]) -> tuple[list[Any], int]:
    """Return the headers of each record, like ``headers_of``, but faster."""
    found: list[Any] = []
    reading, damaged = map(_headers, messages), 0
    while True:
        try:
            found.extend(reading)
        except SystemError:  # a name is not UTF-8, and another attempt would crash the interpreter
            messages[len(found)].set_headers([])
            found.append(())
            damaged += 1
        else:
            return [headers or () for headers in found], damaged
