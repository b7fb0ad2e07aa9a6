"""A worker can be stopped at any time, also while Kafka takes nothing from it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from streams.errors import SurroundingsError
from streams.kafka import deploy
from streams.protocol import Command, CommandKind
from streams.wire.records import command_record
from streams.workers import Plan, Process, trimming
from tests.running import DEADLINE
from tests.workers.rig import Gate, Rig


@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
def test_a_worker_without_room_for_its_records_can_be_stopped(two: Rig, role: str) -> None:
    """Nothing is committed then; what it has read is read again by the next one."""
    gate = Gate()

    def produce(_: Any, *args: Any, **record: Any) -> None:
        gate.hold()
        raise BufferError("Local: Queue full")

    worker = getattr(two, role)("A", hooks={"produce": produce})
    unknown = Command(uuid.uuid4(), uuid.uuid4(), CommandKind.SEND, "DatabaseA")
    two.produce(two.topics.cmd("A"), *command_record(unknown))  # refused: an event
    two.produce(two.topics.out("A"), "rubbish", b"")  # an event, too
    gate.wait()
    worker._end.set()
    gate.open()
    failure = worker.ended()
    two.running.clear()
    assert isinstance(failure, SurroundingsError)
    assert failure.message == "A was stopped while Kafka took no records."
    topic = two.topics.cmd("A") if role == "endpoint" else two.topics.out("A")
    assert two.committed(role, topic) < 0


def test_a_process_that_cannot_trim_any_more_ends(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would go on, and the topics would grow without bound: whoever keeps it starts it again."""

    def fail(_: Any) -> None:
        raise ValueError("broken")

    deploy(two.cluster, two.topology)  # with the schemas, which a whole process demands
    monkeypatch.setattr(trimming, "every", lambda _: 0.01)
    monkeypatch.setattr(trimming.Trimming, "once", fail)
    process = Process(two.cluster, Plan(("forwarder",), ("A",), keep=1.0), timeout=DEADLINE)
    with pytest.raises(SurroundingsError, match=r"^Trimming: broken"):
        process.run()
