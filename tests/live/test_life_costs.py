"""The life of a dialog costs no more than its records, whatever numbers they name."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from streams.diagram import fold
from streams.errors import EventKind, Number
from streams.kafka import Message
from streams.live.life import build, build_life, draw_life
from streams.live.life.read import weight_of
from streams.live.life.records import KEPT, BrokerEvent, Frame, Issued, Kept
from streams.node.events import event
from streams.protocol import Ack, Command, CommandKind, Flag, Header, Journey, Parties
from streams.topology import Topology
from streams.wire import decode_event, encode_event
from streams.wire.state_keys import StateKey

DIALOG = uuid.UUID(int=7)
FORTH = Parties("Target", "B", "Initiator", "A", "DEFAULT", True)
BACK = Parties("Initiator", "A", "Target", "B", "DEFAULT", False)


def journey(at: int) -> Journey:
    return Journey(16, at + 60_000, 0, at, 0, (("ServerA", at),))


def test_a_forged_acknowledgement_may_name_any_number() -> None:
    """Counting up to 2^62 would never end."""
    headers = [Header(uuid.UUID(int=n), "Order", n, 1, 1 << 40, Flag.NONE) for n in range(3)]
    sent = [Frame("out", "ServerA", FORTH, h, None, journey(1), 5, b"x", "w") for h in headers]
    some = Frame("ack", "ServerA", BACK, None, Ack(1, 1), journey(2), 5, b"", "w")
    forged = Frame("ack", "ServerA", BACK, None, Ack(1 << 62, 1 << 62), journey(3), 5, b"", "w")
    life = build_life(DIALOG, [*sent, some, forged], Topology({}))
    assert [message.acknowledged_at for message in life.messages] == [2, 3, 3]


def test_statements_by_turns_are_compared_a_few_times_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no copies, so how often they are repeated is not counted from each of them."""
    compared = 0
    alike = fold._alike

    def counted(rows: object) -> object:
        nonlocal compared
        compared += 1
        return alike(rows)  # type: ignore[arg-type]

    monkeypatch.setattr(fold, "_alike", counted)
    kinds = (CommandKind.TIMER, CommandKind.MOVE)
    records = [
        Issued(
            "ServerA",
            Command(DIALOG, uuid.UUID(int=n + 10), kinds[n % 2], "D", True, n, stored_at=1_000 * n),
            0,
            "w",
        )
        for n in range(200)
    ]
    assert draw_life(build_life(DIALOG, records, Topology({}))).rows
    assert compared <= 8 * len(records)


class Name(str):
    """The name of an instance; counts how often one is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def forged(kind: str, ack: Ack | None, at: int, *path: str) -> Frame:
    """Return a copy of the same message or acknowledgement, as anyone may write many."""
    header = None if ack else Header(uuid.UUID(int=1), "Order", 0, 1, 1 << 40, Flag.NONE)
    visits = tuple((Name(name), at) for name in path)
    hop = Journey(16, 60_000, 0, 7, 0, visits)
    return Frame(kind, Name("ServerB"), FORTH, header, ack, hop, 5, b"x", "w")


@pytest.mark.parametrize("ack", [None, Ack(1, 1)])
def test_identical_copies_are_not_compared_with_each_other(ack: Ack | None) -> None:
    """Neither their arrivals, nor their sources, nor what was refused of them elsewhere."""
    many = 200
    sent = [forged("txq", ack, 1, "ServerA") for _ in range(many)]
    arrived = [forged("in", ack, 1, "ServerA", "ServerB") for _ in range(many)]
    refused = event(
        EventKind.MESSAGE_UNDELIVERABLE,
        at=1,
        instance="ServerC",
        conversation=DIALOG,
        attempt=0,
        error=int(Number.NO_ROUTE),
    )
    events = [BrokerEvent(decode_event(encode_event(refused)), "w")] * many
    Name.compared = 0
    life = build_life(DIALOG, [*sent, *arrived, *events], Topology({}))
    assert len(life.steps) >= 2 * many
    assert Name.compared <= 40 * many


def test_the_first_message_is_searched_once_for_all_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A conversation has one BEGIN; an application may issue thousands of them."""
    many, seen = 200, 0

    def counted(*values: Any, **options: Any) -> Any:
        nonlocal seen
        found = values if len(values) > 1 else list(values[0])
        seen += len(found)
        return min(found, **options)

    monkeypatch.setattr(build, "min", counted, raising=False)
    begins = [
        Command(DIALOG, uuid.UUID(int=n), CommandKind.BEGIN, "D", True, n, stored_at=9)
        for n in range(many)
    ]
    headers = [Header(uuid.UUID(int=n), "Order", n, 5, 1 << 40, Flag.NONE) for n in range(many)]
    sent = [Frame("txq", "ServerB", FORTH, h, None, journey(5), 5, b"x", "w") for h in headers]
    life = build_life(
        DIALOG, [*(Issued("ServerA", b, 0, "w") for b in begins), *sent], Topology({})
    )
    assert [step.at for step in life.steps] == [5] * 2 * many, "no BEGIN is behind a message"
    assert seen <= 10 * many


def message(value: bytes) -> Message:
    return Message(topic="t", partition=0, offset=0, key=b"k", value=value)  # type: ignore[call-arg]


def test_a_body_that_is_not_kept_does_not_count_and_a_decoded_state_does() -> None:
    body = b"x" * 50_000
    header = Header(uuid.UUID(int=1), "Order", 0, 1, 2)
    copy = Frame("out", "A", FORTH, header, None, journey(1), len(body), body[:KEPT], "w")
    assert weight_of(message(body), copy) == KEPT
    assert weight_of(message(b"x"), copy._replace(size=1)) == 1
    happened = BrokerEvent(event(EventKind.CONVERSATION, at=1, instance="A"), "w")
    assert weight_of(message(body), happened) == len(body)
    state = Kept("A", StateKey("D", DIALOG, True), None, 1, "w")
    assert weight_of(message(b"x" * 9_000), state) > 200_000
