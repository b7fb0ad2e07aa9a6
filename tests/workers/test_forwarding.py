"""The forwarder's commit rule, and which next hops are reachable."""

from __future__ import annotations

import os
from typing import Any

import pytest

from streams.client import Conversation
from streams.errors import EventKind, Number
from streams.kafka import KafkaError, KafkaException, TopicPartition, headers_of
from streams.protocol import Limits
from streams.wire.records import INSIDE, MESSAGE, ORIGIN, OUTSIDE, header_of
from streams.workers.forwarder.fast_path import FastPath
from streams.workers.forwarder.local_producer import LocalProducer
from streams.workers.forwarder.loop import ForwarderLoop
from tests.workers.rig import QUICK, Hook, Rig, eventually, limit_size, pause

PATIENT = Limits(retries=(60_000,))


class CrashError(Exception):
    """The process is gone at this point."""


def crash(*_: Any, **__: Any) -> Any:
    raise CrashError


def crash_with(topic: str) -> Hook:
    """Return a hook that crashes a commit of ``topic``, maybe not the first commit of all."""

    def commit(method: Any, *args: Any, **given: Any) -> Any:
        if any(offset.topic == topic for offset in given.get("offsets", ())):
            raise CrashError
        return method(*args, **given)

    return commit


def send(two: Rig, *bodies: bytes) -> Conversation:
    """Begin a dialog at A and send, each message accepted before the next."""
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        for body in bodies:
            client.send(dialog, body, wait=True)
    return dialog


@pytest.mark.parametrize(("point", "arrived"), [("flush", 0), ("commit", 1)])
def test_a_crash_before_the_commit_repeats_and_never_loses(
    two: Rig, point: str, arrived: int
) -> None:
    """Before the flush copies may have arrived, behind it they have; nothing says so yet.

    A batch contains one to three of the messages, as many as the client has fetched.
    """
    bodies = [b"one", b"two", b"three"]
    two.endpoint(limits=PATIENT)
    send(two, *bodies)
    out, txq = two.topics.out("A"), two.topics.txq("B")
    two.until(out, 3)
    first = two.forwarder("A", hooks={point: crash if point == "flush" else crash_with(out)})
    assert isinstance(first.ended(), CrashError)
    two.running.remove(first)
    assert two.committed("forwarder", out) < 0, "it has committed what nobody has confirmed"
    two.until(txq, arrived)
    two.forwarder("A")
    end = two.records(out)[-1].offset() or 0
    eventually(lambda: two.committed("forwarder", out) > end or pause(), "the next one commits")
    seen = [m.value() for m in two.records(txq)]
    before = len(seen) - 3
    assert before >= arrived
    assert seen == [*bodies[:before], *bodies]
    two.endpoint("B", limits=PATIENT)
    two.forwarder("B")
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    assert [m.value() for m in two.until(queue, 3)] == bodies
    assert len(two.records(queue)) == 3


