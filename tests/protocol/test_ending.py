"""END CONVERSATION in all its forms, and what is kept of a closed endpoint."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams.protocol import Flag, State
from tests.node.evidence import shows

from .build import (
    INITIATOR_BROKER,
    LIFETIME,
    TARGET_BROKER,
    Side,
    ack,
    acked,
    answers,
    broker_error,
    conversing,
    initiator,
    message,
    queued,
    sent,
    states,
    target,
    undeliverable,
)

HALF_AN_HOUR = 1_800
END_DIALOG = message(0, flags=Flag.END, broker=TARGET_BROKER)


# --- END -----------------------------------------------------------------------------------------


@shows("D4.3")
def test_the_target_ends_first() -> None:
    """EndDialog takes the next number; the other side is told, ends too, and sends nothing."""
    side = conversing()
    side.receives(ack(1))
    effects = side.receives(END_DIALOG)
    assert side.dialog.state is State.DI
    assert queued(effects) == [0]
    side.sends()
    assert side.refused == 8429
    effects = side.ends()
    assert side.dialog.state is State.CD
    assert sent(effects) == []


def test_end_follows_all_earlier_messages() -> None:
    """EndDialog is queued after all earlier messages and closes when it is acknowledged."""
    side = conversing(2)
    assert sent(side.ends()) == [2]
    assert side.dialog.state is State.DO
    side.receives(ack(2))
    assert side.dialog.state is State.DO
    side.receives(ack(3))
    assert side.dialog.state is State.CD


def test_both_sides_end_at_once() -> None:
    """If EndDialog arrives at a side that has ended, it is closed once its own is acknowledged."""
    side = conversing()
    side.ends()
    effects = side.receives(END_DIALOG)
    assert side.dialog.state is State.DO
    assert queued(effects) == []  # the application has ended: later arrivals are discarded
    assert acked(effects) is not None
    side.receives(ack(2))
    assert side.dialog.state is State.CD


@shows("U-22")
def test_end_before_any_send() -> None:
    """END on a conversation that has sent nothing: the endpoint goes, nothing is sent."""
    side = initiator()
    effects = side.ends()
    assert side.dialog.state is State.CD
    assert sent(effects) == []
    assert acked(effects) is None


def test_end_discards_what_the_ended_peer_would_not_receive() -> None:
    """If the remote side has already ended, unsent messages are dropped silently."""
    side = conversing(3)
    side.receives(END_DIALOG)
    effects = side.ends()
    assert sent(effects) == []
    assert side.dialog.all_acknowledged
    assert side.dialog.discarded_from == 0
    assert not side.dialog.chunks


# --- the closed frame ----------------------------------------------------------------------------


def closed_target() -> Side:
    """Return a target whose both sides have ended, and that has not heard that the other knows."""
    side = target()
    side.receives(message(0), message(1, flags=Flag.END))
    side.ends()
    assert side.dialog.state is State.CD
    return side


@shows("D5.2")
def test_a_closed_target_asks_whether_the_initiator_is_closed_too() -> None:
    """With growing pauses, by other ways each time, at most once a day; then it is forgotten."""
    side = closed_target()
    pauses = []
    for _ in range(14):
        due = side.dialog.retry_at
        assert due is not None
        pauses.append((due - side.now) // 1000)
        unheard = side.dialog.unheard
        asked = acked(side.waits((due - side.now) / 1000))
        assert asked is not None
        assert (asked.next_sequence, asked.closed) == (2, False)
        assert side.dialog.unheard == unheard + 1
    assert pauses[:4] == [64, 128, 256, 512]
    assert pauses[-1] == 86_400
    side.receives(ack(0, closed=True, broker=INITIATOR_BROKER))
    assert side.dialog.retry_at is None
    side.waits(90)
    assert side.forgotten


@shows("D5.2")
def test_a_closed_initiator_answers_whoever_asks() -> None:
    """Its closed frame may have been lost; each acknowledgement that comes is answered with one."""
    side = conversing()
    side.ends()
    told = acked(side.receives(ack(2)))
    assert told is not None and told.closed
    again = acked(side.receives(ack(2, attempt=3, first_hop=1)))
    assert again is not None
    assert (again.closed, again.attempt, again.first_hop) == (True, 3, 1)


def test_an_open_initiator_does_not_answer() -> None:
    """It has something to say yet; an acknowledgement is never answered with another."""
    side = conversing()
    assert acked(side.receives(ack(1), ack(1))) is None


# --- END WITH ERROR ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["WITH ERROR", "WITH CLEANUP", "an Error", "the end of life"])
def test_what_was_discarded_is_known_by_its_first_number(how: str) -> None:
    """What is acknowledged afterwards in its stead is not stored anywhere; the state says so."""
    side = conversing(5)
    side.receives(ack(2))
    assert side.dialog.discarded_from is None
    if how == "WITH ERROR":
        side.ends(with_error=True)
    elif how == "WITH CLEANUP":
        side.cleans_up()
    elif how == "an Error":
        side.receives(broker_error())
    else:
        side.waits(LIFETIME)
    if side.dialog.state is State.ER:  # kept until the application ends the dialog
        assert side.dialog.discarded_from is None
        side.ends()
    assert side.dialog.discarded_from == 2
    side.cleans_up()  # whatever is discarded later does not raise it
    assert side.dialog.discarded_from == 2


def test_nothing_to_discard_discards_nothing() -> None:
    side = conversing(2)
    side.receives(ack(2))
    side.cleans_up()
    assert side.dialog.discarded_from is None


@shows("U-47")
def test_end_with_error_discards_everything_unacknowledged() -> None:
    """Transmitted or not: discarded; the Error takes the next number."""
    side = conversing(100)
    side.receives(ack(10))
    assert sent(side.ends(with_error=True)) == [100]
    assert side.dialog.state is State.DO
    assert side.dialog.acknowledged == (100, 0)
    assert sent(side.waits(4)) == [100]
    side.receives(ack(101))
    assert side.dialog.state is State.CD


@shows("U-47")
def test_the_error_is_accepted_although_numbers_are_missing() -> None:
    """The Error is received at once, and what was held for the gap is forgotten."""
    side = target()
    side.receives(message(0), message(3))
    effects = side.receives(message(9, flags=Flag.ERROR | Flag.SKIPS))
    assert queued(effects) == [9]
    assert side.dialog.state is State.ER
    assert not side.dialog.held
    assert acked(effects).next_sequence == 10  # type: ignore[union-attr]


@shows("U-47")
def test_the_error_again_and_a_straggler() -> None:
    """A second copy of the Error, and of a message below it, are duplicates: acknowledged."""
    side = target()
    side.receives(message(9, flags=Flag.ERROR | Flag.SKIPS))
    effects = side.receives(message(9, flags=Flag.ERROR | Flag.SKIPS), message(5))
    assert undeliverable(effects) == [11218, 11218]
    assert acked(effects).next_sequence == 10  # type: ignore[union-attr]
    assert queued(effects) == []


def test_an_error_at_a_side_that_has_ended() -> None:
    """A side that waits for the acknowledgement of its EndDialog is closed by an Error."""
    side = conversing()
    side.ends()
    error = message(0, flags=Flag.ERROR | Flag.SKIPS, broker=TARGET_BROKER, attempt=2)
    effects = side.receives(error)
    assert side.dialog.state is State.CD
    assert queued(effects) == []
    got = acked(effects)
    assert got is not None
    assert (got.next_sequence, got.highest_seen, got.attempt, got.closed) == (1, 0, 2, True)


# --- CLEANUP -------------------------------------------------------------------------------------


@shows("D4.5")
def test_cleanup_tells_nobody() -> None:
    """END WITH CLEANUP removes what is to be sent, and the peer is not told."""
    side = conversing(3)
    effects = side.cleans_up()
    assert side.dialog.state is State.CD
    assert sent(effects) == []
    assert acked(effects) is None
    assert not side.dialog.chunks
    assert side.dialog.retry_at is None
    assert side.dialog.closed_at == side.now
    side.waits(HALF_AN_HOUR)
    assert side.forgotten


# --- closed endpoints ----------------------------------------------------------------------------


@shows("D5.1")
def test_a_closed_initiator_says_so() -> None:
    """With nothing unacknowledged any more the initiator says *closed*, and again if asked."""
    side = conversing()
    side.ends()
    got = acked(side.receives(ack(2, first_hop=1)))
    assert got is not None
    assert (got.closed, got.first_hop) == (True, 1)
    again = acked(side.receives(message(0, broker=TARGET_BROKER, attempt=1)))
    assert again is not None
    assert (again.closed, again.next_sequence, again.attempt) == (True, 1, 1)


@shows("D5.1")
def test_a_late_enddialog_is_answered_by_a_closed_initiator() -> None:
    """The peer's EndDialog finds a closed endpoint: acknowledged, event 160 with 11212."""
    side = conversing()
    side.ends()
    side.receives(ack(2))
    effects = side.receives(END_DIALOG)
    assert undeliverable(effects) == [11212]
    assert acked(effects).next_sequence == 1  # type: ignore[union-attr]
    assert queued(effects) == []


