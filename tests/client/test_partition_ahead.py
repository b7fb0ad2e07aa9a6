"""How much is read ahead of a partition: messages, and their bytes."""

from __future__ import annotations

import uuid

import pytest

from streams.client.ahead import ReadAhead
from streams.client.partition_ahead import (
    HOLDER,
    NOTE,
    READ_AHEAD,
    READ_AHEAD_BYTES,
    Ahead,
    most_bytes,
)
from streams.kafka import Message as KafkaMessage
from streams.node import Progress, ReadyQueue, ReadyRow
from streams.protocol import DEFAULT, Header, Journey, Message, Parties
from streams.wire.records import queue_record

PARTIES = Parties("Target", "B", "Usual", "A", DEFAULT, True)
GROUP = uuid.UUID(int=1)


def partition(progress: Progress | None = None, *sizes: int) -> Ahead:
    """Return a partition of which messages of these sizes are read."""
    stored = progress or Progress()
    found = Ahead(ReadyQueue(stored), stored)
    for order, size in enumerate(sizes):
        put(found, order, size)
    return found


def put(ahead: Ahead, order: int, size: int) -> None:
    header = Header(uuid.UUID(int=order), DEFAULT, order, 0, 1 << 47)
    frame = Message(GROUP, PARTIES, Journey(0, 0, 0, 0), header, bytes(size))
    ahead.put(ReadyRow(order, GROUP, (GROUP, False), DEFAULT, 5), frame, size)


def test_all_partitions_share_the_bytes_of_a_member() -> None:
    assert [most_bytes(n) for n in (0, 1, 4)] == [
        READ_AHEAD_BYTES,
        READ_AHEAD_BYTES,
        READ_AHEAD_BYTES // 4,
    ]


def test_a_partition_is_full_by_bytes_and_goes_on_at_half_of_them() -> None:
    ahead = partition(None, 40, 40)
    assert not ahead.is_full(100)
    put(ahead, 2, 20)
    assert ahead.is_full(100)
    ahead.paused = True
    ahead.queue.receive(HOLDER, 1)
    assert ahead.is_full(100), "60 are left"
    ahead.queue.receive(HOLDER, 1)
    assert not ahead.is_full(100), "20 are left, and the transaction goes on"
    ahead.queue.rollback(HOLDER)
    assert ahead.is_full(100), "they can be received again"


def test_a_partition_is_full_by_messages_and_goes_on_at_half_of_them() -> None:
    ahead = partition(None, *[0] * READ_AHEAD)
    assert ahead.is_full(100)
    ahead.paused = True
    ahead.queue.receive(HOLDER, READ_AHEAD // 2)
    assert ahead.is_full(100)
    ahead.queue.receive(HOLDER, 1)
    assert not ahead.is_full(100)


@pytest.mark.long
def test_a_partition_is_full_when_its_note_would_not_fit_beside_the_offset() -> None:
    """Kafka stores 4,096 characters: long runs of urgent messages between those that wait."""
    found = list(map(_between_long_runs, range(1, READ_AHEAD)))
    first = next(ahead for ahead in found if ahead.is_full(100))
    assert NOTE <= len(first.queue.progress.encode()) < NOTE + 20
    assert len(first.queue) < READ_AHEAD
    first.paused = True
    for full in (True, False):
        assert first.is_full(100) is full
        first.queue.receive(HOLDER, 2 * len(first.queue) // 3)
        first.queue.commit(HOLDER)


def _between_long_runs(waiting: int) -> Ahead:
    """Return a partition in which 10,000 messages were received after each that waits."""
    runs = tuple((n * 11_000 + 1, n * 11_000 + 10_999) for n in range(waiting))
    ahead = partition(Progress(0, runs))
    for n in range(waiting):
        put(ahead, n * 11_000, 0)
    return ahead


def test_one_message_is_read_however_large() -> None:
    """Also where many partitions leave no byte to each."""
    assert not partition().is_full(0)
    assert partition(None, 1).is_full(0)
    ahead = partition(None, 1_000)
    ahead.paused = True
    ahead.queue.receive(HOLDER, 1)
    assert not ahead.is_full(100)


def test_headers_count_as_well() -> None:
    """A sender could fill the memory of each application with them."""
    reader = object.__new__(ReadAhead)
    reader.partitions, reader.broken = {0: partition()}, []
    header = Header(uuid.UUID(int=1), DEFAULT, 0, 0, 1 << 47)
    path = (("x" * 200, 0),) * 60
    journey = Journey(16, 1, 0, 1, 0, path)
    key, body, headers = queue_record(GROUP, GROUP, PARTIES, header, journey, b"body")
    headers.append(("unknown", bytes(30_000)))
    record = KafkaMessage("queue", 0, 0, key, body, headers)
    assert reader._take(record) is None
    assert not reader.broken
    assert reader.partitions[0].size > 42_000


def test_what_was_received_before_is_not_kept() -> None:
    """Else it would take room for ever: nothing receives it."""
    ahead = partition(Progress(0, ((1, 3),)), 10, 900, 900, 900, 10)
    assert (ahead.size, ahead.ahead, sorted(ahead.frames)) == (20, 20, [0, 4])


def test_a_message_that_is_read_twice_counts_once() -> None:
    ahead = partition(None, 10)
    put(ahead, 0, 10)
    assert ahead.size == 10


def test_what_kafka_knows_to_be_received_is_forgotten() -> None:
    ahead = partition(None, 10, 20, 30)
    ahead.queue.receive(HOLDER, 2)
    ahead.forget(ahead.queue.commit(HOLDER))
    assert (ahead.size, ahead.ahead, sorted(ahead.frames)) == (30, 30, [2])
