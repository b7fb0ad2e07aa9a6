"""Processes with a slot that are killed, stopped, and started twice by mistake.

Kafka would keep a dead member's partitions for five minutes here, and no test waits so long.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from streams.client import Client, Conversation
from streams.kafka import Cluster, deploy, read_all
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import read_queued
from tests.faults.processes import Child
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

LONG = "session.timeout.ms=300000"


@dataclass
class Twins:
    """Processes that all have slot 0 of the same instances, and a dialog between these."""

    cluster: Cluster
    logs: Path
    client: Client
    dialog: Conversation
    children: list[Child] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)

    def start(self) -> Child:
        """Start one."""
        where = ("--bootstrap", self.cluster.bootstrap, "--prefix", self.cluster.topics.prefix)
        how = ("both", "--all", "--slot", "0", "--kafka", LONG)
        log = self.logs / f"{len(self.children)}.log"
        self.children.append(Child(log, "streams", "worker", *how, *where))
        return self.children[-1]

    def converse(self) -> None:
        """Send a message and wait until it is in the queue at the other side."""
        self.sent.append(b"%d" % len(self.sent))
        self.client.send(self.dialog, self.sent[-1], wait=True)
        eventually(lambda: self.received() == self.sent or pause(), "the message")

    def received(self) -> list[bytes]:
        """Return the bodies in the queue."""
        topic = self.cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
        return [read_queued(m.value(), m.headers()).body for m in read_all(self.cluster, topic)]  # type: ignore[arg-type]


@pytest.fixture
def twins(kafka: str, unique: str, tmp_path: Path) -> Iterator[Twins]:
    """Return the dialog, which has no message yet; every process ends with the test."""
    cluster = Cluster(kafka, Topics(unique))
    deploy(cluster, load(topologies_dir() / "two_brokers", time.time()))
    names = ("ServerA", "DatabaseA", "InitiatorService", "TargetService")
    with Client(cluster, timeout=DEADLINE) as client:
        made = Twins(cluster, tmp_path, client, client.begin(*names, wait=False))
        try:
            yield made
        finally:
            for child in made.children:
                child.signal(signal.SIGCONT)
                child.stop()


@pytest.fixture
def first(twins: Twins) -> Child:
    """Return a running process."""
    worker = twins.start()
    twins.converse()
    return worker


def ended(child: Child) -> int:
    """Wait until a process has ended by itself; return its exit code."""
    eventually(lambda: child.code is not None or pause(), "the end of a process")
    assert child.code is not None
    return child.code


def test_who_is_killed_and_starts_again_has_its_partitions_at_once(
    twins: Twins, first: Child
) -> None:
    first.kill()
    twins.converse()


@pytest.mark.long
def test_who_was_stopped_is_thrown_out_when_it_goes_on(twins: Twins, first: Child) -> None:
    """SIGSTOP: the process sends no heartbeat, so another one takes its slot; then it resumes."""
    first.signal(signal.SIGSTOP)
    twins.start()
    twins.converse()
    first.signal(signal.SIGCONT)
    assert ended(first) == 3
    assert "has lost slot 0" in first.last_words
    twins.converse()


@pytest.mark.long
def test_a_second_process_with_the_slot_of_one_that_lives_does_not_start(
    twins: Twins, first: Child
) -> None:
    """Otherwise each process would fence the other again and again."""
    second = twins.start()
    assert ended(second) == 3
    assert "Another process uses slot 0" in second.last_words
    assert "its own --slot" in second.last_words
    first.check()
    twins.converse()
