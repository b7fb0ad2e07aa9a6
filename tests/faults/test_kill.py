"""SIGKILL at random points loses nothing, delivers nothing twice and keeps the order."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.client import Client, Receiver
from streams.demo.watch import Watch
from streams.kafka import Cluster, deploy
from streams.report import read_facts
from streams.topology import load
from streams.wire import Topics

TOPOLOGY = Path(__file__).parents[2] / "topologies" / "high_availability"
MESSAGES, DIALOGS = 10_000, 200
GROUPS = (
    ("forwarder", "ServerA"),
    ("forwarder", "GatewayA"),
    ("forwarder", "GatewayB"),
    ("forwarder", "ServerB"),
    ("endpoint", "ServerA"),
    ("endpoint", "ServerB"),
)


class Supervisor:
    """Runs one process per worker and starts a killed one again, as compose or systemd would."""

    def __init__(self, cluster: Cluster, logs: Path) -> None:
        self._cluster, self._logs = cluster, logs
        self._running: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        self.kills = 0

    def start(self, role: str, instance: str) -> None:
        """Start one worker."""
        command = [
            *(sys.executable, "-m", "streams", "worker", role, "--instance", instance),
            *("--bootstrap", self._cluster.bootstrap, "--prefix", self._cluster.topics.prefix),
        ]
        with (self._logs / f"{role}-{instance}.log").open("ab") as log:
            self._running[role, instance] = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self, role: str, instance: str) -> None:
        """Kill one worker with SIGKILL and start it again."""
        child = self._running[role, instance]
        assert child.poll() is None, f"{role} {instance} has ended by itself, see its log"
        child.kill()
        child.wait()
        self.kills += 1
        self.start(role, instance)

    def stop(self) -> None:
        """End everything."""
        for child in self._running.values():
            child.terminate()
        for child in self._running.values():
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@contextmanager
def ending_application(cluster: Cluster) -> Iterator[None]:
    """Run the target's application: END CONVERSATION on every EndDialog."""
    stop = threading.Event()

    def work() -> None:
        with (
            Client(cluster, "target") as client,
            Receiver(
                cluster, "ServerB", "DatabaseB", "TargetQueue", f"{cluster.topics.prefix}app"
            ) as queue,
        ):
            while not stop.is_set():
                for message in queue.receive(timeout=0.1):
                    if message.ends_dialog:
                        client.end(message.conversation)
                client.flush()
                queue.commit()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


@pytest.mark.timeout(280)
def test_every_kind_of_worker_is_killed_and_nothing_is_lost(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """What was accepted is in the target's queue, once and in order, whoever died on the way."""
    cluster, topology = Cluster(kafka, Topics(unique)), load(TOPOLOGY, time.time())
    deploy(cluster, topology)
    chance = random.Random(20261121)
    supervisor = Supervisor(cluster, tmp_path)
    queue = cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
    try:
        for role, instance in GROUPS:
            supervisor.start(role, instance)
        with Watch(cluster, [queue]) as watch, ending_application(cluster):
            send_everything(cluster)
            # Each kill waits for some more deliveries, so every one hits traffic under way.
            marks = sorted(chance.sample(range(200, MESSAGES - 500), 2 * len(GROUPS)))
            order = [*GROUPS, *GROUPS]
            chance.shuffle(order)
            for mark, victim in zip(marks, order, strict=True):
                wait_for(lambda mark=mark: watch.queued >= mark, f"{mark} deliveries", tmp_path)
                supervisor.kill(*victim)
            wait_for(lambda: watch.ended >= DIALOGS, "every dialog to end", tmp_path)
    finally:
        supervisor.stop()
    facts = read_facts(cluster, topology)
    ledger = facts.balance()
    assert supervisor.kills == 2 * len(GROUPS)
    assert ledger.verdict == "nothing lost"
    assert (ledger.accepted, ledger.delivered, ledger.waiting) == (MESSAGES, MESSAGES, 0)
    assert ledger.locked == {"ServerB/DatabaseB": DIALOGS}


def send_everything(cluster: Cluster) -> None:
    """Hand over all dialogs, interleaved."""
    with Client(cluster, "source") as client:
        dialogs = [
            client.begin(*("ServerA", "DatabaseA", "InitiatorService", "TargetService"), wait=False)
            for _ in range(DIALOGS)
        ]
        for number in range(MESSAGES):
            client.send(dialogs[number % DIALOGS], b"message %d" % number)
        for dialog in dialogs:
            client.end(dialog)


def wait_for(condition: object, what: str, logs: Path, timeout: float = 120) -> None:
    """Return when a condition holds; fails with the workers' logs where it never does."""
    deadline, pause = time.monotonic() + timeout, threading.Event()
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            said = [f"{p.name}: {p.read_text()[-600:]}" for p in sorted(logs.glob("*.log"))]
            pytest.fail(f"waited {timeout:.0f} s for {what}\n" + "\n".join(said))
        pause.wait(0.02)
