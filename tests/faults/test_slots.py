"""Processes with a slot that are killed, stopped, and started twice by mistake.

Kafka would keep a dead member's partitions for five minutes here, and no test waits so long.
"""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.running import eventually
from tests.workers.rig import pause

LONG = "session.timeout.ms=300000"


@dataclass
class Twins:
    """Processes that all have slot 0 of the same instances, and a dialog that crosses them."""

    cluster: Cluster
    logs: Path
    children: dict[str, Child] = field(default_factory=dict)
    sent: list[bytes] = field(default_factory=list)

    def start(self, name: str) -> Child:
        """Start one."""
        where = ("--bootstrap", self.cluster.bootstrap, "--prefix", self.cluster.topics.prefix)
        how = ("both", "--all", "--slot", "0", "--kafka", LONG)
        child = Child(self.logs / f"{name}.log", "streams", "worker", *how, *where)
        self.children[name] = child
        return child

    def converse(self, client: Client, dialog: Conversation) -> None:
        """Send a message and wait until it is in the queue at the other side."""
        self.sent.append(b"%d" % len(self.sent))
        client.send(dialog, self.sent[-1], wait=True)
        eventually(lambda: self.received() == self.sent or pause(), "the message")

    def received(self) -> list[bytes]:
        """Return the bodies in the queue."""
        topic = self.cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
        return [read_queued(m.value(), m.headers()).body for m in read_all(self.cluster, topic)]  # type: ignore[arg-type]


@contextmanager
def twins(bootstrap: str, prefix: str, logs: Path) -> Iterator[Twins]:
    cluster = Cluster(bootstrap, Topics(prefix))
    deploy(cluster, load(topologies_dir() / "two_brokers", time.time()))
    made = Twins(cluster, logs)
    try:
        yield made
    finally:
        for child in made.children.values():
            child.signal(signal.SIGCONT)
            child.stop()


def begun(client: Client) -> Conversation:
    names = ("ServerA", "DatabaseA", "InitiatorService", "TargetService")
    return client.begin(*names, conversation=uuid.uuid4())


def ended(child: Child) -> int:
    """Wait until a process has ended by itself; returns its exit code."""
    eventually(lambda: child.code is not None or pause(), "the end of a process")
    assert child.code is not None
    return child.code


@pytest.mark.timeout(200)
def test_who_is_killed_and_starts_again_has_its_partitions_at_once(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    with twins(kafka, unique, tmp_path) as made, Client(made.cluster, timeout=60) as client:
        worker = made.start("one")
        dialog = begun(client)
        made.converse(client, dialog)
        worker.kill()
        made.converse(client, dialog)


@pytest.mark.timeout(200)
def test_who_was_stopped_is_thrown_out_when_it_goes_on(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """SIGSTOP: it gives no sign of life, so another one takes its slot; then it wakes."""
    with twins(kafka, unique, tmp_path) as made, Client(made.cluster, timeout=60) as client:
        first = made.start("one")
        dialog = begun(client)
        made.converse(client, dialog)
        first.signal(signal.SIGSTOP)
        made.start("two")
        made.converse(client, dialog)
        first.signal(signal.SIGCONT)
        assert ended(first) == 3
        assert "has lost slot 0" in first.last_words
        made.converse(client, dialog)


@pytest.mark.timeout(200)
def test_a_second_process_with_the_slot_of_one_that_lives_does_not_start(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Each would throw the other one out again and again."""
    with twins(kafka, unique, tmp_path) as made, Client(made.cluster, timeout=60) as client:
        first = made.start("one")
        dialog = begun(client)
        made.converse(client, dialog)
        second = made.start("two")
        assert ended(second) == 3
        assert "Another process works in slot 0" in second.last_words
        assert "--slot of its own" in second.last_words
        first.check()
        made.converse(client, dialog)
