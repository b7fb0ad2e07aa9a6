"""Read many partitions merged into one order, with a limit on what waits for other partitions."""

from __future__ import annotations

from contextlib import closing

import pytest

from streams.kafka import Cluster, Message, create, follow, read_all
from streams.kafka.follow import Follower
from streams.wire import Topics
from streams.wire.specs import TopicSpec

RECORDS, LIMIT = 40, 5


def number_of(message: Message) -> int:
    value = message.value()
    assert isinstance(value, bytes)
    return int(value)


def written(kafka: str, unique: str, partitions: int) -> tuple[Cluster, str]:
    """Write numbered records of 1,000 bytes, in turn to all partitions except the last."""
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.event
    create(cluster, [TopicSpec(topic, "event", partitions, {})])
    producer = cluster.producer()
    for number in range(RECORDS):
        at = number % (partitions - 1)
        producer.produce(topic, b"%01000d" % number, partition=at)
    assert producer.flush(60) == 0
    return cluster, topic


def test_records_that_wait_for_another_partition_are_limited_in_bytes(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand records of one partition could have gigabytes."""
    monkeypatch.setattr(follow, "_AHEAD_BYTES", LIMIT * 1_000 - 1)
    cluster, topic = written(kafka, unique, 2)
    taken = 0
    with closing(Follower(cluster, [(topic, 2)], number_of, lambda n: n)) as follower:
        for message in read_all(cluster, topic):
            if follower._paused:
                break
            follower._take(message)
            taken += 1
    assert taken == LIMIT


def test_partitions_are_read_in_order_below_the_limit(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_AHEAD_BYTES", 1_500)
    cluster, topic = written(kafka, unique, 4)
    with closing(Follower(cluster, [(topic, 4)], number_of, lambda n: n)) as follower:
        assert list(follower.to_end()) == list(range(RECORDS))
        assert follower._size == 0