@shows("U-30")
def test_messages_for_a_closed_endpoint_are_acknowledged() -> None:
    """A message for a closed endpoint is acknowledged, in order or not, and goes nowhere."""
    side = target()
    side.receives(message(0))
    side.receives(message(1, flags=Flag.END))
    side.ends()
    effects = side.receives(message(7))
    assert undeliverable(effects) == [11212]
    got = acked(effects)
    assert got is not None
    assert (got.next_sequence, got.closed) == (8, False)  # only an initiator says closed
    assert queued(effects) == []
    assert side.dialog.state is State.CD


@shows("U-30", "D4.5", "-8462")
@pytest.mark.parametrize("make", [target, conversing])
def test_a_message_after_cleanup_is_answered_with_an_error(make: Callable[[], Side]) -> None:
    """The endpoint is gone: -8462 for each copy, and no acknowledgement."""
    side = make()
    peer = TARGET_BROKER if side.dialog.is_initiator else INITIATOR_BROKER
    side.cleans_up()
    for attempt in (0, 1):
        effects = side.receives(message(7, attempt=attempt, broker=peer))
        assert undeliverable(effects) == [11212]
        assert [(e.number, e.attempt) for e in answers(effects)] == [(8462, attempt)]
        assert acked(effects) is None
        assert queued(effects) == []
    assert side.dialog.state is State.CD


