"""RECEIVE: one group at a time, by priority, under a lock, and what a rollback does."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import Number
from streams.node.queue import POISON, Progress, ReadyQueue, ReadyRow, Side
from streams.protocol import DEFAULT, DIALOG_TIMER, ERROR

from .evidence import shows


def group(n: int) -> uuid.UUID:
    return uuid.UUID(int=n)


def side(n: int) -> Side:
    return uuid.UUID(int=100 + n), True


def row(order: int, conversation: int, of: int | None = None, **said: object) -> ReadyRow:
    where = group(conversation if of is None else of)
    return ReadyRow(order, where, side(conversation), **{"type": DEFAULT, **said})  # type: ignore[arg-type]


def queue(*rows: ReadyRow, **said: object) -> ReadyQueue:
    made = ReadyQueue(**said)  # type: ignore[arg-type]
    for r in rows:
        made.put(r)
    return made


def orders(received: object) -> list[int]:
    assert isinstance(received, tuple)
    return [r.order for r in received]


@shows("Q1")
def test_one_group_at_a_time() -> None:
    """A RECEIVE returns messages of one conversation group only, the oldest one first."""
    q = queue(row(0, 1), row(1, 2), row(2, 1), row(3, 3, of=1))
    assert orders(q.receive("t", top=9)) == [0, 2, 3]
    assert orders(q.receive("t", top=9)) == [1]


@shows("Q1")
def test_a_group_is_locked_until_the_transaction_ends() -> None:
    """Another transaction gets other groups, or nothing."""
    q = queue(row(0, 1), row(1, 1), row(2, 2))
    assert orders(q.receive("one")) == [0]
    assert orders(q.receive("two", top=9)) == [2]
    assert orders(q.receive("three")) == []
    q.commit("one")
    assert orders(q.receive("three")) == [1]


@shows("Q2")
def test_the_highest_priority_first() -> None:
    """Groups by the highest of their conversations that have messages; conversations likewise."""
    q = queue(
        row(0, 1, priority=5),
        row(1, 2, of=9, priority=3),
        row(2, 3, of=9, priority=8),
        row(3, 3, of=9, priority=8),
    )
    assert orders(q.receive("t", top=9)) == [2, 3, 1]
    assert orders(q.receive("t", top=9)) == [0]


@shows("Q3")
def test_timer_and_error_come_first() -> None:
    """A DialogTimer before everything of its conversation, an Error before the rest."""
    q = queue(row(0, 1), row(1, 1, type=ERROR), row(2, 1, type=DIALOG_TIMER), row(3, 1))
    assert orders(q.receive("t", top=9)) == [2, 1, 0, 3]


@shows("Q1")
def test_where() -> None:
    """WHERE names a conversation or a group, and locks the group all the same."""
    q = queue(row(0, 1, of=7), row(1, 2, of=7), row(2, 3))
    assert orders(q.receive("t", top=9, conversation=side(2))) == [1]
    assert orders(q.receive("u", top=9, group=group(7))) == []
    assert orders(q.receive("t", top=9, group=group(7))) == [0]
    assert orders(q.receive("t", conversation=side(8))) == []


@shows("Q4")
def test_get_conversation_group() -> None:
    """It locks without receiving; several calls may lock several groups."""
    q = queue(row(0, 1), row(1, 2))
    assert q.get_conversation_group("t") == group(1)
    assert q.get_conversation_group("t") == group(2)
    assert q.get_conversation_group("t") is None
    assert orders(q.receive("u")) == []
    assert orders(q.receive("t", group=group(2))) == [1]


@shows("Q5")
def test_a_rollback_returns_the_messages() -> None:
    """In their places, for whoever comes next."""
    q = queue(row(0, 1), row(1, 1))
    q.receive("t", top=2)
    q.rollback("t")
    assert orders(q.receive("u", top=2)) == [0, 1]


@shows("Q6")
def test_a_poison_message_turns_the_queue_off() -> None:
    """Five rollbacks in a row of transactions that have received; a restart does not forget."""
    q = queue(row(0, 1))
    for _ in range(3):
        q.receive("t")
        q.rollback("t")
    q.rollback("t")  # has received nothing: does not count
    stored = Progress.decode(q.progress.next, q.progress.encode())
    q = queue(row(0, 1), progress=stored)
    for _ in range(POISON - 3):
        assert q.on
        q.receive("t")
        q.rollback("t")
    assert not q.on
    assert q.receive("t") is Number.QUEUE_DISABLED
    q.turn_on()
    assert orders(q.receive("t")) == [0]


@shows("Q6")
@pytest.mark.parametrize("handling", [True, False])
def test_a_commit_between_begins_the_count_anew(handling: bool) -> None:
    """And POISON_MESSAGE_HANDLING (STATUS = OFF) leaves the queue on whatever happens."""
    q = queue(row(0, 1), row(1, 2), poison_handling=handling)
    for n in range(2 * POISON - 3):
        q.receive("t", group=group(1))
        if n == POISON - 2 and handling:
            q.receive("u")
            q.commit("u")
        q.rollback("t")
    assert q.on
    assert q.progress.rollbacks == (POISON - 1 if handling else 2 * POISON - 3)


def test_offsets_that_no_message_has() -> None:
    """Markers of transactions are skipped when everything before them is received."""
    q = queue(row(0, 1), row(5, 1))
    q.receive("t")
    assert q.commit("t").next == 5
    q.receive("t")
    assert q.commit("t").next == 6


@pytest.mark.parametrize("text", [None, "", "rubbish", "r1 5-", "r x"])
def test_what_nobody_of_ours_wrote(text: str | None) -> None:
    """Beside an offset may stand anything: nothing beyond the offset is received then."""
    assert Progress.decode(7, text) in (Progress(7), Progress(7, (), 1))


def test_progress_stays_small() -> None:
    """Kafka takes 4096 characters: a message that waits for long costs nothing but its place."""
    q, orders_ = queue(row(0, 1, priority=1)), range(2, 20_000, 2)  # a marker behind each
    for order in orders_:
        q.put(row(order, 2))
        assert orders(q.receive("t")) == [order]
        q.commit("t")
    assert q.progress == Progress(0, ((2, orders_[-1]),))
    with_room = 300
    for n in range(with_room):  # as many wait as are read ahead, and something between any two
        order = 20_000 + 2 * n
        q.put(row(order, 1, priority=1))
        q.put(row(order + 1, 2))
        q.receive("t")
        q.commit("t")
    assert len(q.progress.beyond) == with_room + 1
    assert len(q.progress.encode()) < 4_000
    assert Progress.decode(0, q.progress.encode()) == q.progress


def test_what_was_not_read_yet_is_not_taken_for_a_marker() -> None:
    """After a restart the topic is read from the beginning again, a part at a time."""
    stored = Progress(0, ((4, 8), (12, 12)))
    q = queue(row(0, 1), progress=stored)
    q.receive("t")
    assert q.commit("t") == Progress(1, stored.beyond)
    for order in range(1, 7):
        q.put(row(order, 1))
    assert orders(q.receive("t", top=9)) == [1, 2, 3]
    q.commit("t")
    assert Progress.decode(9, q.progress.encode()) == q.progress == Progress(9, ((12, 12),))
    for order in range(7, 14):
        q.put(row(order, 1))
    assert orders(q.receive("t", top=9)) == [9, 10, 11, 13]


actions = st.lists(
    st.tuples(
        st.sampled_from(["receive", "commit", "rollback", "restart", "group", "read"]),
        st.integers(0, 2),
        st.integers(1, 4),
    ),
    max_size=60,
)


@shows("Q1", "Q5")
@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 10)), min_size=1, max_size=30), actions)
def test_each_message_once_whatever_happens(
    said: list[tuple[int, int]], story: list[tuple[str, int, int]]
) -> None:
    """Committed once each, in the order of their conversation, over rollbacks and restarts, however
    much of the topic was read in between."""
    rows = [row(n + n // 3, who, priority=level) for n, (who, level) in enumerate(said)]
    q, unread, committed, open_ = queue(), rows[:], [], {}  # type: ignore[var-annotated]
    for what, who, top in story:
        if what == "receive":
            got = q.receive(who, top)
            assert isinstance(got, tuple)
            open_.setdefault(who, []).extend(got)
        elif what == "group":
            q.get_conversation_group(who)
        elif what == "read":
            for _ in range(min(top, len(unread))):
                q.put(unread.pop(0))
        elif what == "commit":
            q.commit(who)
            committed += open_.pop(who, [])
        elif what == "rollback":
            q.rollback(who)
            q.turn_on()
            open_.pop(who, None)
        else:
            stored = Progress.decode(q.progress.next, q.progress.encode())
            unread = [r for r in rows if r.order >= stored.next]
            q, open_ = queue(progress=stored), {}
    for who in range(3):
        q.rollback(who)
    q.turn_on()
    for r in unread:
        q.put(r)
    while rest := q.receive("rest", 5):
        assert isinstance(rest, tuple)
        committed += rest
        q.commit("rest")
    assert sorted(r.order for r in committed) == [r.order for r in rows]
    for n in range(5):
        mine = [r.order for r in committed if r.side == side(n)]
        assert mine == sorted(mine)
    assert q.progress.next == rows[-1].order + 1
