"""Hundreds of records that each fail alone cost their own time, and no member its partitions."""

from __future__ import annotations

import uuid
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.errors import EventKind, Number
from streams.kafka import Message, deploy
from streams.protocol import Acknowledgement, Dialog
from streams.topology import Queue, Topology
from streams.wire.records import message_record, read_ack
from streams.wire.state import encode_dialog
from streams.workers.endpoint import bodies
from tests.workers.rig import Rig
from tests.workers.rubbish import header, journey, parties

POISON = 300


@pytest.mark.long
def test_what_cannot_be_written_costs_only_itself(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where encoding fails nothing has been sent: the member goes on with what is left."""

    def fail(dialog: Dialog) -> bytes:
        if dialog.far_service == "Poison":
            raise ZeroDivisionError("of course")
        return encode_dialog(dialog)

    monkeypatch.setattr("streams.workers.endpoint.output.encode_dialog", fail)
    assigned: list[int] = []

    def assign(method: Any, places: Any) -> Any:
        assigned.append(len(places))
        return method(places)

    inbox, producer = two.topics.inbox("B"), two.cluster.producer()
    for number in range(2 * POISON):
        said = parties(from_service="Poison" if number % 2 else "InitiatorService")
        key, value, headers = message_record(uuid.uuid4(), said, header(), journey(), b"x")
        producer.produce(inbox, value, key, headers=headers)
    assert producer.flush(30) == 0
    two.endpoint("B", slot="0", hooks={"assign": assign})
    two.until(two.topics.queue("B", "DatabaseB", "TargetQueue"), POISON)
    two.events(POISON, error=Number.CORRUPTED_HEADER)
    assert assigned == [1]
    two.check()


def test_an_abort_that_comes_too_early_costs_a_client_and_no_slot(two: Rig) -> None:
    """Where a commit is not over yet the coordinator may hear of the abort first: no fencing."""
    calls, aborts = count(), []

    def flush(method: Any, *given: Any) -> Any:
        if next(calls) == 0:
            raise ZeroDivisionError("of course")
        return method(*given)

    def abort(method: Any, *given: Any) -> Any:
        aborts.append(given)
        raise KafkaException(KafkaError(KafkaError.INVALID_TXN_STATE, "too early", fatal=True))

    two.endpoint("A", slot="0", hooks={"flush": flush, "abort_transaction": abort})
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService", wait=True)
        client.send(dialog, b"x", wait=True)
    two.until(two.topics.out("A"), 1)
    assert len(aborts) == 1
    two.check()


def with_queue(topology: Topology, *, on: bool) -> Topology:
    """Return the topology with TargetQueue on or off."""
    instance = topology.instances["B"]
    database = instance.databases["DatabaseB"]
    queues = {"TargetQueue": Queue("TargetQueue", status=on)}
    databases = {"DatabaseB": replace(database, queues=queues)}
    instances = {"B": replace(instance, databases=databases)}
    return replace(topology, instances={**topology.instances, **instances})


def arrive(two: Rig, conversation: uuid.UUID, *sequences: int, sender: str = "Any") -> None:
    """Write messages of 100 bytes of a dialog into ``in``."""
    for sequence in sequences:
        said, body = parties(from_service=sender), b"%d" % sequence + b"." * 99
        wire = message_record(conversation, said, header(sequence=sequence), journey(), body)
        two.produce(two.topics.inbox("B"), *wire)


def stored(two: Rig, conversation: uuid.UUID, highest: int) -> None:
    """Wait until the target has acknowledged what it has seen of a dialog."""

    def acknowledges(message: Message) -> bool:
        if message.key() != str(conversation).encode():
            return False
        found = read_ack(message.key(), message.value(), message.headers())  # type: ignore[arg-type]
        return isinstance(found, Acknowledgement) and found.ack.highest_seen == highest

    two.until(two.topics.out("B"), 1, acknowledges)


@pytest.mark.long
def test_a_dialog_that_cannot_look_again_waits_alone(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a catalog change it is told, and the messages of the others come into the queue."""
    broken: list[bool] = []

    def fail(dialog: Dialog) -> bytes:
        if broken and dialog.far_service == "Poison":
            raise ZeroDivisionError("of course")
        return encode_dialog(dialog)

    monkeypatch.setattr("streams.workers.endpoint.output.encode_dialog", fail)
    deploy(two.cluster, with_queue(two.topology, on=False))
    two.endpoint("B")
    poison, *others = (uuid.uuid4() for _ in range(4))
    arrive(two, poison, 0, sender="Poison")
    for other in others:
        arrive(two, other, 0)
        stored(two, other, 0)
    broken.append(True)
    deploy(two.cluster, with_queue(two.topology, on=True))
    two.until(two.topics.queue("B", "DatabaseB", "TargetQueue"), len(others))
    kind = EventKind.MESSAGE_UNDELIVERABLE
    two.events(1, conversation=str(poison), event=kind, error=Number.CORRUPTED_HEADER)
    two.check()


@pytest.mark.long
def test_what_one_dialog_has_stored_is_never_too_much(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its window bounds it: in parts it could not be delivered, and would not be acknowledged."""
    monkeypatch.setattr(bodies, "BYTES", 50)
    deploy(two.cluster, with_queue(two.topology, on=False))
    two.endpoint("B", cache_bytes=0)
    parked, held = uuid.uuid4(), uuid.uuid4()
    arrive(two, parked, 0, 1, 2)
    stored(two, parked, 2)
    deploy(two.cluster, with_queue(two.topology, on=True))
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    two.until(queue, 3)
    arrive(two, held, 1, 2, 3)
    stored(two, held, 3)
    arrive(two, held, 0)
    two.until(queue, 7)
    two.check()