@shows("D5.2", "U-29")
def test_a_closed_target_keeps_its_key_until_the_initiator_has_said_closed() -> None:
    """The key stays a time to live and a half after the dialog's lifetime, or after *closed*."""
    side = target()
    side.receives(message(0), message(1, flags=Flag.END))
    side.ends()
    assert side.dialog.state is State.CD
    latest = side.dialog.expires_at + side.limits.late
    assert side.dialog.forget_at == latest
    side.waits(HALF_AN_HOUR)
    side.receives(ack(0, broker="A"))  # says something, but not that
    assert side.dialog.forget_at == latest
    side.receives(ack(0, closed=True, broker="A"))
    assert side.dialog.forget_at == side.now + side.limits.late
    side.waits(89)
    assert not side.forgotten
    side.waits(1)
    assert side.forgotten


@shows("D5.2")
def test_the_initiator_may_say_closed_before_the_target_ends() -> None:
    """A time to live and a half after the end is enough where *closed* was heard before it."""
    side = target()
    side.receives(message(0), message(1, flags=Flag.END))
    side.receives(ack(0, closed=True, broker="A"))
    assert side.dialog.forget_at is None
    side.ends()
    assert side.dialog.forget_at == side.now + side.limits.late


@shows("D5.3")
def test_a_replayed_first_message_cannot_reopen_a_closed_target() -> None:
    """A replayed first message finds the key, and no second endpoint comes into being."""
    side = target()
    side.receives(message(0))
    side.cleans_up()
    effects = side.receives(message(0))
    assert side.dialog.state is State.CD
    assert queued(effects) == []
    assert undeliverable(effects) == [11218]


def test_a_closed_initiator_is_kept_for_half_an_hour() -> None:
    """Long enough to answer a late EndDialog, then nothing of it is left."""
    side = conversing()
    side.ends()
    side.receives(ack(2))
    side.waits(HALF_AN_HOUR - 1)
    assert not side.forgotten
    side.waits(1)
    assert side.forgotten


def test_an_ended_endpoint_acknowledges_what_still_comes() -> None:
    """After a local END later arrivals are stored by nobody and acknowledged all the same."""
    side = target()
    side.receives(message(0))
    side.ends()
    effects = side.receives(message(1))
    assert queued(effects) == []
    assert acked(effects).next_sequence == 2  # type: ignore[union-attr]


@shows("D4.6")
def test_what_happens_to_a_conversation_is_told() -> None:
    """Event 124 with its subclass: acknowledged end, received end, received and created Error."""
    side = conversing()
    side.ends()
    assert (10, 0) in states(side.receives(ack(2)))
    side = conversing()
    assert (7, 0) in states(side.receives(END_DIALOG))
    error = message(0, flags=Flag.ERROR | Flag.SKIPS, broker=TARGET_BROKER)
    assert (8, 0) in states(conversing().receives(error))
    assert (9, 0) in states(conversing().receives(broker_error()))
    side = conversing()
    assert (4, 8489) in states(side.waits(LIFETIME / 1000))


def test_a_closed_endpoint_holds_nothing() -> None:
    """What was held out of order pins no position in ``in`` any more."""
    side = target()
    side.receives(message(3))
    side.cleans_up()
    assert not side.dialog.held
