"""A backlog on real Kafka drains in bounded transactions, and is read forward (rules 4 to 6)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from streams.node import TooMuchError
from streams.protocol import Command, CommandKind
from streams.wire.records import command_record
from streams.workers.endpoint import bodies as limits
from streams.workers.endpoint import loop
from streams.workers.endpoint.allowance import LEAST, LONG, SHORT, Allowance
from streams.workers.endpoint.bodies import Bodies
from tests.running import eventually
from tests.workers.rig import QUICK, Rig, Running, pause

DIALOGS, MESSAGES = 60, 30
NARROW = replace(QUICK, window=4)
Hook = Callable[..., Any]


def seeks(topic: str) -> tuple[list[int], Hook]:
    """Return where reading of a topic alone has begun anew, and the hook that notes it."""
    found: list[int] = []

    def assign(method: Hook, places: Any) -> Any:
        if [place.topic for place in places] == [topic]:
            found.append(places[0].offset)
        return method(places)

    return found, assign


def accepted(two: Rig, **given: Any) -> Running:
    """Start A's endpoint worker, and return it when it has accepted a backlog."""
    first = two.endpoint("A", limits=NARROW, cache_bytes=0, **given)
    with two.client() as client:
        begin = client.begin
        dialogs = [
            begin("A", "DatabaseA", "InitiatorService", "TargetService", wait=False)
            for _ in range(DIALOGS)
        ]
        for message in range(MESSAGES):
            for number, dialog in enumerate(dialogs):
                client.send(dialog, b"%d/%d" % (number, message))
        client.send(dialogs[0], b"0/%d" % MESSAGES, wait=True)
    return first


def drained(two: Rig) -> dict[int, list[int]]:
    """Start everything else; return the delivered messages of each dialog, in their order."""
    for name in "AB":
        two.forwarder(name, control=two.control("A", "B"))
    two.endpoint("B", limits=NARROW, cache_bytes=0)
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    two.until(queue, DIALOGS * MESSAGES + 1)
    found: dict[int, list[int]] = {}
    for record in two.records(queue):
        dialog, message = map(int, record.value().split(b"/"))  # type: ignore[union-attr]
        found.setdefault(dialog, []).append(message)
    return found


EVERYTHING = {n: list(range(MESSAGES + (n == 0))) for n in range(DIALOGS)}


def test_a_backlog_of_many_dialogs_is_read_forward(two: Rig) -> None:
    """Dialog by dialog, reading would begin anew for each window that opens: 450 times."""
    found, assign = seeks(two.topics.cmd("A"))
    accepted(two, hooks={"assign": assign})
    assert drained(two) == EVERYTHING
    assert len(found) < 100


def test_an_idle_worker_keeps_no_reader_of_bodies(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client would keep what it has fetched, hundreds of megabytes for each partition."""
    monkeypatch.setattr(loop, "REST_EVERY", 0.0)
    found, assign = seeks(two.topics.cmd("A"))
    first = accepted(two, hooks={"assign": assign})
    assert drained(two) == EVERYTHING
    assert found, "bodies were read again"
    [owned] = first.worker.assignment.owned.values()
    eventually(lambda: owned.bodies.cmd._consumer is None or pause(), "it is closed")


@pytest.mark.long
def test_bodies_that_are_too_much_for_a_transaction_are_shared_by_several(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The allowance is halved until they fit; nothing is lost or repeated by that."""
    first = accepted(two)
    monkeypatch.setattr(limits, "BYTES", 50)
    assert drained(two) == EVERYTHING
    assert first.worker.counts.rolled_back > 0


@pytest.mark.parametrize("limit", ["BYTES", "READ_BYTES"])
def test_headers_count_towards_what_a_transaction_reads(
    two: Rig, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Skipped records count only towards what is read forward, which may be more."""
    monkeypatch.setattr(limits, limit, 50_000)
    cmd = two.topics.cmd("A")
    send = Command(uuid.uuid4(), uuid.uuid4(), CommandKind.SEND, "DatabaseA", body=b"x")
    key, value, headers = command_record(send)
    for header in (b"", bytes(60_000), b"", b""):
        two.produce(cmd, key, value, [*headers, ("x", header)])
    skips = limit == "READ_BYTES"
    cases = {(2, 3): False, (0, 1): False, (0, 1, 2): True, (0, 2, 3): skips, (1,): False}
    for positions, is_too_much in cases.items():
        bodies = Bodies.of(two.cluster, cmd, two.topics.inbox("A"), 0, 1 << 20)
        with pytest.raises(TooMuchError) if is_too_much else nullcontext():
            wanted = dict.fromkeys(positions, send.conversation)
            assert tuple(bodies.commands(wanted)) == positions
        bodies.close()


def test_an_abort_halves_what_a_transaction_takes_on() -> None:
    allowance = Allowance(1_000)
    allowance.halve()
    assert allowance.records == 500
    for _ in range(20):
        allowance.halve()
    assert allowance.records == 1


def test_long_transactions_take_on_less_and_short_ones_more_again() -> None:
    allowance = Allowance(1_000)
    for _ in range(20):
        allowance.learn(2 * LONG)
    assert allowance.records == 1_000 // LEAST
    for _ in range(100):
        allowance.learn(LONG / 10)
    assert allowance.records == 1_000


def test_transactions_of_medium_length_keep_their_size() -> None:
    """Larger ones would soon be too long, and the limit would be halved."""
    allowance = Allowance(1_000)
    allowance.halve()
    allowance.learn(0.75 * LONG)
    assert (allowance.records, allowance.flight) == (500, 1_000)
    allowance.learn(SHORT)
    assert (allowance.records, allowance.flight) == (563, 1_126)


def test_few_records_of_each_dialog_leave_room_for_fewer_records() -> None:
    """A dialog costs a transaction time and memory of its own; a small transaction has room."""
    large, small = Allowance(10_000), Allowance(1_000)
    for allowance in (large, small):
        allowance.learn(LONG / 10, records=10_000, dialogs=10_000)
    assert (large.records, small.records) == (4_000, 1_000)
    assert (large.flight, small.flight) == (14_000, 2_000), "the other side's are as large as ever"
    large.learn(LONG / 10, records=4_000, dialogs=400)
    assert large.records == 4_501  # grows back as after a long one
    for _ in range(100):
        large.learn(LONG / 10, records=10_000, dialogs=1_000)
    assert large.records == 10_000


def test_a_long_transaction_raises_nothing_that_an_abort_has_halved() -> None:
    allowance = Allowance(1_000)
    for _ in range(9):
        allowance.halve()
    allowance.learn(2 * LONG)
    assert allowance.records == 1
