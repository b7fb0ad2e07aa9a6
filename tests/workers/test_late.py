"""Design, rule 11: a copy that Kafka appends to ``in`` after its time to live opens no dialog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.client import Conversation
from streams.errors import EventKind, Number, SurroundingsError
from streams.kafka import Message, deploy
from streams.protocol import DialogKey, Limits, State
from streams.topology import Topology, load
from streams.wire import decode_journey
from streams.wire.records import HOP, MESSAGE, header_of
from streams.workers import Control, Plan, Process
from streams.workers.endpoint.restore import read_dialogs
from tests.forgetting import forget
from tests.running import DEADLINE
from tests.workers.rig import Gate, Rig, configure, declare_dead, eventually, pause, rig

LOCAL = """
instances:
  A:
    address: tcp://A:1
    databases:
      DatabaseA:
        broker_id: DatabaseA
        services: {InitiatorService: {queue: InitiatorQueue}, TargetService: {queue: TargetQueue}}
"""
PATIENT = Limits(retries=(60_000,))
BRIEF = Limits(time_to_live=2_000, retries=(400, 800), recheck=100)
"""A key is kept for three seconds after the initiator has said *closed*."""


def topology(folder: Path) -> Topology:
    """Return one instance whose services talk to each other."""
    (folder / "topology.yaml").write_text(LOCAL)
    return load(folder, 0.0)


@pytest.fixture
def one(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return one instance, in which nothing runs yet."""
    with rig(kafka, unique, topology(tmp_path)) as made:
        yield made


def begin(one: Rig) -> Conversation:
    """Begin a dialog and send two messages."""
    with one.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"one")
        client.send(dialog, b"two")
    return dialog


def finish(one: Rig, dialog: Conversation) -> None:
    """End it on both sides, and wait until the target has forgotten it."""
    with one.client() as client:
        one.until(queue(one), 2)
        eventually(lambda: target(dialog) in known(one) or pause(), "the key is stored")
        client.end(dialog)
        one.until(queue(one), 3)
        client.end(Conversation("A", "DatabaseA", dialog.id, is_initiator=False))
    eventually(lambda: target(dialog) not in known(one) or pause(), "the key is forgotten")


def queue(one: Rig) -> str:
    return one.topics.queue("A", "DatabaseA", "TargetQueue")


def target(dialog: Conversation) -> DialogKey:
    return ("DatabaseA", dialog.id, False)


def known(one: Rig) -> set[DialogKey]:
    """Return the endpoints that the state topic has."""
    return set(read_dialogs(one.cluster, one.topics.dialog("A"), 0))


def bodies(one: Rig) -> list[bytes | None]:
    """Return what is in the target's queue; an EndDialog is empty."""
    return [m.value() or b"" for m in one.records(queue(one))]


def first_copies(one: Rig) -> list[Message]:
    """Return the first copies of messages in ``in``."""
    frames = [m for m in one.records(one.topics.inbox("A")) if header_of(m.headers(), MESSAGE)]  # type: ignore[arg-type]
    return [m for m in frames if decode_journey(header_of(m.headers(), HOP)).attempt == 0]  # type: ignore[arg-type]


def read_to_its_end(one: Rig) -> None:
    """Wait until the endpoint worker has read all that is in ``in``."""
    inbox = one.topics.inbox("A")
    last = one.records(inbox)[-1].offset() or 0
    eventually(lambda: one.committed("endpoint", inbox) > last or pause(), "in is read")


def is_late(one: Rig, dialog: Conversation, sequence: int) -> None:
    """Wait until a message was refused because it was late; others may have been before it."""
    late = {"event": EventKind.MESSAGE_UNDELIVERABLE, "error": Number.TIME_TO_LIVE_EXCEEDED}
    events = one.events(1, **late, sequence=sequence)
    assert {e["conversation"] for e in events} == {str(dialog.id)}


