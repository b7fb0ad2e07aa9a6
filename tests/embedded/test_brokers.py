"""Three brokers: what was confirmed survives any one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.embedded import Brokers, Condition
from streams.kafka import Cluster, read_all
from streams.kafka.create_topics import create
from streams.wire.specs import TopicSpec
from tests.running import eventually
from tests.workers.rig import pause

TOPIC = "kept"


@pytest.mark.long
def test_one_of_three_may_be_killed(tmp_path: Path) -> None:
    """The leader dies; another one has every record, and the dead one comes back among them."""
    with Brokers(tmp_path) as group:
        cluster = Cluster(group.bootstrap)
        create(cluster, [TopicSpec(TOPIC, "cmd")])
        assert len(described(cluster).replicas) == 3
        write(cluster, b"before")
        leader = described(cluster).leader
        group.brokers[leader - 1].kill()
        assert group.brokers[leader - 1].condition() is Condition.STALE
        write(cluster, b"without")
        eventually(lambda: described(cluster).leader != leader or pause(), "all know the new one")
        assert [m.value() for m in read_all(cluster, TOPIC)] == [b"before", b"without"]
        port = group.brokers[leader - 1].port
        assert group.brokers[leader - 1].start().port == port
        eventually(lambda: len(described(cluster).isrs) == 3 or pause(), "it has caught up")


def described(cluster: Cluster):  # type: ignore[no-untyped-def]
    return cluster.admin().list_topics(timeout=30).topics[TOPIC].partitions[0]


def write(cluster: Cluster, value: bytes) -> None:
    producer = cluster.producer()
    producer.produce(TOPIC, value)
    assert producer.flush(60) == 0
