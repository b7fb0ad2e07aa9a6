"""Whatever is done to a topic behind the workers' back, the ledger tells: `hopline verify`.

A record is taken away, doubled, put elsewhere, altered or made up, in any history, at any moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streams.protocol import Limits
from streams.report import Accepted, Delivered, Fault, Ledger, balance

from .histories import ENDS, History
from .test_histories import limits, replayed, stories

thoroughly = settings(max_examples=300)

prefix = [("send", 0), ("deliver", 0), ("deliver", 0)]
"""With what a history must begin for something to be in a queue."""


def account(history: History, rows: Sequence[Delivered]) -> Ledger:
    return balance(history.accepted(), rows, history.sides(), history.endings())


def histories(window: Limits, story: list[tuple[str, int]]) -> tuple[History, list[Delivered]]:
    """Live through a story; return it with what is in both queues."""
    history = replayed(window, [*prefix, *story])
    return history, history.delivered()


def found(ledger: Ledger) -> list[tuple[Fault, UUID]]:
    return [(fault, message.message_id) for fault, message in ledger.exceptions]


# --- queues --------------------------------------------------------------------------------------


@thoroughly
@given(limits, stories, st.data())
def test_verify_finds_any_message_that_is_taken_from_a_queue(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Also the last one, also one whose sender does not know yet that it has arrived.

    But for one before an Error of its sender's application: that passes over messages.
    """
    history, rows = histories(window, story)
    taken = rows.pop(data.draw(st.integers(0, len(rows) - 1)))
    assume(history.errors.get(ENDS[taken.from_initiator], 0) <= 0)
    assert found(account(history, rows)) == [(Fault.LOST, taken.message_id)]


@thoroughly
@given(limits, stories, st.data())
def test_verify_finds_any_message_that_is_doubled(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    history, rows = histories(window, story)
    row = data.draw(st.sampled_from(rows))
    last = max(r.offset for r in rows if r.place == row.place)
    ledger = account(history, [*rows, replace(row, offset=last + 1)])
    assert (Fault.TWICE, row.message_id) in found(ledger)
    assert set(ledger.faults) <= {Fault.TWICE, Fault.DISORDERED}


@pytest.mark.long
@thoroughly
@given(limits, stories, st.data())
def test_verify_finds_any_two_messages_that_change_places(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    history, rows = histories(window, story)
    one, other = data.draw(st.tuples(st.sampled_from(rows), st.sampled_from(rows)))
    assume(one.place == other.place and one.offset < other.offset)
    rows = [row for row in rows if row not in (one, other)]
    rows += [replace(one, offset=other.offset), replace(other, offset=one.offset)]
    ledger = account(history, rows)
    assert set(ledger.faults) == {Fault.DISORDERED}


@thoroughly
@given(limits, stories, st.data(), st.sampled_from(["digest", "sequence", "message_id"]))
def test_verify_finds_any_message_that_is_altered_or_made_up(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject, what: str
) -> None:
    history, rows = histories(window, story)
    at = data.draw(st.integers(0, len(rows) - 1))
    other: dict[str, Any] = {"digest": b"another body", "sequence": 77, "message_id": UUID(int=77)}
    rows[at] = replace(rows[at], **{what: other[what]})
    wanted = {
        "digest": Fault.CHANGED,
        "sequence": Fault.CHANGED,
        "message_id": Fault.UNKNOWN,
    }
    assert wanted[what] in account(history, rows).faults


# --- commands ------------------------------------------------------------------------------------


def ledger_of(history: History, commands: Sequence[Accepted]) -> Ledger:
    """Return the account of a history whose commands are these: numbers count them."""
    numbers = Counter[object]()
    numbered = []
    for command in commands:
        numbered.append(replace(command, sequence=numbers[command.sender]))
        numbers[command.sender] += 1
    return balance(numbered, history.delivered(), history.sides(), history.endings())


def missed(history: History, command: Accepted) -> bool:
    """Tell whether anybody could miss a command: it has arrived, or its side still counts."""
    arrived = command.message_id in {row.message_id for row in history.delivered()}
    return arrived or not (history.end_kinds or history.errors)


@thoroughly
@given(limits, stories, st.data(), st.booleans())
def test_verify_finds_any_command_that_is_taken_away_or_doubled(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject, twice: bool
) -> None:
    """But for one that was discarded with a dialog that has ended: nobody has missed it."""
    history = replayed(window, [*prefix, *story])
    commands = history.accepted()
    at = data.draw(st.integers(0, len(commands) - 1))
    assume(missed(history, commands[at]))
    commands[at : at + 1] = [commands[at]] * 2 if twice else []
    assert not ledger_of(history, commands).balanced


@thoroughly
@given(limits, stories, st.data())
def test_verify_finds_any_two_commands_that_change_places(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Once one of them has arrived: else nobody knows which was first."""
    history = replayed(window, [*prefix, ("send", 0), *story])
    commands = [c for c in history.accepted() if c.sender.is_initiator]
    at = data.draw(st.integers(1, len(commands) - 1))
    commands[0], commands[at] = commands[at], commands[0]
    others = [c for c in history.accepted() if not c.sender.is_initiator]
    assert not ledger_of(history, [*commands, *others]).balanced
