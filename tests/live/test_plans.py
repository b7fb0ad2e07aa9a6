"""``hopline apply`` and open dialogs; ``hopline topics`` and what a cluster has."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams.client import Conversation
from streams.embedded import Brokers
from streams.kafka import Cluster, create, read_catalog, specs_of
from streams.resources import topologies_dir
from streams.topology import Topology, apply_sql, load
from streams.topology.yaml_file import write_document
from streams.wire import Topics
from tests.command import invoke
from tests.running import System, eventually, running, until_stable
from tests.workers.rig import configure

AT_A = ("ServerA", "DatabaseA")
SERVICES = ("InitiatorService", "TargetService")


@pytest.fixture(scope="module")
def open_dialog(kafka: str) -> Iterator[tuple[System, Conversation]]:
    """Return a topology that stands still with one dialog, begun and acknowledged."""
    prefix = f"t{uuid.uuid4().hex[:12]}."
    with running(kafka, prefix, "two_brokers") as system, system.client() as client:
        ended = client.begin(*AT_A, *SERVICES)
        client.end(ended, wait=True)
        dialog = client.begin(*AT_A, *SERVICES)
        client.send(dialog, b"hello", wait=True)
        system.received("ServerB", "DatabaseB", "TargetQueue", 1)
        system.stop()
        yield system, dialog


def folder(path: Path, topology: Topology) -> str:
    (path / "topology.yaml").write_text(write_document(topology), encoding="utf-8")
    return str(path)


def changed(*statements: tuple[str, str, str]) -> Topology:
    topology = load(topologies_dir() / "two_brokers", time.time())
    for instance, database, text in statements:
        topology = apply_sql(topology, instance, database, text, time.time())
    return topology


def breaks(system: System, *args: str) -> list[tuple[str, bool, str]]:
    shown = invoke("apply", *args, "--format", "json", *system.options)
    answer: dict[str, Any] = json.loads(shown.stdout)
    assert shown.exit_code == (1 if answer["breaks"] else 0)
    return [(b["conversation"], b["is_initiator"], b["why"]) for b in answer["breaks"]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("statement", "initiator", "target"),
    [
        (
            ("ServerA", "DatabaseA", "DROP ROUTE TargetRoute"),
            "TargetService would be unreachable",
            "InitiatorService would be unreachable",
        ),
        (
            ("ServerB", "DatabaseB", "DROP SERVICE TargetService"),
            "TargetService would be unreachable",
            "its service would be removed",
        ),
        (
            ("ServerA", "DatabaseA", "ALTER DATABASE DatabaseA SET NEW_BROKER"),
            "its database would have another broker id",
            "InitiatorService would be unreachable",
        ),
    ],
)
def test_what_would_break_open_dialogs_is_refused(
    open_dialog: tuple[System, Conversation],
    tmp_path: Path,
    statement: tuple[str, str, str],
    initiator: str,
    target: str,
) -> None:
    """Both sides: what cannot be acknowledged does not arrive. What has ended is not open."""
    system, dialog = open_dialog
    version = read_catalog(system.cluster).version
    found = breaks(system, folder(tmp_path, changed(statement)), "--prune")
    assert found == [(str(dialog.id), True, initiator), (str(dialog.id), False, target)]
    assert read_catalog(system.cluster).version == version


@pytest.mark.long
def test_what_goes_on_is_applied(open_dialog: tuple[System, Conversation], tmp_path: Path) -> None:
    """A second path instead of the first; and nothing that is not removed breaks anything."""
    system, _ = open_dialog
    one = "CREATE ROUTE Other WITH SERVICE_NAME = 'TargetService', ADDRESS = 'tcp://ServerB:4022'"
    other = changed(("ServerA", "DatabaseA", f"DROP ROUTE TargetRoute\n{one}"))
    assert breaks(system, folder(tmp_path, other), "--prune", "--dry-run") == []
    less = changed(("ServerB", "DatabaseB", "DROP SERVICE TargetService"))
    assert breaks(system, folder(tmp_path, less), "--dry-run") == []


def test_a_target_that_moves_without_its_dialogs_is_refused(
    open_dialog: tuple[System, Conversation], tmp_path: Path
) -> None:
    """Its endpoint is state of one instance: no other one with its broker id knows the dialog."""
    system, dialog = open_dialog
    moved = changed(
        ("ServerA", "DatabaseA", "ALTER ROUTE TargetRoute WITH ADDRESS = 'tcp://ServerC:4022'")
    )
    server = replace(moved.instances["ServerB"], name="ServerC")
    both = replace(moved, instances={**moved.instances, "ServerC": server}, expect=())
    found = breaks(system, folder(tmp_path, both), "--dry-run")
    why = "its messages would go to ServerC/DatabaseB, but its other side is at ServerB/DatabaseB"
    back = "InitiatorService would be unreachable"  # no acknowledgement would come back
    assert found == [(str(dialog.id), True, why), (str(dialog.id), False, back)]


@pytest.mark.long
def test_force_does_it_all_the_same(kafka: str, unique: str, tmp_path: Path) -> None:
    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        dialog = client.begin(*AT_A, *SERVICES)
        until_stable(system.cluster, system.cluster.topics.dialog("ServerA"))
        path = folder(tmp_path, changed(("ServerA", "DatabaseA", "DROP ROUTE TargetRoute")))
        refused = invoke("apply", path, "--prune", *system.options)
        assert refused.exit_code == 1
        assert refused.stdout.splitlines() == [
            "  - ServerA/DatabaseA/route/TargetRoute",
            f"  ! {dialog.id} (initiator, ServerA/DatabaseA/InitiatorService): "
            "TargetService would be unreachable",
            "nothing was done: 1 open dialog would break; use --force to apply anyway",
        ]
        forced = invoke("apply", path, "--prune", "--force", *system.options)
        assert (forced.exit_code, forced.stdout.splitlines()[-1]) == (0, "catalog version 2")


def test_topics_are_printed_without_kafka() -> None:
    shown = invoke("topics", "two_brokers", "--prefix", "x.")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[5].split() == ["x.cmd.ServerA", "1", "delete", "forever"]
    assert lines[-3:] == [
        "22 topics",
        "on three or more brokers, each with 3 replicas, min.insync.replicas=2,",
        "  unclean.leader.election.enable=false",
    ]
    rows = json.loads(invoke("topics", "two_brokers", "--format", "json").stdout)["topics"]
    [presence] = [row for row in rows if row["kind"] == "presence"]
    assert presence["config"] == {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "delete.retention.ms": "86400000",
        "max.compaction.lag.ms": "60000",
        "message.timestamp.after.max.ms": "3600000",
        "message.timestamp.before.max.ms": "157852800000",
        "message.timestamp.type": "LogAppendTime",
        "min.cleanable.dirty.ratio": "0.1",
        "segment.ms": "60000",
    }


def checked(*words: str) -> dict[str, Any]:
    """Return what `hopline topics --check` finds."""
    shown = invoke("topics", "two_brokers", "--check", "--format", "json", *words)
    answer: dict[str, Any] = json.loads(shown.stdout)
    assert shown.exit_code == (1 if answer["mismatches"] else 0)
    return answer


def too_small(brokers: str, replicas: str) -> str:
    return (
        f"The cluster has {brokers}, so topics have {replicas} (replicas/in sync). A broker that "
        "loses its disk loses acknowledged messages. Production needs three brokers; "
        f'replication = "{replicas}" accepts this.'
    )


def test_one_broker_is_a_finding_unless_one_replica_is_asked_for(kafka: str, unique: str) -> None:
    """It is no difference: the exit code is that of the topics, none of which exists here."""
    there = ("--bootstrap", kafka, "--prefix", unique)
    found = checked(*there)
    assert found["findings"] == [too_small("1 broker", "1/1")]
    assert found["replicas"]["count"] == 1
    assert found["replicas"]["config"]["min.insync.replicas"] == "1"
    assert checked(*there, "--replication", "1/1")["findings"] == []


@pytest.mark.long
def test_on_two_brokers_topics_have_two_replicas_and_a_finding(tmp_path: Path, unique: str) -> None:
    """One of them in sync is enough: otherwise each broker's failure would stop all writes."""
    with Brokers(tmp_path, 2) as group:
        there = ("--bootstrap", group.bootstrap, "--prefix", unique)
        applied = json.loads(invoke("apply", "two_brokers", *there, "--format", "json").stdout)
        small = too_small("2 brokers", "2/1")
        assert (applied["warning"], applied["findings"]) == (small, [])
        eventually(lambda: not checked(*there)["mismatches"], "every broker knows the topics")
        found = checked(*there)
        assert found["findings"] == [small]
        assert found["replicas"]["config"]["min.insync.replicas"] == "1"
        topics = Cluster(group.bootstrap).admin().list_topics(timeout=30).topics
        for row in found["topics"]:
            assert [len(p.replicas) for p in topics[row["name"]].partitions.values()] == [2]
        stricter = checked(*there, "--replication", "2/2")
        assert stricter["findings"] == []
        assert {m["what"] for m in stricter["mismatches"]} == {
            "min.insync.replicas is 1 and must be 2"
        }


