"""Design, rule 4: of two owners of a partition only the present one can commit."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from streams.client import Conversation
from streams.kafka import Message
from streams.protocol import Limits
from streams.wire import decode_journey
from streams.wire.records import HOP, MESSAGE, header_of
from tests.workers.rig import (
    Gate,
    Hook,
    Rig,
    Running,
    declare_dead,
    eventually,
    pause,
)

PATIENT = Limits(retries=(60_000,))
SLOW_START = Limits(retries=(700, 300), recheck=50)


def begin(two: Rig, *, send: int = 0) -> Conversation:
    """Begin a dialog at A and wait until its endpoint exists."""
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        for number in range(send):
            client.send(dialog, b"%d" % number, wait=True)
    return dialog


def send(two: Rig, dialog: Conversation, body: bytes) -> None:
    """Send without waiting for anybody."""
    with two.client() as client:
        client.send(dialog, body)


def copies(two: Rig, instance: str = "A") -> list[Message]:
    """Return the committed message frames in ``out``."""
    frames = two.records(two.topics.out(instance))
    return [m for m in frames if header_of(m.headers(), MESSAGE)]


def attempt(message: Message) -> int:
    return decode_journey(header_of(message.headers(), HOP)).attempt


def take_over(two: Rig, limits: Limits) -> tuple[Running, Gate]:
    """Start a second worker; the gate stands where it has been assigned the partition."""
    assigned = Gate()
    return (
        two.endpoint(slot="1", limits=limits, hooks={"get_watermark_offsets": assigned}),
        assigned,
    )


def test_what_a_dead_owner_has_produced_cannot_be_committed_by_it(two: Rig) -> None:
    """A worker stops between producing and committing, is declared dead, and goes on."""
    first = two.endpoint(limits=PATIENT)
    dialog = begin(two)
    gate = Gate()
    first.hooks["send_offsets_to_transaction"] = gate
    send(two, dialog, b"one")
    gate.wait()
    before = first.worker.committed  # it counts after the commit, which the client may see before
    declare_dead(first)
    second, assigned = take_over(two, PATIENT)
    assigned.wait()  # it waits for the end of the open transaction from here on
    assigned.open()
    gate.open()
    eventually(lambda: second.worker.committed or first.worker.committed > before or pause(), "end")
    assert first.worker.committed == before, "a worker without the partition has committed"
    two.until(two.topics.out("A"), 1)
    assert [m.value() for m in copies(two)] == [b"one"]
    assert first.failure is None, "it joins again, as a standby"


@pytest.mark.parametrize("notices", [False, True])
@pytest.mark.parametrize(
    "place", ["consume", pytest.param("begin_transaction", marks=pytest.mark.long)]
)
def test_an_owner_that_slept_through_its_end_applies_nothing_twice(
    two: Rig, place: str, notices: bool
) -> None:
    """A worker stops before its transaction; its successor has done the work when it goes on.

    With ``notices`` its client has heard meanwhile that it is no member any more. Who says of
    itself that it is a member of nothing is not fenced by Kafka: nobody may ask it then.
    """
    first = two.endpoint(limits=PATIENT)
    gate, armed, has_read = Gate(), threading.Event(), threading.Event()

    def read(method: Hook, *args: Any) -> Any:
        found = method(*args)
        messages = found if isinstance(found, list) else [found]
        if armed.is_set() and any(isinstance(m, Message) and m.error() is None for m in messages):
            has_read.set()
        return found

    def stop(method: Hook, *args: Any) -> Any:
        found = read(method, *args)
        if has_read.is_set():
            gate.hold()
        return found

    # Before it reads the dialog's begin: a call that waits has no hook.
    first.hooks.update({"poll": read, "consume": read, place: stop})
    dialog = begin(two)
    armed.set()
    send(two, dialog, b"one")
    gate.wait()
    declare_dead(first)
    second = two.endpoint(slot="1", limits=PATIENT)
    two.until(two.topics.out("A"), 1)
    if notices:
        outsider = two.cluster.consumer(f"{two.topics.prefix}endpoint.A")
        nobody = outsider.consumer_group_metadata()
        first.hooks["consumer_group_metadata"] = lambda _: nobody
        eventually(lambda: not first.consumer("endpoint").memberid() or pause(), "the news")
    gate.open()
    send(two, dialog, b"two")
    two.until(two.topics.out("A"), 1, lambda m: m.value() == b"two")
    assert [m.value() for m in copies(two)] == [b"one", b"two"]
    assert (first.failure, second.failure) == (None, None)


@pytest.mark.long
def test_a_partition_that_comes_back_has_no_larger_transactions(two: Rig) -> None:
    """A worker may have lost it because of one that was too large."""
    running = two.endpoint(limits=PATIENT)
    begin(two)
    assignment = running.worker.assignment
    most = assignment.owned[0].allowance.records
    for _ in range(4):
        assignment.owned[0].allowance.halve()
    again = assignment._restore(assignment._aside, 0)  # another thread polls its member
    assert again is not assignment.owned[0]
    assert again.allowance.records < most // 4


@pytest.mark.long
def test_a_transaction_of_timers_alone_is_fenced_like_any_other(two: Rig) -> None:
    """A retry has no input, and its transaction sends the offsets of all three inputs all the same.

    The first owner stops before its retry, the second retries in its stead, the first goes on.
    """
    two.commit_forwarder_offset("A", 100)  # it stands behind every copy: nothing holds retries back
    first = two.endpoint(limits=SLOW_START)
    begin(two, send=1)
    gate = Gate()
    first.hooks["begin_transaction"] = gate
    gate.wait()
    declare_dead(first)
    two.endpoint(slot="1", limits=SLOW_START)
    two.until(two.topics.out("A"), 1, lambda m: attempt(m) == 1)
    gate.open()
    two.until(two.topics.out("A"), 1, lambda m: attempt(m) == 3)
    attempts = [attempt(m) for m in copies(two)]
    assert attempts == sorted(set(attempts)), "a retry was made by two owners"


@pytest.mark.long
def test_every_transaction_sends_the_positions_of_all_three_inputs(two: Rig) -> None:
    """Whatever caused it: commands, and timers alone."""
    sent: list[set[str]] = []

    def spy(method: Any, offsets: Any, *rest: Any) -> Any:
        sent.append({p.topic for p in offsets})
        return method(offsets, *rest)

    two.endpoint(hooks={"send_offsets_to_transaction": spy})
    begin(two, send=1)
    two.commit_forwarder_offset("A", 100)
    two.until(two.topics.out("A"), 1, lambda m: attempt(m) == 2)
    name = two.topics
    assert len(sent) >= 4
    assert all(topics == {name.cmd("A"), name.inbox("A"), name.ack("A")} for topics in sent)
