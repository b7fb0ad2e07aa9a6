"""The ledger against histories whose truth is known: nothing is lost in them, until it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streams.protocol import Limits
from streams.report import Accepted, Begins, Delivered, Endings, Fate, Ledger, balance
from tests.protocol.build import LIFETIME

from .histories import ENDS, PLACES, History

thoroughly = settings(max_examples=300)

who = st.integers(0, 1)
frames = st.integers(0, 1_000)
steps = st.one_of(
    st.tuples(st.just("send"), who),
    st.tuples(st.just("send"), who),
    st.tuples(st.sampled_from(["deliver", "deliver", "repeat", "lose"]), frames),
    st.tuples(st.just("wait"), st.sampled_from([100, 4_000, 20_000])),
)
endings = st.tuples(st.sampled_from(["end", "fail", "clean_up"]), who)
expiry = st.tuples(st.just("wait"), st.just(1_000 * LIFETIME))
limits = st.builds(Limits, window=st.sampled_from([2, 5, 64]))
stories = st.lists(st.one_of(steps, steps, steps, endings, expiry), max_size=60)


def replayed(window: Limits, story: list[tuple[str, int]]) -> History:
    """Live through a story; it begins with a message of the initiator."""
    history = History(window)
    history.send(0)
    for what, value in story:
        if what in ("send", "end", "fail", "clean_up", "wait"):
            getattr(history, what)(value)
        elif history.channel and what == "lose":
            history.lose(value % len(history.channel))
        elif history.channel:
            history.deliver(value % len(history.channel), keep=what == "repeat")
    return history


def account(history: History, **hidden: int) -> Ledger:
    """Return the account of a history, without one of the delivered rows if so asked."""
    rows = history.delivered()
    if "hide" in hidden:
        del rows[hidden["hide"]]
    return balance(history.accepted(), rows, history.sides(), history.endings())


@thoroughly
@given(limits, stories)
def test_nothing_is_lost_at_any_moment_of_any_history(
    window: Limits, story: list[tuple[str, int]]
) -> None:
    """Whatever is sent, lost in transit, repeated, ended, outlived: every message has a place."""
    history = replayed(window, story)
    ledger = account(history)
    assert ledger.verdict == "nothing lost"
    assert ledger.accepted == len(history.accepted())
    assert ledger.delivered == len(history.delivered())
    assert ledger.outcomes[Fate.NEW_BROKER] == 0, "no broker id changes in these histories"
    if history.over():
        assert ledger.waiting == 0, "a closed endpoint has nothing in its transmission queue"


@thoroughly
@given(limits, stories)
def test_what_is_forgotten_has_its_reasons_still(
    window: Limits, story: list[tuple[str, int]]
) -> None:
    """Where a closed side is forgotten, its events and both queues say why it ended."""
    history = replayed(window, story)
    kept = [side for side in history.sides() if side.state != "CD"]
    ledger = balance(history.accepted(), history.delivered(), kept, history.endings())
    assert ledger.verdict == "nothing lost"


@thoroughly
@given(limits, stories, st.data())
def test_a_gap_is_found_in_every_history(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Without a row that is not its side's last, exactly that message is lost, whatever ended."""
    history = replayed(window, [("send", 0), ("deliver", 0), ("deliver", 0), *story])
    rows = history.delivered()
    inner = [n for n in range(len(rows) - 1) if rows[n].place == rows[n + 1].place]
    chosen = data.draw(st.sampled_from(inner))
    ledger = account(history, hide=chosen)
    assert [m.message_id for m in ledger.lost] == [rows[chosen].message_id]


@thoroughly
@given(limits, st.lists(steps, max_size=40), st.data())
def test_any_hidden_row_is_found_in_a_dialog_that_ended_well(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    """The last message, too: both sides know that it was stored, and nobody ended too early."""
    history = replayed(window, story)
    history.heal()
    history.end(0)
    history.heal()
    assume(ENDS[1] not in history.errors and ENDS[0] not in history.errors)
    history.end(1)
    history.heal()
    rows = [n for n, row in enumerate(history.delivered()) if row.from_initiator]
    chosen = data.draw(st.sampled_from(rows))
    ledger = account(history, hide=chosen)
    assert (ledger.verdict, ledger.delivered) == ("1 lost", len(history.delivered()) - 1)


def trimmed(
    history: History, data: st.DataObject
) -> tuple[list[Accepted], list[Delivered], Endings, Begins]:
    """Return what a reader finds when logs have lost their beginnings, as counted from there.

    A command goes only when it is acknowledged, a message only when somebody has received it; with
    the last of them an END may go.
    """
    accepted, delivered, endings = [], [], history.endings()
    end_kinds, errors, ended = (
        dict(endings.end_kinds),
        dict(endings.errors),
        set(endings.end_dialogs),
    )
    commands, queues = set(), set()
    for who, party in enumerate(history.parties):
        place, instance = PLACES[who], PLACES[who].partition("/")[0]
        settled = party.side.dialog.acknowledged[0] if party.exists else len(party.said)
        mine = [m for m in history.accepted() if m.sender == ENDS[who]]
        cut = data.draw(st.integers(0, sum(1 for m in mine if m.sequence < settled)))
        accepted += [replace(m, sequence=n) for n, m in enumerate(mine[cut:])]
        rows = [row for row in history.delivered() if row.place == place]
        gone = data.draw(st.integers(0, len(rows)))
        delivered += rows[gone:]
        commands |= {instance} if cut else set()
        queues |= {place} if gone else set()
        if cut == len(mine) > 0:
            end_kinds.pop(ENDS[who], None)
        if gone == len(rows) > 0:
            errors.pop(ENDS[who], None)
            ended.discard(ENDS[who])
    left = replace(endings, end_kinds=end_kinds, errors=errors, end_dialogs=ended)
    return accepted, delivered, left, Begins(frozenset(commands), frozenset(queues))


@thoroughly
@given(limits, stories, st.booleans(), st.data())
def test_what_was_trimmed_is_never_missed(
    window: Limits, story: list[tuple[str, int]], forgotten: bool, data: st.DataObject
) -> None:
    """Wherever logs begin, and whether closed sides are forgotten: no false alarm."""
    history = replayed(window, story)
    accepted, delivered, endings, begins = trimmed(history, data)
    sides = [side for side in history.sides() if side.state != "CD" or not forgotten]
    ledger = balance(accepted, delivered, sides, endings, begins)
    assert ledger.balanced, (ledger, begins)
    assert ledger.complete or begins


@pytest.mark.long
@thoroughly
@given(limits, stories, st.data())
def test_a_gap_is_found_between_what_is_left(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Trimming takes beginnings only: without a row that is neither first nor last, it is lost."""
    history = replayed(window, [("send", 0)] * 3 + [("deliver", 0)] * 3 + story)
    accepted, delivered, endings, begins = trimmed(history, data)
    ids = {m.message_id for m in accepted}
    inner = [
        row
        for before, row, behind in zip(delivered, delivered[1:], delivered[2:], strict=False)
        if before.place == row.place == behind.place and {before.message_id, row.message_id} <= ids
    ]
    assume(inner)
    hidden = data.draw(st.sampled_from(inner))
    rows = [row for row in delivered if row is not hidden]
    ledger = balance(accepted, rows, history.sides(), endings, begins)
    assert [m.message_id for m in ledger.lost] == [hidden.message_id]
