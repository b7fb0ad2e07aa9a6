"""Processes that share instances, each in a slot of its own: all have as many partitions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from streams.node import member_name
from streams.topology import Topology, load
from tests.running import System, WorkerThread, eventually, running
from tests.workers.rig import pause

SLOTS = ("a", "b", "c")
KINDS = {"endpoint": 3, "forwarder": 2}
"""How many topics a role reads: cmd, in and ack; out and txq."""
INSTANCE = """
  I{number}:
    address: tcp://I{number}:1
    partitions: {partitions}
    databases: {{D{number}: {{services: {{S{number}: {{queue: Q}}}}}}}}
"""


def six(folder: Path, partitions: int) -> Topology:
    """Return six instances."""
    text = "".join(INSTANCE.format(number=n, partitions=partitions) for n in range(6))
    (folder / "topology.yaml").write_text(f"instances:{text}")
    return load(folder, time.time())


def owned(system: System, admin: AdminClient, role: str) -> dict[str, set[tuple[str, int]]]:
    """Return which partitions of which instances Kafka has dealt to the members of each slot.

    Each one counts once that is dealt in all topics of its role.
    """
    topics = system.cluster.topics
    groups = {f"{topics.prefix}{role}.{name}": name for name in system.topology.instances}
    asked = admin.describe_consumer_groups([*groups])
    found: dict[str, set[tuple[str, int]]] = {}
    for group, answer in asked.items():
        if answer.exception() is not None:  # its coordinator is not known yet
            continue
        for member in answer.result().members:
            dealt = Counter(p.partition for p in member.assignment.topic_partitions)
            slot = str(member.group_instance_id).rpartition(".")[2]
            found.setdefault(slot, set()).update(
                (groups[group], number) for number, many in dealt.items() if many == KINDS[role]
            )
    return found


def shared(system: System, processes: Mapping[str, WorkerThread], role: str) -> list[int]:
    """Wait until every partition is whose it is to be; returns how many each slot has."""
    partitions = {name: found.partitions for name, found in system.topology.instances.items()}
    wanted: dict[str, set[tuple[str, int]]] = {slot: set() for slot in processes}
    for home, count in partitions.items():
        members = sorted(processes, key=lambda slot: member_name(slot, home, partitions))
        many, more = divmod(count, len(members))
        numbers = iter(range(count))
        for place, slot in enumerate(members):
            wanted[slot] |= {(home, next(numbers)) for _ in range(many + (place < more))}

    admin = system.cluster.admin()

    def settled() -> bool:
        system.check()
        return owned(system, admin, role) == wanted

    eventually(lambda: settled() or pause(), f"{role}: {wanted}")
    return [len(some) for some in wanted.values()]


def start(system: System, slot: str, *roles: str) -> WorkerThread:
    """Start a process that works in a slot of every instance."""
    return system.start(roles=roles, slot=slot)


@pytest.mark.long
def test_three_slots_share_six_instances_while_one_leaves_and_comes_back(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """2, 2 and 2; 3 and 3 while b is away; then each has what it had."""
    with running(kafka, unique, six(tmp_path, 1), start=False) as system:
        quick = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
        system.cluster.properties.update(quick)  # type: ignore[attr-defined]
        processes = {slot: start(system, slot, "endpoint") for slot in SLOTS}
        assert shared(system, processes, "endpoint") == [2, 2, 2]
        away = processes.pop("b")
        away.stop()
        system.workers.remove(away)
        assert shared(system, processes, "endpoint") == [3, 3]
        processes["b"] = start(system, "b", "endpoint")
        assert shared(system, processes, "endpoint") == [2, 2, 2]


def test_forwarders_in_slots_share_instances_as_endpoint_workers_do(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Both of its topics are one worker's, and the workers of a slot sit in one process."""
    with running(kafka, unique, six(tmp_path, 1), start=False) as system:
        processes = {slot: start(system, slot, "forwarder") for slot in SLOTS}
        assert shared(system, processes, "forwarder") == [2, 2, 2]


@pytest.mark.long
@pytest.mark.parametrize(("partitions", "each"), [(2, 4), (4, 8)])
def test_three_slots_share_instances_with_several_partitions(
    kafka: str, unique: str, tmp_path: Path, partitions: int, each: int
) -> None:
    """Partition p of cmd, in and ack is one worker's, wherever that is."""
    with running(kafka, unique, six(tmp_path, partitions), start=False) as system:
        processes = {slot: start(system, slot, "endpoint") for slot in SLOTS}
        assert shared(system, processes, "endpoint") == [each, each, each]
