"""Workers refuse topics that would lose something (rule 1); `apply` corrects what it can."""

from __future__ import annotations

import socket
import time

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from streams.cli import main
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster
from streams.resources import topologies_dir
from streams.wire import Topics
from streams.workers import ROLES, Plan, Process
from tests.running import System, running

TWO_BROKERS = topologies_dir() / "two_brokers"


def alter(system: System, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = system.cluster.admin()  # kept: without it the answer is lost
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()


def apply(system: System) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["apply", str(TWO_BROKERS), *system.options])
    return result.exit_code, result.stdout, result.stderr


def start(system: System, *instances: str) -> None:
    names = instances or tuple(system.topology.instances)
    Process(system.cluster, Plan(ROLES, names), timeout=10).run()


@pytest.mark.parametrize(
    ("kind", "setting", "bad", "good"),
    [
        ("cmd", "retention.ms", "604800000", "-1"),
        ("txq", "retention.bytes", "1000000", "-1"),
        ("in", "cleanup.policy", "compact", "delete"),
        ("dialog", "cleanup.policy", "delete", "compact"),
        ("out", "message.timestamp.type", "LogAppendTime", "CreateTime"),
    ],
)
def test_a_topic_that_would_lose_something_is_refused_and_then_corrected(
    kafka: str, unique: str, kind: str, setting: str, bad: str, good: str
) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        topic = system.cluster.topics.name(kind, "ServerA")
        alter(system, topic, setting, bad)
        with pytest.raises(SurroundingsError) as refused:
            start(system)
        assert str(refused.value) == (
            f"Topic {topic} {setting} is {bad} and must be {good}.\n"
            "  Run 'hopline apply TOPOLOGY', which creates and corrects topics."
        )
        code, out, err = apply(system)
        assert code == 0, err
        assert f"topic {topic} {setting} is {bad} and must be {good}" in out
        system.start()
        with system.client() as client:
            client.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService")


def test_another_number_of_partitions_is_refused_by_worker_and_apply(
    kafka: str, unique: str
) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        topic = system.cluster.topics.cmd("ServerA")
        admin = system.cluster.admin()
        for future in admin.create_partitions([NewPartitions(topic, 2)]).values():
            future.result()
        with pytest.raises(SurroundingsError, match="partitions are 2 and must be 1"):
            start(system)
        code, _, err = apply(system)
        assert code == 3
        assert f"hopline: Topic {topic}: partitions are 2 and must be 1." in err
        assert "cannot change while dialogs live in it" in err


def test_a_topic_that_is_missing_is_refused_and_not_made(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        topic = system.cluster.topics.txq("ServerB")
        admin = system.cluster.admin()
        for future in admin.delete_topics([topic]).values():
            future.result()
        with pytest.raises(SurroundingsError, match=r"txq\.ServerB does not exist"):
            start(system)
        assert topic not in admin.list_topics(timeout=10).topics


def test_an_instance_that_the_catalog_does_not_have_is_wrong_use(kafka: str, unique: str) -> None:
    with (
        running(kafka, unique, "two_brokers", start=False) as system,
        pytest.raises(UsageError, match="knows no instance Nobody"),
    ):
        start(system, "Nobody")


def test_a_worker_on_an_empty_cluster_says_what_to_do(kafka: str, unique: str) -> None:
    process = Process(Cluster(kafka, Topics(unique)), Plan(ROLES, ("ServerA",)), timeout=1)
    with pytest.raises(SurroundingsError) as refused:
        process.run()
    assert "has no complete version" in refused.value.message
    assert "hopline apply TOPOLOGY" in refused.value.remedy


@pytest.mark.parametrize("command", ["worker", "apply"])
def test_a_broker_that_does_not_answer_is_one_sentence_after_the_stated_time(command: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    args = {
        "worker": ["worker", "both", "--instance", "ServerA"],
        "apply": ["apply", str(TWO_BROKERS)],
    }
    started = time.monotonic()
    result = CliRunner().invoke(
        main, [*args[command], "--bootstrap", address, "--timeout", "1"], catch_exceptions=False
    )
    assert result.exit_code == 3
    assert 0.9 < time.monotonic() - started < 10
    assert result.stdout == ""
    [sentence, remedy] = [line for line in result.stderr.splitlines() if "trying" not in line]
    assert sentence.startswith(f"hopline: Kafka at {address} cannot be reached: ")
    assert sentence.endswith("(gave up after 1 s).")
    assert remedy.startswith("  Start it (hopline kafka start)")
