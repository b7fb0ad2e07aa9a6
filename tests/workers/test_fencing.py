"""Design, rule 4: of two owners of a partition only the present one can commit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.client import Conversation
from streams.kafka import Message
from streams.protocol import Limits
from streams.wire.records import HOP, MESSAGE, header_of
from streams.wire import decode_journey
from tests.workers.rig import (
    QUICK,
    Gate,
    Rig,
    Running,
    declare_dead,
    eventually,
    pair,
    pause,
    rig,
)

PATIENT = Limits(retries=(60_000,))


@pytest.fixture
def two(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return a rig in which nothing runs yet."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        yield made


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
    before, gate = first.worker.committed, Gate()
    first.hooks["send_offsets_to_transaction"] = gate
    send(two, dialog, b"one")
    gate.wait()
    declare_dead(first)
    second, assigned = take_over(two, PATIENT)
    assigned.wait()  # it waits for the end of the open transaction from here on
    assigned.open()
    gate.open()
    eventually(lambda: second.worker.committed or first.worker.committed > before or pause(), "end")
    assert first.worker.committed == before, "a worker without the partition has committed"
    assert [m.value() for m in copies(two)] == [b"one"]
    assert first.failure is None, "it joins again, as a stand-by"


@pytest.mark.parametrize("notices", [False, True])
def test_an_owner_that_slept_through_its_end_applies_nothing_twice(
    two: Rig, notices: bool
) -> None:
    """A worker stops before its transaction; its successor has done the work when it goes on.

    With ``notices`` its client has heard meanwhile that it is no member any more: what it would
    then say about itself is that it belongs to no group, and that is what Kafka does not fence.
    """
    first = two.endpoint(limits=PATIENT)
    dialog = begin(two)
    gate = Gate()
    first.hooks["begin_transaction"] = gate
    send(two, dialog, b"one")
    gate.wait()
    declare_dead(first)
    second = two.endpoint(slot="1", limits=PATIENT)
    two.until(two.topics.out("A"), 1)
    if notices:
        eventually(lambda: not first.consumer("endpoint").memberid() or pause(), "the news")
    gate.open()
    send(two, dialog, b"two")
    two.until(two.topics.out("A"), 2, lambda m: m.value() == b"one" or m.value() == b"two")
    eventually(lambda: first.consumer("endpoint").memberid() or pause(), "it joins again")
    assert [m.value() for m in copies(two)] == [b"one", b"two"]
    assert second.failure is None


def test_a_transaction_of_timers_alone_is_fenced_like_any_other(two: Rig) -> None:
    """A retry has no input; its transaction sends the offsets of all three inputs all the same."""
    sent: list[tuple[int, set[str]]] = []

    def spy(method: Any, offsets: Any, *rest: Any) -> Any:
        sent.append((sum(p.offset for p in offsets), {p.topic for p in offsets}))
        return method(offsets, *rest)

    slow = Limits(retries=(60_000,))
    first = two.endpoint(limits=slow)
    begin(two, send=1)
    first.stop()
    # The retry is due for whoever comes next, and nothing but the retry is.
    quick = Limits(retries=(60_000,), recheck=50)
    assert QUICK and quick and uuid and sent == [] and spy