@pytest.mark.long
def test_a_forwarder_that_stalls_before_its_write_delivers_no_dialog_twice(one: Rig) -> None:
    """Another replica has done its work, the dialog is over and forgotten when it wakes up."""
    stalled, gate = one.forwarder(), Gate()
    one.endpoint(limits=BRIEF)
    stalled.hooks["produce"] = gate
    dialog = begin(one)
    gate.wait()  # it has decided about the first copy of the first message
    declare_dead(stalled, "forwarder")
    one.forwarder()
    finish(one, dialog)
    before = len(first_copies(one))
    gate.open()
    eventually(lambda: len(first_copies(one)) > before or pause(), "it has written")
    read_to_its_end(one)
    is_late(one, dialog, 0)
    assert bodies(one) == [b"one", b"two", b""]
    assert target(dialog) not in known(one)


def test_a_forwarder_whose_offsets_are_gone_delivers_no_dialog_twice(one: Rig) -> None:
    """It begins at the start of ``out``, as one that was away for a week."""
    first = one.forwarder()
    one.endpoint(limits=BRIEF)
    dialog = begin(one)
    finish(one, dialog)
    first.stop()
    forget(one.cluster, f"{one.topics.prefix}forwarder.A")
    before = len(first_copies(one))
    one.forwarder()
    eventually(lambda: len(first_copies(one)) >= 2 * before or pause(), "it has read out again")
    read_to_its_end(one)
    is_late(one, dialog, 0)
    assert bodies(one) == [b"one", b"two", b""]
    assert target(dialog) not in known(one)


class Later(Control):
    """A clock that is ahead, by more than a key is kept."""

    def now(self) -> int:
        """Return the time in two minutes."""
        return super().now() + 120_000


@pytest.mark.long
def test_a_backlog_of_copies_that_are_in_time_finds_the_key(one: Rig) -> None:
    """The worker was away, and begins when the key is due; more than a transaction waits in in."""
    one.forwarder()
    first = one.endpoint(limits=PATIENT)
    dialog = begin(one)
    one.until(queue(one), 2)
    with one.client() as client:
        client.end(dialog)
        one.until(queue(one), 3)
        client.end(Conversation("A", "DatabaseA", dialog.id, is_initiator=False))
    eventually(lambda: is_due_later(one, dialog) or pause(), "both sides are closed")
    first.stop()
    inbox, copies = one.topics.inbox("A"), first_copies(one)
    producer = one.cluster.producer()
    for _ in range(3_000):
        producer.produce(inbox, copies[0].value(), copies[0].key(), headers=copies[0].headers())
    assert producer.flush(30) == 0
    one.controls["later",] = later = Later(one.cluster, (), timeout=DEADLINE)
    later.start()
    second = one.endpoint(limits=PATIENT, control=later)
    read_to_its_end(one)
    # it counts a transaction after its commit
    eventually(lambda: second.worker.committed > 1 or pause(), "more than one transaction")
    assert bodies(one) == [b"one", b"two", b""]
    eventually(lambda: target(dialog) not in known(one) or pause(), "the key is forgotten")


def is_due_later(one: Rig, dialog: Conversation) -> bool:
    """Tell whether the target's key is kept for copies that are on their way, and no longer."""
    found = read_dialogs(one.cluster, one.topics.dialog("A"), 0)[target(dialog)]
    return found.state is State.CD and found.peer_closed


def test_topics_of_an_older_version_are_refused_until_apply_corrects_them(
    one: Rig, tmp_path: Path
) -> None:
    inbox = one.topics.inbox("A")
    configure(one.cluster, inbox, {"message.timestamp.type": "CreateTime"})
    with pytest.raises(SurroundingsError) as refused:
        Process(one.cluster, Plan(("endpoint",), ("A",))).run()
    assert refused.value.message == (
        f"Topic {inbox}: message.timestamp.type is CreateTime and must be LogAppendTime."
    )
    assert "hopline apply" in refused.value.remedy
    assert deploy(one.cluster, topology(tmp_path)).topics == (
        f"corrected {inbox} (message.timestamp.type is CreateTime and must be LogAppendTime)",
    )
