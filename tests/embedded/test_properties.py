"""The broker's settings survive Java's file format, and keep to the loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.embedded.properties import Node, server_properties, threads
from streams.errors import UsageError


def parsed(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines())
    return {name: value.encode("ascii").decode("unicode_escape") for name, _, value in lines}


def test_only_the_loopback_is_listened_on() -> None:
    settings = parsed(server_properties(Path("/data"), 9092, Node(1, (9093,))))
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9093"


def test_a_broker_alone_has_nobody_to_copy_to() -> None:
    settings = parsed(server_properties(Path("/data"), 1, Node(1, (2,))))
    assert settings["default.replication.factor"] == settings["min.insync.replicas"] == "1"
    assert settings["transaction.state.log.min.isr"] == "1"


def test_of_three_brokers_one_may_fail() -> None:
    settings = parsed(server_properties(Path("/data"), 9092, Node(2, (1, 2, 3))))
    assert settings["node.id"] == "2"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:2"
    voters = "1@127.0.0.1:1,2@127.0.0.1:2,3@127.0.0.1:3"
    assert settings["controller.quorum.voters"] == voters
    copies = [value for name, value in settings.items() if name.endswith("replication.factor")]
    in_sync = [settings[n] for n in ("min.insync.replicas", "transaction.state.log.min.isr")]
    assert (copies, in_sync) == (["3"] * 4, ["2", "2"])


def test_topics_do_not_appear_by_accident_and_transactions_end() -> None:
    settings = parsed(server_properties(Path("/data"), 1, Node(1, (2,))))
    assert settings["auto.create.topics.enable"] == "false"
    assert int(settings["transaction.max.timeout.ms"]) <= 15000


def test_any_folder_name_is_written_as_java_reads_it() -> None:
    settings = parsed(server_properties(Path("/data/Übung/a b"), 1, Node(1, (2,))))
    assert settings["log.dir"] == "/data/Übung/a b"


def test_a_comma_would_be_two_folders() -> None:
    with pytest.raises(UsageError, match="has a comma"):
        server_properties(Path("/a,b"), 1, Node(1, (2,)))


@pytest.mark.parametrize(
    ("cores", "network", "workers"), [(1, 1, 3), (2, 1, 3), (4, 2, 5), (8, 3, 8), (64, 3, 8)]
)
def test_few_cores_have_few_threads_and_many_have_kafkas_own_number(
    cores: int, network: int, workers: int
) -> None:
    found = {"num.network.threads": str(network), "num.io.threads": str(workers)}
    assert threads(cores) == found