def test_a_batch_is_read_when_kafka_has_the_previous_one(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that wait for others keep the client from sleeping; after some time it reads on."""
    monkeypatch.setattr("streams.workers.forwarder.loop._PATIENCE", 3_600.0)
    turns: list[ForwarderLoop] = []
    may_read, written = ForwarderLoop._may_read, LocalProducer.has_written

    def turn(self: ForwarderLoop) -> bool:
        turns.append(self)
        return may_read(self)

    monkeypatch.setattr(ForwarderLoop, "_may_read", turn)
    out, txq = two.topics.out("A"), two.topics.txq("B")
    two.endpoint(limits=PATIENT)
    two.forwarder("A")
    send(two, b"one")
    two.until(txq, 1)
    monkeypatch.setattr(LocalProducer, "has_written", lambda *made: written(*made) and False)
    turns.clear()
    eventually(lambda: len(turns) > 1 or pause(), "a turn that began after that")
    send(two, b"two")
    two.until(out, 2)
    turns.clear()
    eventually(lambda: len(turns) > 1_000 or pause(), "a thousand turns")
    assert len(two.records(txq)) == 1
    monkeypatch.setattr("streams.workers.forwarder.loop._PATIENCE", 0.0)
    turns[0]._read_on_at = 0.0
    two.until(txq, 2)


def test_each_decision_says_that_the_worker_gets_on(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of thousands may take longer than a thread may be silent: it would be ended."""
    decided: list[None] = []
    monkeypatch.setattr("streams.workers.forwarder.processor.beat", lambda: decided.append(None))
    two.endpoint(limits=PATIENT)
    send(two, b"one")
    two.until(two.topics.out("A"), 1)
    two.forwarder("A")
    two.until(two.topics.txq("B"), 1)
    assert decided


@pytest.mark.parametrize("fast", [True, False])
def test_a_delivered_frame_names_its_origin(
    two: Rig, monkeypatch: pytest.MonkeyPatch, fast: bool
) -> None:
    """The endpoint worker prefers the sender's own database only for messages from inside."""
    if not fast:
        monkeypatch.setattr(FastPath, "take", lambda *_: False)
    inbox = two.topics.inbox("B")
    for name in ("A", "B"):
        two.endpoint(name, limits=PATIENT)
        two.forwarder(name)
    send(two, b"from A")
    with two.client() as client:
        dialog = client.begin("B", "DatabaseB", "TargetService", "TargetService")
        client.send(dialog, b"from B", wait=True)
    frames = two.until(inbox, 2, lambda m: header_of(headers_of(m), MESSAGE) is not None)
    origins = {m.value(): header_of(headers_of(m), ORIGIN) for m in frames}
    assert origins == {b"from A": OUTSIDE, b"from B": INSIDE}


def test_a_copy_that_kafka_refuses_is_told_and_holds_nothing_up(two: Rig) -> None:
    """11292: the next hop's topic takes nothing of this size; the sender keeps its message."""
    limit_size(two.cluster, two.topics.txq("B"), 4_000)
    two.endpoint(limits=PATIENT)
    two.forwarder("A")
    send(two, b"small, and before it")
    two.until(two.topics.txq("B"), 1)  # Kafka refuses whole batches: it must not be in this one
    dialog = send(two, os.urandom(8_000))
    [reported] = two.events(1, error=Number.TRANSPORT_SEND_ERROR)
    assert reported["event"] == EventKind.FORWARDED_MESSAGE_DROPPED
    assert reported["conversation"] == str(dialog.id)
    [copy] = [
        m for m in two.records(two.topics.out("A")) if m.key() == reported["conversation"].encode()
    ]
    where = (two.topics.out("A"), 0, copy.offset())
    assert (reported["topic"], reported["partition"], reported["offset"]) == where
    assert two.topics.txq("B") in reported["detail"]
    send(two, b"small")
    two.until(two.topics.txq("B"), 1, lambda m: m.value() == b"small")


def test_a_position_that_was_not_committed_is_committed_later(two: Rig) -> None:
    """Whether Kafka rejects the commit or one of its partitions: retries wait for the position."""
    failures: list[int] = []

    def commit(method: Any, **asked: Any) -> Any:
        failures.append(1)
        if len(failures) == 1:
            raise KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))
        if len(failures) == 2:
            asked["offsets"] = [TopicPartition(two.topics.prefix + "missing", 0, 1)]
        return method(**asked)

    two.endpoint(limits=PATIENT)
    send(two, b"one")
    two.forwarder("A", hooks={"commit": commit})
    out = two.topics.out("A")
    eventually(lambda: two.committed("forwarder", out) > 0 or pause(), "it is committed later")
    assert len(failures) > 2


@pytest.mark.long
def test_a_next_hop_without_signs_of_life_is_unreachable_until_it_is_back(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9753 at the sender; after the heartbeats a retry comes through (one clock, not two)."""
    monkeypatch.setattr("streams.node.liveness.presence.SILENCE", 1.0)
    monkeypatch.setattr("streams.workers.control.heartbeat_schedule.HEARTBEAT", 0.1)
    here, there = two.control("A"), two.control("B")
    eventually(lambda: (there.reachable("A") and here.reachable("B")) or pause(), "both are there")
    assert here.reachable("A")
    there.stop()
    two.controls.pop(("B",))
    eventually(lambda: not here.reachable("B") or pause(), "one has gone silent")
    two.endpoint(limits=QUICK, control=here)
    two.forwarder("A", control=here)
    dialog = send(two, b"one")
    [reported, *_] = two.events(1, error=Number.TARGET_UNREACHABLE)
    assert (reported["instance"], reported["conversation"]) == ("A", str(dialog.id))
    assert two.records(two.topics.txq("B")) == []
    two.control("B")
    eventually(lambda: here.reachable("B") or pause(), "it is back")
    [copy] = two.until(two.topics.txq("B"), 1)
    assert copy.value() == b"one"