def test_topics_that_an_older_version_created_are_no_longer_compressed(
    kafka: str, unique: str
) -> None:
    there, cluster = ("--bootstrap", kafka, "--prefix", unique), Cluster(kafka, Topics(unique))
    specs = specs_of(load(topologies_dir() / "two_brokers", time.time()), cluster.topics)
    create(cluster, [replace(s, config={**s.config, "compression.type": "lz4"}) for s in specs])
    kinds = {"cmd", "reading", "presence", "catalog"}
    uncompressed = {s.name for s in specs if s.kind in kinds}
    what = "compression.type is lz4 and must be uncompressed"
    assert {(m["topic"], m["what"]) for m in checked(*there)["mismatches"]} == {
        (name, what) for name in uncompressed
    }
    assert invoke("apply", "two_brokers", *there).exit_code == 0
    eventually(lambda: not checked(*there)["mismatches"], "the broker knows the settings")


@pytest.mark.long
def test_topics_are_compared_with_a_cluster(kafka: str, unique: str) -> None:
    there = ("--bootstrap", kafka, "--prefix", unique)
    missing = invoke("topics", "two_brokers", "--check", *there)
    assert missing.exit_code == 1
    assert f"  + {unique}catalog does not exist" in missing.stdout
    invoke("apply", "load_balanced", *there)
    differs = invoke("topics", "two_brokers", "--check", *there)
    assert f"  ? {unique}cmd.ServerC does not belong to the topology" in differs.stdout
    invoke("apply", "two_brokers", *there)

    def settled() -> bool:
        return invoke("topics", "load_balanced", "--check", *there).exit_code == 0

    eventually(settled, "every topic is there")
    configure(Cluster(kafka), f"{unique}cmd.ServerA", {"retention.ms": "1000"})
    wrong = invoke("topics", "load_balanced", "--check", "--format", "json", *there)
    assert wrong.exit_code == 1
    assert json.loads(wrong.stdout)["mismatches"] == [
        {
            "topic": f"{unique}cmd.ServerA",
            "what": "retention.ms is 1000 and must be -1",
            "missing": False,
        }
    ]
