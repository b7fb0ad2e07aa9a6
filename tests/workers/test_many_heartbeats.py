"""An hour of heartbeats in `presence`: who starts reads them to the end before it judges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Message, start_before_newest
from streams.wire import encode_presence
from streams.workers.control.heartbeats import Heartbeats
from tests.running import DEADLINE, System, WorkerThread, running
from tests.workers.rig import configure, eventually, pair, pause

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
