"""Design, rules 7 and 8: when a dialog sends again, and which target it is locked to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.client import Conversation
from streams.errors import EventKind, Number
from streams.kafka import deploy
from streams.protocol import ERROR, Limits, State
from streams.report import read_facts
from streams.wire import decode_journey
from streams.wire.records import HOP, MESSAGE, header_of
from tests.endpoints import read_dialogs
from tests.running import running
from tests.workers.rig import QUICK, Rig, eventually, pair, pause

PATIENT = Limits(retries=(600_000,))
"""A test that waits for a retry fails."""


def send(two: Rig, *bodies: bytes) -> Conversation:
    """Begin a dialog at A and send, each message accepted before the next."""
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        for body in bodies:
            client.send(dialog, body, wait=True)
    return dialog


def copies(two: Rig) -> list[tuple[bytes | None, int]]:
    """Return body and attempt of every copy that A has transmitted."""
    frames = [m for m in two.records(two.topics.out("A")) if header_of(m.headers(), MESSAGE)]  # type: ignore[arg-type]
    return [(m.value(), attempt(m)) for m in frames]  # type: ignore[misc]


def attempt(message: Any) -> int:
    return decode_journey(header_of(message.headers(), HOP)).attempt


@pytest.mark.long
def test_nothing_is_sent_again_while_the_forwarder_is_down(two: Rig) -> None:
    """Retries would only lengthen the queue before it; when it is back, all arrives once."""
    first = two.endpoint(limits=QUICK)
    dialog = send(two, b"one", b"two")
    for _ in range(2):
        before = first.worker.committed
        # Each look at a due retry is a transaction of its own.
        eventually(lambda: first.worker.committed > before + 4 or pause(), "it looks again")  # noqa: B023
        assert copies(two) == [(b"one", 0), (b"two", 0)]
        first.stop()  # and the next one, which does not know where the copies are, neither
        first = two.endpoint(limits=QUICK)
    for name in "AB":
        two.forwarder(name, control=two.control("A", "B"))
    two.endpoint("B", limits=QUICK)
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    assert [m.value() for m in two.until(queue, 2)] == [b"one", b"two"]
    eventually(lambda: acknowledged(two, dialog) == 2, "both are acknowledged")
    assert len(two.records(queue)) == 2


def acknowledged(two: Rig, dialog: Conversation) -> int:
    """Return how much of a dialog A knows to be stored."""
    return next(d.acknowledged[0] for k, d in read_dialogs(two.cluster, "A") if k[1] == dialog.id)


def test_the_only_message_is_sent_again_by_a_worker_that_has_just_come(two: Rig) -> None:
    """What is behind the last copy in ``out`` is no record: the mark of its commit.

    The copy has left, and is lost on its way; nothing else is written to ``out`` any more.
    """
    first = two.endpoint(limits=Limits(retries=(1_000,)))
    send(two, b"one")
    first.stop()
    two.forwarder("A", control=two.control("A", "B"))
    two.until(two.topics.txq("B"), 1)
    two.endpoint(limits=QUICK)
    [again] = two.until(two.topics.out("A"), 1, lambda m: attempt(m) > 0)
    assert again.value() == b"one"


@pytest.mark.long
def test_a_dialog_without_a_route_goes_on_when_one_is_made(two: Rig, tmp_path: Path) -> None:
    """EX-51: status 9750; a catalog change lets it probe at once, whenever its retry is due."""
    names = ("A", "B")
    control = two.control(*names)
    for name in names:
        two.forwarder(name, control=control)
        two.endpoint(name, limits=PATIENT, control=control)
    with_route = two.topology
    deploy(two.cluster, pair(tmp_path, route=""), prune=True)
    eventually(lambda: control.catalog.version == 2 or pause(), "the route is gone")
    dialog = send(two, b"one", b"two")
    [reported, *_] = two.events(1, error=Number.NO_ROUTE)
    assert reported["event"] == EventKind.MESSAGE_CLASSIFY
    assert reported["conversation"] == str(dialog.id)
    eventually(lambda: status(two, dialog) == Number.NO_ROUTE, "the status is kept")
    sent = len(copies(two))
    deploy(two.cluster, with_route)
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    assert [m.value() for m in two.until(queue, 2)] == [b"one", b"two"]
    eventually(lambda: status(two, dialog) == 0, "the status is as if nothing had been")
    body, attempt = copies(two)[sent]
    assert body == b"one" and attempt, "the first message probes"


def status(two: Rig, dialog: Conversation) -> int:
    """Return the transmission status of a dialog of A."""
    return next(d.status for k, d in read_dialogs(two.cluster, "A") if k[1] == dialog.id)


@pytest.mark.long
def test_of_several_targets_the_first_to_answer_is_the_only_one(kafka: str, unique: str) -> None:
    """EX-33: both create an endpoint; the second one's frames are refused, and it is told."""
    with running(kafka, unique, "several_targets", limits=QUICK) as system:
        with system.client() as client:
            dialog = client.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService")
            client.send(dialog, b"one")
        for name in "BC":
            system.received(f"Server{name}", f"Database{name}", "TargetQueue", 1)
        refusals = system.events(160, lambda e: e["error"] == Number.ANOTHER_INSTANCE_CONVERSES)
        assert refusals[0]["conversation"] == str(dialog.id)

        def states() -> dict[str, str]:
            return {
                name: endpoint.state.name
                for name in "BC"
                for _, endpoint in read_dialogs(system.cluster, f"Server{name}")
            }

        eventually(lambda: sorted(states().values()) == ["CO", "ER"], "one of them is told")
        [locked] = [name for name, state in states().items() if state == State.CO.name]
        [refused] = {"B", "C"} - {locked}
        [(_, initiator)] = read_dialogs(system.cluster, "ServerA")
        assert (initiator.far_broker, initiator.locked) == (f"Database{locked}", True)
        target = (f"Server{refused}", f"Database{refused}", "TargetQueue")
        error, first = system.received(*target, 2, group="again")  # an Error is received first
        assert (first.body, error.type) == (b"one", ERROR)
        assert b"<Code>-8495</Code>" in error.body
        ledger = read_facts(system.cluster, system.topology).balance()
    assert (ledger.accepted, ledger.delivered, ledger.at_refused_targets) == (1, 1, 1)
    assert ledger.verdict == "nothing lost"
