"""`hopline apply`: a plan in one language, and then nothing to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.kafka import Cluster, read_catalog
from streams.kafka.catalog import VERSION_KEY
from streams.prose import wrapping_at
from streams.resources import topologies_dir
from streams.wire import Topics, encode_catalog_object
from tests.command import hopline
from tests.workers.raw_produce import produce_raw
from tests.workers.rig import configure


def apply(kafka: str, prefix: str, *more: str) -> list[str]:
    folder = str(topologies_dir() / "two_brokers")
    args = ("apply", folder, "--bootstrap", kafka, "--prefix", prefix, *more)
    result = CliRunner().invoke(main, args, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.long
def test_a_plan_shows_what_is_added_and_what_is_changed(kafka: str, unique: str) -> None:
    """Topics like objects: ``+`` is new, ``~`` is changed; a second run finds nothing to do."""
    plan = apply(kafka, unique, "--dry-run")
    assert f"  + topic {unique}cmd.ServerA" in plan
    assert "  + ServerA/DatabaseA/route/TargetRoute" in plan
    assert {line.split()[0] for line in plan} == {"+"}
    assert apply(kafka, unique) == [*plan, "catalog version 1"]
    assert apply(kafka, unique) == ["nothing to do", "catalog version 1"]
    topic = f"{unique}cmd.ServerA"
    configure(Cluster(kafka), topic, {"retention.ms": "1000"})
    [line, _] = apply(kafka, unique)
    assert line == f"  ~ topic {topic} retention.ms is 1000 and must be -1"


def test_a_version_that_cannot_be_used_is_published_again(kafka: str, unique: str) -> None:
    """A worker that starts after compaction would find no other version."""
    apply(kafka, unique)
    cluster = Cluster(kafka, Topics(unique))
    value = encode_catalog_object(7, json.dumps({"number": 7, "hash": "of nothing"}))
    produce_raw(kafka, cluster.topics.catalog, VERSION_KEY.encode(), value, [])
    assert read_catalog(cluster).error
    assert apply(kafka, unique) == ["  ~ version (the last one is not usable)", "catalog version 2"]
    assert not read_catalog(cluster).error
    assert apply(kafka, unique) == ["nothing to do", "catalog version 2"]


def test_one_broker_is_warned_of_unless_it_is_meant(kafka: str, unique: str) -> None:
    words = ("apply", "two_brokers", "--bootstrap", kafka, "--prefix", unique, "--dry-run")
    code, out, err = hopline(*words, "--format", "json")
    answer = json.loads(out)
    assert (code, answer["findings"]) == (0, [])
    assert answer["warning"].startswith("The cluster has 1 broker, so topics have 1/1")
    assert answer["warning"] in err
    code, out, err = hopline(*words, "--replication", "1/1", "--format", "json")
    assert (code, json.loads(out)["warning"], err) == (0, "", "")


def test_topics_shows_the_replicas_without_kafka() -> None:
    out = hopline("topics", "two_brokers")[1]
    assert "on three or more brokers, each with 3 replicas, min.insync.replicas=2" in out
    out = hopline("topics", "two_brokers", "--replication", "3/2")[1]
    assert "\neach with 3 replicas, min.insync.replicas=2" in out and "brokers," not in out
    replicas = json.loads(hopline("topics", "two_brokers", "--format", "json")[1])["replicas"]
    safe = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
    assert replicas == {"count": 3, "config": safe}
    _, out, _ = hopline("topics", "two_brokers", "--replication", "as-is", "--format", "json")
    assert json.loads(out)["replicas"] == {"count": None, "config": {}}


def test_the_table_of_topics_fits_80_columns() -> None:
    with wrapping_at(80):
        lines = hopline("topics", "hub")[1].splitlines()
    assert max(map(len, lines)) <= 80
    column = lines[0].index("retention")
    assert {line[column:] for line in lines[1:40]} == {"latest", "forever", "7 days", "1 h"}


def test_a_number_of_replicas_that_cannot_be_is_wrong_use() -> None:
    code, _, err = hopline("topics", "two_brokers", "--replication", "2/3")
    assert code == 2 and "'2/3' requires 3 replicas in sync" in err


@pytest.mark.parametrize("command", ["apply", "up"])
def test_a_queue_that_names_another_roles_group_is_refused_without_kafka(
    tmp_path: Path, command: str
) -> None:
    """With the prefix of the command's own topics."""
    (tmp_path / "topology.yaml").write_text(
        "instances: {A: {databases: {D: {queues: {Q: {group: x.forwarder.A}}}}}}\n"
    )
    code, out, err = hopline(command, str(tmp_path), "--prefix", "x.")
    assert (code, out) == (2, "")
    assert "topology.yaml:1:42: Queue Q: the group x.forwarder.A is one of Hopline's own" in err
    assert "Give the queue a group that no worker" in err
