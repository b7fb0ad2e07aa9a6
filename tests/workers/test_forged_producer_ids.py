"""Another client uses a worker's producer id, which Kafka does not check: the worker goes on.

The ids are consecutive numbers. So the other client needs no access to the worker's records, and
can use ids before a worker gets them.
"""

from __future__ import annotations

import threading

import pytest

from streams.errors import EventKind, Number
from streams.kafka import Cluster, create, read_all
from streams.node import KafkaClock, event
from streams.wire import Topics, decode_presence
from streams.wire.specs import spec
from streams.workers.control.heartbeat_writer import HeartbeatWriter
from streams.workers.event_counts import EventCounts, Traffic
from streams.workers.forwarder.local_producer import LocalProducer
from tests.remembering import producer_ids
from tests.running import DEADLINE
from tests.workers.forged import forge, next_producer_id
from tests.workers.rig import Rig, eventually
from tests.workers.test_fencing import begin

_IDS = 20
"""Other tests use some ids of the same broker."""


def values(cluster: Cluster, topic: str) -> list[str | bytes | None]:
    """Return the values of the records that were not forged."""
    return [m.value() for m in read_all(cluster, topic) if m.key() != b"forged"]


def test_heartbeats_have_no_producer_id(kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    presence = cluster.topics.presence
    create(cluster, [spec(presence, "presence")])
    first = next_producer_id(kafka)
    writer = HeartbeatWriter(cluster, "r", KafkaClock())
    for count in (1, 2):
        forge(kafka, presence, range(first, first + _IDS))
        writer.write("A", count, 1.0, None, {})
        assert writer.producer.flush(DEADLINE) == 0
    writer.close()
    counts = [decode_presence(value)["count"] for value in values(cluster, presence)]
    assert counts == [1, 2]


def test_a_forwarder_writes_copies_with_another_id_and_events_without_one(
    kafka: str, unique: str
) -> None:
    cluster = Cluster(kafka, Topics(unique))
    inbox, events = cluster.topics.inbox("B"), cluster.topics.event
    create(cluster, [spec(inbox, "in"), spec(events, "event")])
    first = next_producer_id(kafka)
    forged = range(first, first + 3)  # the first clients', each of which has to be replaced
    forge(kafka, inbox, forged)
    forge(kafka, events, range(first, first + _IDS))
    producer = LocalProducer(
        cluster, "A", threading.Event(), event_counts=EventCounts(), traffic=Traffic()
    )
    source = ("out.A", 0, 0)
    copies = [b"%d" % number for number in range(3)]
    corrupted = event(
        EventKind.CORRUPTED_MESSAGE,
        at=1,
        instance="A",
        error=Number.CORRUPTED_HEADER,
        detail="unreadable",
        topic="out.A",
        partition=0,
        offset=0,
    )
    for copy in copies:
        producer.produce(source, inbox, b"key", copy)
        producer.emit(source, None, corrupted)
    eventually(lambda: producer.confirm(DEADLINE), "Kafka has all")
    assert values(cluster, inbox) == copies
    assert len(values(cluster, events)) == len(copies)


def test_a_forwarder_goes_on_after_a_batch_with_the_next_epoch(kafka: str, unique: str) -> None:
    """Its client has written with the id before."""
    cluster = Cluster(kafka, Topics(unique))
    inbox = cluster.topics.inbox("B")
    create(cluster, [spec(inbox, "in")])
    first = next_producer_id(kafka)
    producer = LocalProducer(
        cluster, "A", threading.Event(), event_counts=EventCounts(), traffic=Traffic()
    )
    copies = [b"%d" % number for number in range(4)]
    for copy in copies:
        producer.produce(("out.A", 0, 0), inbox, b"key", copy)
        eventually(lambda: producer.confirm(DEADLINE), "Kafka has all")
        forge(kafka, inbox, range(first, first + 2), epoch=int(copy) + 1)
    assert values(cluster, inbox) == copies


@pytest.mark.long
def test_an_endpoint_worker_goes_on_with_another_name_and_writes_events_without_an_id(
    two: Rig,
) -> None:
    """Kafka cannot end the transaction in `event`, so its name is of no use to anybody any more."""
    first, events = two.endpoint(), two.topics.event
    begin(two)
    [used] = producer_ids(two.cluster, events)
    forge(two.cluster.bootstrap, events, range(used, used + _IDS))
    for _ in range(2):
        begin(two)  # has an event
    kept = two.until(events, 3, lambda message: message.key() != b"forged")
    assert len({message.key() for message in kept}) == 3
    assert first.failure is None
    first.stop()
    second = two.endpoint()  # with the first name, like a new process
    begin(two)
    two.until(events, 4, lambda message: message.key() != b"forged")
    assert second.failure is None
