"""The life of a dialog costs no more than its records, whatever numbers they name."""

from __future__ import annotations

import uuid

import pytest

from streams.diagram import fold
from streams.live.life import build_life, draw_life
from streams.live.life.records import Frame, Issued
from streams.protocol import Ack, Command, CommandKind, Flag, Header, Journey, Parties
from streams.topology import Topology

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
