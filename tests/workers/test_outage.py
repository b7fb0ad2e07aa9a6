"""A forwarder's own Kafka that takes nothing for a while: no copy is given up for that (11292)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from streams.errors import Number
from streams.kafka import KafkaError, watermarks
from streams.protocol import Limits
from streams.wire import decode_event
from streams.workers import ForwarderWorker
from tests.killable import RESTARTS_SOON, Embedded
from tests.running import DEADLINE
from tests.workers.rig import Gate, HookedCluster, Rig, Running, eventually, pair, pause, rig

PATIENT = Limits(retries=(600_000,))


@dataclass(frozen=True)
class Hasty(HookedCluster):
    """A cluster whose producers give a record up after a second, whatever they are asked for."""

    asked: list[dict[str, Any]] = field(default_factory=list)

    def producer(self, **config: Any) -> Any:
        """Build a hasty producer."""
        self.asked.append(config)
        return HookedCluster.producer(self, **{**config, "message_timeout_ms": 1_000})


@pytest.fixture
def alone(unique: str, tmp_path: Path) -> Iterator[tuple[Embedded, Rig]]:
    """Return a broker of the test's own, and two instances on it."""
    (tmp_path / "topology").mkdir()
    with (
        Embedded(tmp_path / "kafka", beside=RESTARTS_SOON) as broker,
        rig(broker.bootstrap, unique, pair(tmp_path / "topology")) as made,
    ):
        yield broker, made


@pytest.mark.long
def test_a_copy_that_timed_out_is_written_again_and_not_dropped(
    alone: tuple[Embedded, Rig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker is frozen from before the copy is handed over until it has timed out."""
    broker, two = alone
    # held at the gate, the forwarder would take itself for suspended, and wait for the catalog
    monkeypatch.setattr("streams.workers.ownership._SLEPT", DEADLINE)
    gate, reported = Gate(), list[int]()
    out, txq = two.topics.out("A"), two.topics.txq("B")

    def produce(method: Any, *args: Any, **named: Any) -> None:
        gate.hold()
        given = named.pop("on_delivery", None) or args[4]

        def report(error: KafkaError | None, message: Any) -> None:
            reported.append(0 if error is None else error.code())
            given(error, message)

        method(*args[:4], *([report] * (len(args) > 4)), *args[5:],
               **named, **({} if len(args) > 4 else {"on_delivery": report}))  # fmt: skip

    two.endpoint(limits=PATIENT)
    hasty = Hasty(two.cluster.bootstrap, two.topics)
    forwarder = Running(ForwarderWorker(hasty, "A", two.control("A")), hasty)
    two.running.append(forwarder)
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"before", wait=True)
        two.until(txq, 1)
        forwarder.hooks["produce"] = produce
        client.send(dialog, b"copy", wait=True)
    gate.wait()
    process = broker.data.recorded()
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    gate.open()
    try:
        eventually(lambda: reported or pause(), "the copy has timed out")
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert reported[0] == KafkaError._MSG_TIMED_OUT
    _, end = watermarks(two.cluster.consumer("test"), out, 0)
    eventually(lambda: two.committed("forwarder", out) >= end or pause(), "it is committed")
    numbers = [decode_event(m.value())["error"] for m in two.records(two.topics.event)]
    assert Number.TRANSPORT_SEND_ERROR not in numbers
    assert [m.value() for m in two.records(txq)][:2] == [b"before", b"copy"]


def test_a_forwarder_never_gives_a_copy_up_for_its_age(two: Rig) -> None:
    """Kafka's client would do so after five minutes, by default."""
    hasty = Hasty(two.cluster.bootstrap, two.topics)
    two.running.append(Running(ForwarderWorker(hasty, "A", two.control("A")), hasty))
    eventually(lambda: hasty.asked or pause(), "it has a producer")
    assert hasty.asked[0]["message_timeout_ms"] == 0


@pytest.mark.long
def test_a_commit_that_does_not_come_back_holds_nothing_up(alone: tuple[Embedded, Rig]) -> None:
    """The broker is frozen when it is sent: a client in another thread's commit is not polled."""
    broker, two = alone
    process, polls = broker.data.recorded(), list[None]()
    assert process is not None
    commits: list[int] = []

    def commit(method: Any, **asked: Any) -> Any:
        if not commits:
            os.kill(process.pid, signal.SIGSTOP)
        commits.append(len(polls))
        return method(**asked)

    def poll(method: Any, *given: Any) -> Any:
        polls.append(None)
        return method(*given)

    out = two.topics.out("A")
    two.produce(out, "rubbish", b"")
    forwarder = two.forwarder(hooks={"commit": commit, "poll": poll})
    try:
        eventually(lambda: commits or pause(), "it commits")
        eventually(lambda: len(polls) > commits[0] + 20 or pause(), "it goes on")
        assert len(commits) == 1, "one at a time"
    finally:
        os.kill(process.pid, signal.SIGCONT)
    eventually(lambda: two.committed("forwarder", out) > 0 or pause(), "it is committed")
    forwarder.stop()
    assert forwarder.failure is None


def test_what_kafka_has_not_confirmed_is_not_committed(two: Rig) -> None:
    """Whoever is killed then begins before it, and repeats it."""
    asked: list[Any] = []

    def unconfirmed(method: Any, *args: Any) -> int:
        asked.append(args)
        return 1

    two.endpoint(limits=PATIENT)
    forwarder = two.forwarder(hooks={"flush": unconfirmed})
    out = two.topics.out("A")
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"one", wait=True)
    two.until(two.topics.txq("B"), 1)
    seen = len(asked)
    eventually(lambda: len(asked) > seen + 3 or pause(), "it asks again")
    assert two.committed("forwarder", out) < 0
    forwarder.hooks.clear()
    eventually(lambda: two.committed("forwarder", out) >= 0 or pause(), "it is committed")
