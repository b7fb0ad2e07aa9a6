"""A process that starts reads `presence` to its end first, even an hour of heartbeats."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Message, start_before_newest
from streams.wire import encode_presence
from streams.workers import Plan, Process
from streams.workers.control.consumer import ControlConsumer
from streams.workers.control.heartbeats import Heartbeats
from tests.running import DEADLINE, System, WorkerThread, running
from tests.workers.rig import Hook, HookedCluster, configure, eventually, pair, pause

INSTANCES, SECONDS = 50, 6_000
NOW = 1_790_000_000_000


@pytest.fixture
def system(kafka: str, unique: str, tmp_path: Path) -> Iterator[System]:
    """Return two instances in which nothing runs yet."""
    with running(kafka, unique, pair(tmp_path), start=False) as made:
        yield made


def write_heartbeats(system: System) -> None:
    """Write 300,000 heartbeats of instances that are gone; by their own clock one each second."""
    producer = system.cluster.producer(linger_ms=20, enable_idempotence=False)
    topic = system.cluster.topics.presence
    names = [f"Gone{number}" for number in range(INSTANCES)]
    for second in range(SECONDS):
        when = NOW - (SECONDS - second) * 1_000
        for name in names:
            value = encode_presence(name, "gone", second + 1, when)
            producer.produce(topic, key=name, value=value, timestamp=when)
        producer.poll(0)
    assert producer.flush(DEADLINE) == 0


def ready(worker: WorkerThread) -> bool:
    """Tell whether a process has all that it needs, or has ended."""
    return not worker.alive or not [*worker.process.missing()]


@pytest.mark.long
def test_a_second_process_in_a_slot_reads_all_heartbeats_before_it_judges(system: System) -> None:
    """It reads for seconds, and only at the end of what it reads it sees that the owner lives."""
    write_heartbeats(system)
    first = system.start("A", roles=("endpoint",), slot="a")
    eventually(lambda: ready(first) or pause(), "the owner works")
    second = system.start("A", roles=("endpoint",), slot="a")
    eventually(lambda: ready(second) or not first.alive or pause(), "one of them ends")
    assert first.alive, first.failure
    assert isinstance(second.failure, SurroundingsError)
    assert second.failure.message.startswith("Another process uses slot a of the endpoint")
    system.workers.remove(second)


@dataclass
class Withheld:
    """Withhold the records of ``presence`` from the process of a cluster until the gate opens.

    The process still reads the catalog. ``turns`` counts its reads while the gate is closed.
    """

    cluster: HookedCluster
    gate: threading.Event = field(default_factory=threading.Event)
    turns: int = 0
    _kept: list[Message] = field(default_factory=list)

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Read through this object from now on."""
        take = ControlConsumer.take

        def gated(consumer: ControlConsumer, timeout: float) -> list[Message]:
            messages = take(consumer, timeout)
            return self._pass(messages) if consumer._cluster is self.cluster else messages

        patch.setattr(ControlConsumer, "take", gated)

    def _pass(self, messages: list[Message]) -> list[Message]:
        self._kept += messages
        if self.gate.is_set():
            passed, self._kept = self._kept, []
            return passed
        self.turns += 1
        topic = self.cluster.topics.presence
        self._kept = [message for message in self._kept if message.topic() == topic]
        return [message for message in messages if message.topic() != topic]


@pytest.mark.long
def test_who_has_not_read_to_the_end_takes_no_slot(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before that, the slot of a live owner looks free."""
    first = system.start("A", roles=("endpoint",), slot="a")
    eventually(lambda: ready(first) or pause(), "the owner works")
    taken: list[str] = []

    def init(method: Hook, *args: Any) -> Any:
        taken.append("slot")
        return method(*args)

    hooks: dict[str, Hook] = {"init_transactions": init}
    cluster = HookedCluster(system.cluster.bootstrap, system.cluster.topics, hooks=hooks)
    withheld = Withheld(cluster)
    withheld.apply(monkeypatch)
    process = Process(cluster, Plan(("endpoint",), ("A",), "a"), timeout=DEADLINE)
    second = WorkerThread(process)
    system.workers.append(second)

    def waits() -> bool:
        control = process._control
        return control is not None and control._presence_end.awaited.is_set()

    try:
        eventually(lambda: waits() or taken or not second.alive or pause(), "it decides or waits")
        turns = withheld.turns + 10
        eventually(
            lambda: withheld.turns > turns or taken or not second.alive or pause(), "it reads on"
        )
        assert taken == [], "it took the slot before it had read `presence` to its end"
        assert second.alive, second.failure
    finally:
        withheld.gate.set()
    eventually(lambda: not second.alive or not first.alive or pause(), "it is refused")
    assert isinstance(second.failure, SurroundingsError)
    assert second.failure.message.startswith("Another process uses slot a of the endpoint")
    assert taken == []
    system.workers.remove(second)
    with system.client() as client:  # the owner applies statements
        client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
    assert first.alive, first.failure


@pytest.mark.long
def test_heartbeats_are_read_from_ten_periods_before_the_newest(system: System) -> None:
    """By the broker's clock: nobody needs to read an hour to know who lives now."""
    cluster, topic = system.cluster, system.cluster.topics.presence
    configure(cluster, topic, {"message.timestamp.type": "CreateTime"})
    write_heartbeats(system)
    consumer = cluster.consumer(f"{cluster.topics.prefix}control", enable_partition_eof=True)
    try:
        assert start_before_newest(consumer, topic, lambda _: 10.0) == (
            INSTANCES * (SECONDS - 11),
            INSTANCES * SECONDS,
        )
    finally:
        consumer.close()
    configure(cluster, topic, {"message.timestamp.type": "LogAppendTime"})
    offsets: list[int] = []
    read = Heartbeats.read

    def noted(self: Heartbeats, message: Message, now: float) -> float | None:
        if message.topic() == topic:
            offsets.append(message.offset() or 0)
        return read(self, message, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Heartbeats, "read", noted)
        worker = system.start("A", roles=("endpoint",))
        eventually(lambda: ready(worker) or pause(), "it works")
    assert worker.alive
    assert offsets[0] == INSTANCES * (SECONDS - 11)


def test_a_topic_without_heartbeats_is_read_from_its_end(system: System) -> None:
    cluster, topic = system.cluster, system.cluster.topics.presence
    consumer = cluster.consumer(f"{cluster.topics.prefix}control", enable_partition_eof=True)
    assert start_before_newest(consumer, topic, lambda _: 10.0) == (0, 0)
    consumer.close()
