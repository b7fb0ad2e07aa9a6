"""Consumer group lag."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.kafka.cluster import Cluster
from streams.kafka.committed import Offsets, read_notes_of
from streams.kafka.failure import NO_LEADER

_TIMEOUT = 30.0
_PAUSE = 0.2
"""Seconds before a partition without a leader is retried."""

Lags = dict[tuple[str, str], int]
"""Unread records, by group and topic."""


def read_lags(cluster: Cluster, groups: Mapping[str, Sequence[str]]) -> Lags:
    """Return the number of committed records that each group has not read, by topic.

    The number is a difference of offsets, so it includes transaction markers. If a group has no
    committed offset, the whole topic counts as unread. Topics that do not exist are left out.
    """
    admin = cluster.admin()
    metadata = admin.list_topics(timeout=_TIMEOUT).topics
    where = {
        topic: [TopicPartition(topic, p) for p in metadata[topic].partitions]
        for topics in groups.values()
        for topic in topics
        if topic in metadata
    }
    flat = [partition for partitions in where.values() for partition in partitions]
    begins = _offsets(admin, flat, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
    ends = _offsets(admin, flat, OffsetSpec.latest())  # type: ignore[no-untyped-call]
    reached = read_notes_of(cluster, groups)
    lags: Lags = {}
    for group, topics in groups.items():
        for topic in topics:
            for p in where.get(topic, ()):
                key = (topic, p.partition)
                if key not in begins or key not in ends:
                    continue  # deleted during the request
                at = max(reached[group].get(key, (-1, ""))[0], begins[key])
                lags[group, topic] = lags.get((group, topic), 0) + max(0, ends[key] - at)
    return lags


def read_ends(cluster: Cluster, topics: Sequence[str]) -> Offsets:
    """Return the last stable offsets of topics; topics that do not exist are left out."""
    return _of_topics(cluster, topics, OffsetSpec.latest())  # type: ignore[no-untyped-call]


def read_begins(cluster: Cluster, topics: Sequence[str]) -> Offsets:
    """Return the log start offsets of topics, like :func:`read_ends`; 0 if nothing was trimmed."""
    return _of_topics(cluster, topics, OffsetSpec.earliest())  # type: ignore[no-untyped-call]


def read_highs(cluster: Cluster, topics: Sequence[str]) -> Offsets:
    """Return high watermarks like :func:`read_ends`, but including uncommitted records."""
    spec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    return _of_topics(cluster, topics, spec, IsolationLevel.READ_UNCOMMITTED)


def _of_topics(
    cluster: Cluster,
    topics: Sequence[str],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> Offsets:
    admin = cluster.admin()
    metadata = admin.list_topics(timeout=_TIMEOUT).topics
    where = [TopicPartition(t, p) for t in topics if t in metadata for p in metadata[t].partitions]
    return _offsets(admin, where, spec, isolation)


def _offsets(
    admin: AdminClient,
    partitions: Sequence[TopicPartition],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> Offsets:
    """Return offsets; retry partitions without a leader until they have one.

    Topics that are deleted during the request are left out. Raises KafkaException on any other
    error, and if there is no leader within 30 s.
    """
    found: Offsets = {}
    left, deadline = list(partitions), time.monotonic() + _TIMEOUT
    while left:
        again: list[TopicPartition] = []
        asked = admin.list_offsets(dict.fromkeys(left, spec), isolation_level=isolation)
        for place, future in asked.items():
            try:
                found[place.topic, place.partition] = future.result().offset
            except KafkaException as error:
                if error.args[0].code() not in NO_LEADER or time.monotonic() > deadline:
                    raise
                again.append(TopicPartition(place.topic, place.partition))
        if again:
            time.sleep(_PAUSE)
            # this call makes the client refresh the leaders
            known = admin.list_topics(timeout=_TIMEOUT).topics
            again = [place for place in again if place.topic in known]
        left = again
    return found
