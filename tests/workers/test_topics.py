"""Design, rule 1: nothing ages away, nothing appears by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import deploy
from streams.workers import Plan, Process
from tests.running import delete
from tests.workers.rig import Rig, configure, pair


def refusal(two: Rig, role: str = "endpoint") -> SurroundingsError:
    """Return why a worker does not start."""
    with pytest.raises(SurroundingsError) as refused:
        Process(two.cluster, Plan((role,), ("A",))).run()
    return refused.value


@pytest.mark.long
def test_topics_that_would_lose_something_are_refused_and_corrected(two: Rig) -> None:
    """By workers of both roles, before they read anything; only ``apply`` corrects them."""
    name = two.topics
    wrong = {
        name.cmd("A"): ("retention.ms", "1000"),
        name.inbox("A"): ("retention.bytes", "1000"),
        name.txq("A"): ("cleanup.policy", "compact"),
        name.out("A"): ("message.timestamp.type", "LogAppendTime"),
        name.ack("A"): ("retention.ms", "604800000"),
        name.dialog("A"): ("delete.retention.ms", "3600000"),
        name.queue("A", "DatabaseA", "InitiatorQueue"): ("retention.ms", "86400000"),
    }
    for topic, (key, value) in wrong.items():
        configure(two.cluster, topic, {key: value})
    configure(two.cluster, name.reading("A"), {"delete.retention.ms": "604800000"})  # even safer
    used = {"endpoint": {"cmd", "in", "out", "ack", "dialog", "queue"},
            "forwarder": {"in", "txq", "out", "ack"}}  # fmt: skip
    for role, kinds in used.items():
        refused = refusal(two, role)
        assert refused.message.endswith(f"({len(kinds) - 1} more like this).")
        assert "hopline apply" in refused.remedy
    done = deploy(two.cluster, two.topology).topics
    assert {text.split(" and must be ")[0] for text in done} == {
        f"corrected {topic} ({key} is {value}" for topic, (key, value) in wrong.items()
    }
    assert deploy(two.cluster, two.topology).topics == ()


def test_partitions_are_refused_and_not_corrected(two: Rig, tmp_path: Path) -> None:
    """More partitions would tear dialogs apart: that is no correction."""
    with pytest.raises(SurroundingsError) as refused:
        deploy(two.cluster, pair(tmp_path, partitions=2))
    assert "partitions are 1 and must be 2" in refused.value.message


def test_a_topic_that_is_not_there_is_not_made_by_workers(kafka: str, two: Rig) -> None:
    cmd = two.topics.cmd("A")
    delete(two.cluster, cmd)
    assert refusal(two).message.startswith(f"Topic {cmd} does not exist")
    assert cmd not in two.cluster.admin().list_topics(timeout=30).topics
