"""Processes that share instances, each in a slot of its own: all have as many partitions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from streams.node import member_name
from streams.topology import Topology, load
from streams.workers import EndpointWorker, ForwarderWorker
from tests.running import System, WorkerThread, eventually, running
from tests.workers.rig import pause

SLOTS = ("a", "b", "c")
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


def owned(process: WorkerThread, role: str) -> set[tuple[str, int]]:
    """Return which partitions of which instances a process has in a role."""
    found: set[tuple[str, int]] = set()
    for worker in process.process.workers:
        if isinstance(worker, EndpointWorker) and role == "endpoint":
            found |= {(worker.instance, number) for number in worker.assignment.owned}
        elif isinstance(worker, ForwarderWorker) and role == "forwarder" and worker.assigned:
            found |= {(worker.instance, p.partition) for p in worker._consumer.assignment()}
    return found


def shared(system: System, processes: Mapping[str, WorkerThread], role: str) -> list[int]:
    """Wait until every partition is whose it is to be; returns how many each process has."""
    partitions = {name: found.partitions for name, found in system.topology.instances.items()}
    wanted: dict[str, set[tuple[str, int]]] = {slot: set() for slot in processes}
    for home, count in partitions.items():
        members = sorted(processes, key=lambda slot: member_name(slot, home, partitions))
        many, more = divmod(count, len(members))
        numbers = iter(range(count))
        for place, slot in enumerate(members):
            wanted[slot] |= {(home, next(numbers)) for _ in range(many + (place < more))}

    def settled() -> bool:
        system.check()
        return {slot: owned(process, role) for slot, process in processes.items()} == wanted

    eventually(lambda: settled() or pause(), f"{role}: {wanted}")
    return [len(some) for some in wanted.values()]


def start(system: System, slot: str, *roles: str) -> WorkerThread:
    """Start a process that works in a slot of every instance."""
    return system.start(roles=roles, slot=slot)


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


@pytest.mark.parametrize(("partitions", "each"), [(2, 4), (4, 8)])
def test_three_slots_share_instances_with_several_partitions(
    kafka: str, unique: str, tmp_path: Path, partitions: int, each: int
) -> None:
    """Partition p of cmd, in and ack is one worker's, wherever that is."""
    with running(kafka, unique, six(tmp_path, partitions), start=False) as system:
        processes = {slot: start(system, slot, "endpoint") for slot in SLOTS}
        assert shared(system, processes, "endpoint") == [each, each, each]
