"""A warm standby takes over from a killed worker: nothing is lost or repeated."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from streams.client import Client
from streams.kafka import Cluster, deploy, read_all
from streams.report import read_facts
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import read_queued
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "two_brokers"
DIALOGS, TURNS, BURST = 20, 3, 10


class Children:
    """Processes of workers, each with its log."""

    def __init__(self, cluster: Cluster, logs: Path) -> None:
        self._cluster, self._logs = cluster, logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *arguments: str) -> None:
        """Start one."""
        command = [
            *(sys.executable, "-m", "streams", "worker", *arguments),
            *("--bootstrap", self._cluster.bootstrap, "--prefix", self._cluster.topics.prefix),
        ]
        with (self._logs / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def has_logged(self, name: str, what: str) -> bool:
        """Return whether a text is in its log; fail if it has ended."""
        log = (self._logs / f"{name}.log").read_text()
        assert self._running[name].poll() is None, log
        return what in log

    def kill(self, name: str) -> None:
        """Kill one with SIGKILL."""
        self._running[name].kill()
        self._running[name].wait()

    def stop(self) -> None:
        """Kill all of them."""
        for name in self._running:
            self.kill(name)


def received(cluster: Cluster) -> list[bytes]:
    topic = cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
    return [read_queued(m.value(), m.headers()).body for m in read_all(cluster, topic)]  # type: ignore[arg-type]


@pytest.mark.long
def test_a_stand_by_takes_over_from_the_killed_and_so_on(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Two processes take turns; each time the active one is killed under load."""
    cluster, topology = Cluster(kafka, Topics(unique)), load(TOPOLOGY, time.time())
    deploy(cluster, topology)
    children = Children(cluster, tmp_path)
    standby = ("endpoint", "--instance", "ServerA", "--standby")
    sent: dict[object, list[bytes]] = {}
    try:
        children.start("forwarders", "forwarder", "--all")
        children.start("target", "endpoint", "--instance", "ServerB")
        children.start("one", *standby)
        with Client(cluster, timeout=DEADLINE) as client:
            dialogs = [
                client.begin(
                    *("ServerA", "DatabaseA", "InitiatorService", "TargetService"), wait=False
                )
                for _ in range(DIALOGS)
            ]
            working, waiting = "one", "two"
            eventually(lambda: children.has_logged("one", "ready") or pause(), "the first to begin")
            for turn in range(TURNS):
                children.start(waiting, *standby)
                warm = partial(children.has_logged, waiting, "stands by")
                eventually(lambda: warm() or pause(), "a standby")  # noqa: B023
                for number in range(BURST):
                    for dialog in dialogs:
                        body = b"%d/%d" % (turn, number)
                        client.send(dialog, body)
                        sent.setdefault(dialog.id, []).append(body)
                client.flush()
                children.kill(working)
                client.send(dialogs[0], b"after %d" % turn, wait=True)
                sent[dialogs[0].id].append(b"after %d" % turn)
                over = partial(children.has_logged, waiting, "takes over")
                eventually(lambda: over() or pause(), "it says so")  # noqa: B023
                working, waiting = waiting, working
        wanted = sum(map(len, sent.values()))
        eventually(lambda: len(received(cluster)) >= wanted or pause(), "everything to arrive")
    finally:
        children.stop()
    facts = read_facts(cluster, topology)
    ledger = facts.balance()
    assert (ledger.delivered, ledger.lost, ledger.twice, ledger.disordered) == (wanted, [], [], [])
    assert len(received(cluster)) == wanted
