"""Committed offsets of consumer groups.

librdkafka crashes the process if an admin client requests the offsets of a group while the group's
coordinator is moving or does not exist yet (librdkafka issue 5040). A consumer that has the same
group id but is not a member does not have this fault, but it can request the offsets of only one
group. So this module sends each coordinator a request about its group first, which detects a moving
or missing coordinator without a crash. Right after that, an admin client requests the offsets of
all groups.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from streams.kafka.cluster import Cluster
from streams.kafka.coordinator import Answer, while_coordinator_moves
from streams.kafka.offset_metadata import note_of

_TIMEOUT = 30.0
_PAUSE = 0.2
"""Seconds before the next request to a coordinator that is moving."""
Offsets = dict[tuple[str, int], int]
"""The next offset, by topic and partition."""
Notes = dict[tuple[str, int], tuple[int, str]]
"""The next offset with its note, by topic and partition."""


def read_positions(cluster: Cluster, group: str, topics: Sequence[str]) -> Offsets:
    """Return a group's committed offsets of topics; empty if it has never committed."""
    notes = read_notes(cluster, group, topics)
    return {place: position for place, (position, _) in notes.items()}


def read_notes(cluster: Cluster, group: str, topics: Sequence[str]) -> Notes:
    """Return a group's committed offsets of topics, with their notes.

    Topics that do not exist are left out. Does not wait for offsets in open transactions. Raises
    KafkaException if Kafka does not respond.
    """
    with closing(cluster.consumer(group, isolation_level="read_uncommitted")) as consumer:
        known = consumer.list_topics(timeout=_TIMEOUT).topics
        places = [TopicPartition(t, p) for t in topics if t in known for p in known[t].partitions]
        ask = partial(consumer.committed, places, timeout=_TIMEOUT)
        return _noted(_while_coordinator_moves(ask)) if places else {}


def read_notes_of(cluster: Cluster, groups: Iterable[str]) -> dict[str, Notes]:
    """Return the committed offsets of groups in all topics; requests all groups together."""
    admin = cluster.admin()  # keep a reference: responses arrive only while the client exists
    named = list(dict.fromkeys(groups))
    if named:
        _while_coordinator_moves(partial(_ask_coordinators, admin, named))
    asked = {
        group: admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=_TIMEOUT
        )[group]
        for group in named
    }
    return {g: _noted(future.result().topic_partitions or ()) for g, future in asked.items()}


def _ask_coordinators(admin: AdminClient, groups: list[str]) -> None:
    """Send each group's coordinator a request about the group; raise its KafkaException."""
    for future in admin.describe_consumer_groups(groups, request_timeout=_TIMEOUT).values():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
                raise


def _while_coordinator_moves(ask: Callable[[], Answer]) -> Answer:
    return while_coordinator_moves(ask, _TIMEOUT, partial(time.sleep, _PAUSE))


def _noted(found: Iterable[TopicPartition]) -> Notes:
    notes: Notes = {}
    for place in found:
        if place.error is not None:
            raise KafkaException(place.error)
        if place.offset >= 0:
            notes[place.topic, place.partition] = place.offset, note_of(place)
    return notes
