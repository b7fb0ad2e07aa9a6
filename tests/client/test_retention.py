"""A broker that forgets offsets after a minute: what happens in a week everywhere else."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.client import PositionLostError, Receiver
from streams.embedded import Beside, Broker
from streams.kafka import read_notes_of
from tests.running import System, eventually, running
from tests.workers.rig import pause

SOON = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
AT, GROUP = ("ServerB", "DatabaseB", "TargetQueue"), "readers"


@pytest.fixture
def system(tmp_path: Path, unique: str) -> Iterator[System]:
    broker = Broker(tmp_path / "kafka", beside=Beside(properties=SOON))
    broker.start()
    try:
        with running(broker.bootstrap, unique, "two_brokers") as found:
            yield found
    finally:
        broker.stop()


@pytest.mark.long
def test_what_was_received_before_kafka_forgot_it_is_not_received_again(system: System) -> None:
    """The queue has no group in the catalog: nothing of it is ever trimmed."""
    with system.client() as client:
        dialog = client.begin(
            "ServerA", "DatabaseA", "InitiatorService", "TargetService", conversation=uuid.uuid4()
        )
        client.send(dialog, b"one", wait=True)
        system.received(*AT, 1, group=GROUP)
        name = f"{system.cluster.topics.prefix}{GROUP}"
        eventually(
            lambda: not read_notes_of(system.cluster, [name])[name] or pause(), "it is forgotten"
        )
        client.send(dialog, b"two", wait=True)
        system.records(system.cluster.topics.queue(*AT), count=2)
        with Receiver(system.cluster, *AT, name) as receiver, pytest.raises(PositionLostError):
            eventually(lambda: receiver.receive(1), "a refusal")
        with Receiver(system.cluster, *AT, name, begin=1) as receiver:
            found = eventually(lambda: receiver.receive(1), "what is new")
        assert [message.body for message in found] == [b"two"]
