"""Design, rule 1: nothing ages away, nothing appears by accident."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import deploy
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


WRONG = {
    "cmd": {"retention.ms": "1000"},
    "inbox": {"retention.bytes": "1000"},
    "txq": {"cleanup.policy": "compact"},
    "out": {"message.timestamp.type": "LogAppendTime"},
    "ack": {"retention.ms": "604800000"},
    "dialog": {"cleanup.policy": "delete"},
}


@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
def test_topics_that_would_lose_something_are_refused_and_corrected(two: Rig, role: str) -> None:
    topics = {getattr(two.topics, kind)("A"): config for kind, config in WRONG.items()}
    for topic, config in topics.items():
        configure(two.cluster, topic, config)
    assert f"({len(topics) - 1} more like it)" in refusal(two, role).message
    done = deploy(two.cluster, two.topology).topics
    assert {text.split(" and must be ")[0] for text in done} == {
        f"corrected {topic} ({name} is {value}"
        for topic, config in topics.items()
        for name, value in config.items()
    }
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
