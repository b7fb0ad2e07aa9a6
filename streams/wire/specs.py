"""The topics of a topology, and the settings that keep records from expiring."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from streams.times import AGE
from streams.wire.topics import Topics

_FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_DELETE_RETENTION = "delete.retention.ms"
_COMPACTED = {"cleanup.policy": "compact", _DELETE_RETENTION: str(24 * 3600 * 1000)}
"""The value is Kafka's default; it is set explicitly because :func:`safe_absence` depends on it."""
_SOON = {
    "segment.ms": "60000",
    "max.compaction.lag.ms": "60000",
    "min.cleanable.dirty.ratio": "0.1",
}
"""Settings that make Kafka compact a small topic within minutes; the default is a week."""
_SEVEN_DAYS = {"cleanup.policy": "delete", "retention.ms": str(7 * 24 * 3600 * 1000)}
_HOUR = {"cleanup.policy": "delete", "retention.ms": "3600000"}

_COMPRESSION = "compression.type"
_UNCOMPRESSED = {_COMPRESSION: "uncompressed"}
"""For topics to which applications or other clusters write, and small topics that all processes
read.

Then no record exceeds Kafka's limit in memory. If the broker stores a compressed batch unchanged,
it ignores the lengths of the records in it. So one lz4 record of 1 MB could be 40 million records
for the client that reads it, which needs 12 GB for them (decision 47).
"""
_READABLE = {_COMPRESSION: "lz4"}
"""The codec that workers use, for topics to which only they write, and for events.

If a zstd batch becomes too large when it is decompressed, Kafka's client can neither read nor skip
it, so 3 kB could block a partition forever. Therefore the broker stores batches of other codecs as
lz4, which expands data at most by a factor of 255, and rejects batches that are still too large.
"""

_PLAUSIBLE = {
    "message.timestamp.before.max.ms": str(AGE + 24 * 3600 * 1000),  # workers' clocks may be slow
    "message.timestamp.after.max.ms": "3600000",
}
"""The timestamps that the broker accepts: of the last five years, and up to an hour ahead.

Spark's Kafka source fails, also after each restart, if a timestamp in microseconds needs more than
64 bits. A partition gets a new segment whenever timestamps have advanced by a week. So with all
timestamps since 1970, it gets 3,000 segments, and a few such partitions exhaust the broker's memory
maps. The second value is the default since Kafka 4.0. Brokers before 3.6 do not have these
settings.
"""
_BROKERS_TIME = {"message.timestamp.type": "LogAppendTime"}

KINDS: Mapping[str, Mapping[str, str]] = {
    "cmd": {**_FOREVER, **_UNCOMPRESSED},
    "out": _FOREVER,
    "txq": _FOREVER,
    "ingress": {**_FOREVER, **_UNCOMPRESSED},
    "in": {**_FOREVER, **_BROKERS_TIME},  # decides whether a copy is late
    "ack": _FOREVER,
    "queue": _FOREVER,
    "dialog": _COMPACTED,
    "result": _HOUR,
    "reading": {**_COMPACTED, **_UNCOMPRESSED},
    # Readers of `catalog` process each version in the log. Both topics get a new segment every
    # minute of record time, so their writers must not set the time.
    "catalog": {**_COMPACTED, **_SOON, **_UNCOMPRESSED, **_BROKERS_TIME},
    "presence": {**_COMPACTED, **_SOON, **_UNCOMPRESSED, **_BROKERS_TIME},
    "event": _SEVEN_DAYS,
    "metric": {**_SEVEN_DAYS, "cleanup.policy": "compact,delete"},
}
"""Required topic configuration, by kind of topic."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A required topic with exactly this number of partitions and at least these settings."""

    name: str
    kind: str
    partitions: int = 1
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def safe(self) -> TopicSpec:
        """Return this topic with only the settings that prevent the loss of records."""
        return self._without({*_SOON, *_PLAUSIBLE, _COMPRESSION})

    @property
    def old(self) -> TopicSpec:
        """Return this topic with only the settings that brokers before Kafka 3.6 also know."""
        return self._without(_PLAUSIBLE)

    def _without(self, names: Collection[str]) -> TopicSpec:
        config = {name: value for name, value in self.config.items() if name not in names}
        return replace(self, config=config)


def safe_absence(kind: str) -> int:
    """Return the milliseconds for which a reader of a compacted topic may safely be absent.

    Kafka removes a tombstone ``delete.retention.ms`` after it was written, or later. A reader that
    misses the tombstone keeps the deleted value. Only half of that time is safe, because clocks
    differ, and because the reader notices a little late that it has read all records.
    """
    return int(KINDS[kind][_DELETE_RETENTION]) // 2


QueueSpec = tuple[str, str, int]
"""Database, queue and number of partitions; the key is the conversation group."""


def spec(name: str, kind: str, partitions: int = 1) -> TopicSpec:
    """Return the specification of a topic of the given kind."""
    config = {"message.timestamp.type": "CreateTime", **_PLAUSIBLE, **_READABLE, **KINDS[kind]}
    return TopicSpec(name, kind, partitions, config)


def cluster_specs(topics: Topics) -> tuple[TopicSpec, ...]:
    """Return the topics that every cluster has."""
    return (
        spec(topics.catalog, "catalog"),
        spec(topics.presence, "presence"),
        spec(topics.event, "event"),
        spec(topics.metric, "metric"),
    )


def instance_specs(
    topics: Topics,
    instance: str,
    queues: Iterable[QueueSpec],
    partitions: int = 1,
    clusters: Iterable[str] = (),
) -> tuple[TopicSpec, ...]:
    """Return an instance's topics.

    ``partitions``: the number of partitions of topics keyed by conversation id. All these topics
    have the same number, because all records of one dialog must have the same partition number.
    ``clusters``: the other clusters that write to the instance, each to its own topic.
    """
    cmd, out, *rest = home_specs(topics, instance, queues, partitions)
    return (
        cmd,
        out,
        spec(topics.txq(instance), "txq", partitions),
        *(spec(topics.ingress(instance, c), "ingress", partitions) for c in sorted(clusters)),
        *rest,
    )


def home_specs(
    topics: Topics, home: str, queues: Iterable[QueueSpec], partitions: int = 1
) -> tuple[TopicSpec, ...]:
    """Return the topics of an instance's or a mirrored pair's databases.

    A pair has no ``txq``, because its messages arrive at one of the partners.
    """
    return (
        spec(topics.cmd(home), "cmd", partitions),
        spec(topics.out(home), "out", partitions),
        spec(topics.inbox(home), "in", partitions),
        spec(topics.ack(home), "ack", partitions),
        spec(topics.dialog(home), "dialog", partitions),
        spec(topics.result(home), "result"),
        spec(topics.reading(home), "reading"),
        *(spec(topics.queue(home, d, q), "queue", count) for d, q, count in sorted(queues)),
    )
