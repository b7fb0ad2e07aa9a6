"""A failover while the principal is suspended, then killed: nothing is lost or repeated."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.client import Client
from streams.kafka import Cluster, deploy, read_all
from streams.live.admin.failover import move_role
from streams.report import read_facts
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import read_queued
from tests.faults.processes import supervised
from tests.node.evidence import shows
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "mirrored"
DIALOGS, BURST = 10, 20


def received(cluster: Cluster) -> list[bytes]:
    topic = cluster.topics.queue("Orders", "Orders", "OrderQueue")
    return [read_queued(m.value(), m.headers()).body for m in read_all(cluster, topic)]  # type: ignore[arg-type]


@pytest.mark.long
@shows("EX-08")
def test_the_principal_is_stopped_in_the_midst_of_it_and_wakes_as_the_mirror(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """SIGSTOP of one partner under load, failover, SIGCONT; then SIGKILL and failover back."""
    cluster, topology = Cluster(kafka, Topics(unique)), load(TOPOLOGY, time.time())
    deploy(cluster, topology)
    where = ("--bootstrap", kafka, "--prefix", unique)
    sent: list[bytes] = []

    with supervised(tmp_path) as workers, Client(cluster, timeout=DEADLINE) as client:
        for name in topology.instances:
            workers.start(name, "streams", "worker", "both", "--instance", name, *where)

        def burst(name: str) -> None:
            for number in range(BURST):
                for index, dialog in enumerate(dialogs):
                    sent.append(f"{name}/{number}/{index}".encode())
                    client.send(dialog, sent[-1])
            client.flush()

        def arrive(how: str) -> None:
            everything = lambda: len(received(cluster)) >= len(sent) or pause()  # noqa: E731
            eventually(lambda: workers.look() or everything(), how)

        dialogs = [
            client.begin("ServerA", "DatabaseA", "InitiatorService", "OrderParts")
            for _ in range(DIALOGS)
        ]
        burst("first")
        eventually(lambda: received(cluster) or pause(), "the first messages")
        workers.pause("Partner1")
        burst("second")
        assert move_role(cluster, "Orders", "Partner2", DEADLINE).claimed
        arrive("over Partner2")
        workers.resume("Partner1")
        burst("third")
        arrive("all the same")
        workers.take_away("Partner2")
        burst("fourth")
        assert move_role(cluster, "Orders", "Partner1", DEADLINE).claimed
        arrive("back at Partner1")
    assert sorted(received(cluster)) == sorted(sent), "nothing lost, nothing twice"
    ledger = read_facts(cluster, topology).balance()
    assert (ledger.delivered, ledger.lost) == (len(sent), [])
    assert (ledger.twice, ledger.disordered) == ([], [])
