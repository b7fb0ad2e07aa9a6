"""Design, rule 1: nothing ages away, nothing appears by accident."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster, deploy
from streams.wire import Topics
from streams.workers import Plan, Process
from tests.workers.rig import Rig, configure, pair, rig


@pytest.fixture
def two(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return a deployed topology in which nothing runs."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        yield made


def refusal(two: Rig, role: str = "endpoint") -> SurroundingsError:
    """Return why a worker does not start."""
    with pytest.raises(SurroundingsError) as refused:
        Process(two.cluster, Plan((role,), ("A",))).run()
    return refused.value


@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("cmd", {"retention.ms": "1000"}),
        ("inbox", {"retention.bytes": "1000"}),
        ("txq", {"cleanup.policy": "compact"}),
        ("out", {"message.timestamp.type": "LogAppendTime"}),
        ("dialog", {"cleanup.policy": "delete"}),
    ],
)
def test_a_topic_that_would_lose_something_is_refused_and_corrected(
    two: Rig, kind: str, config: dict[str, str], role: str
) -> None:
    topic: str = getattr(two.topics, kind)("A")
    [(name, value)] = config.items()
    configure(two.cluster, topic, config)
    refused = refusal(two, role)
    assert refused.message.startswith(f"Topic {topic} {name} is {value} and must be ")
    assert "hopline apply" in refused.remedy
    done = deploy(two.cluster, two.topology)
    assert [text.split(" (")[0] for text in done.topics] == [f"corrected {topic}"]
    assert deploy(two.cluster, two.topology).topics == ()


def test_a_queue_that_ages_is_refused(two: Rig) -> None:
    queue = two.topics.queue("A", "DatabaseA", "InitiatorQueue")
    configure(two.cluster, queue, {"retention.ms": "86400000"})
    assert refusal(two).message.startswith(f"Topic {queue} retention.ms is 86400000")


def test_partitions_are_refused_and_not_corrected(two: Rig, tmp_path: Path) -> None:
    """More partitions would tear dialogs apart: that is no correction."""
    with pytest.raises(SurroundingsError) as refused:
        deploy(two.cluster, pair(tmp_path, partitions=2))
    assert "partitions are 1 and must be 2" in refused.value.message


def test_a_topic_that_is_not_there_is_not_made_by_workers(kafka: str, two: Rig) -> None:
    admin = two.cluster.admin()
    cmd = two.topics.cmd("A")
    for future in admin.delete_topics([cmd]).values():
        future.result()
    assert refusal(two).message.startswith(f"Topic {cmd} does not exist")
    assert cmd not in admin.list_topics(timeout=30).topics


def test_reading_and_writing_make_no_topics(kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    consumer = cluster.consumer("nobody")
    consumer.subscribe([cluster.topics.cmd("A")])
    consumer.poll(0.5)
    consumer.close()
    producer = cluster.producer(message_timeout_ms=300)
    producer.produce(cluster.topics.cmd("A"), b"x")
    producer.flush(5)
    assert not [t for t in cluster.admin().list_topics(timeout=30).topics if t.startswith(unique)]
