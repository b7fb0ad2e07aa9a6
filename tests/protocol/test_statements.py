"""Timers, groups, refused messages, the lock that both sides know of (reference 3.4, 4.8, 4.9)."""

from __future__ import annotations

import uuid

import pytest

from streams.errors import Number
from streams.protocol import Flag, Machine, RefusalNumbers, State
from tests.node.evidence import shows

from .build import (
    INITIATOR_BROKER,
    LIFETIME,
    TARGET_BROKER,
    ack,
    acked,
    answers,
    conversing,
    initiator,
    message,
    own_errors,
    queued,
    sent,
    target,
    timers,
    undeliverable,
)

# --- conversation timers -------------------------------------------------------------------------


@shows("D8.4")
@pytest.mark.parametrize("side", [initiator(), target(), target(State.SI), target(State.DI)])
def test_a_timer_goes_off_once(side: object) -> None:
    """An empty DialogTimer appears in the local queue, and only there."""
    assert timers(side.sets_timer(5)) == 0  # type: ignore[attr-defined]
    assert timers(side.waits(4)) == 0  # type: ignore[attr-defined]
    effects = side.waits(1)  # type: ignore[attr-defined]
    assert timers(effects) == 1
    assert sent(effects) == []
    assert timers(side.waits(5)) == 0  # type: ignore[attr-defined]


def test_setting_it_again_replaces_it() -> None:
    """One per side."""
    side = target()
    side.sets_timer(5)
    side.sets_timer(9)
    assert timers(side.waits(5)) == 0
    assert timers(side.waits(4)) == 1


@pytest.mark.parametrize("seconds", [0, -1, LIFETIME // 1000 + 1])
def test_a_timer_beyond_the_lifetime(seconds: int) -> None:
    """8410; the timer that was set before stays."""
    side = target()
    side.sets_timer(1)
    side.sets_timer(seconds)
    assert side.refused is Number.TIMER_BEYOND_LIFETIME
    assert timers(side.waits(1)) == 1


def test_ending_stops_the_timer() -> None:
    """An application that has ended is told nothing."""
    side = conversing()
    side.sets_timer(1)
    side.ends()
    assert timers(side.waits(1)) == 0


# --- groups --------------------------------------------------------------------------------------


def test_moving_to_another_group() -> None:
    """What arrives from now on belongs there."""
    side = target()
    side.moves(uuid.UUID(int=9))
    assert side.dialog.group == uuid.UUID(int=9)


# --- confirmed -----------------------------------------------------------------------------------


@shows("EX-37")
def test_ex_37_who_knows_to_be_the_locked_one() -> None:
    """The initiator by its lock; a target by a frame that carries its id from the lock."""
    side = initiator()
    side.sends(2)
    assert not side.dialog.confirmed
    side.receives(ack(1))
    assert side.dialog.confirmed
    side = target()
    side.receives(message(0), message(1))  # pipelined: sent before the first acknowledgement
    assert not side.dialog.confirmed
    side.receives(message(2, locked=True, broker="another"))
    assert not side.dialog.confirmed
    side.receives(message(2, locked=True, broker=INITIATOR_BROKER))
    assert side.dialog.confirmed


# --- messages that are refused -------------------------------------------------------------------

INVALID = RefusalNumbers(Number.XML_INVALID, Number.VALIDATION_FAILED)


@shows("D8.1")
def test_a_message_that_is_refused() -> None:
    """Acknowledged, not shown; an Error goes to its sender and one into the own queue."""
    side = target(refusal=INVALID)
    effects = side.receives(message(0))
    assert undeliverable(effects) == [9704]
    assert queued(effects) == []
    got = acked(effects)
    assert got is not None
    assert got.next_sequence == 1
    assert [(e.number, e.to_broker) for e in answers(effects)] == [(9615, INITIATOR_BROKER)]
    assert own_errors(effects) == [9615]
    assert side.dialog.state is State.ER
    assert side.dialog.deaf_from == 0


def test_the_error_is_repeated() -> None:
    """Broker Errors are not retried by themselves: each further copy provokes it again."""
    side = target(refusal=INVALID)
    side.receives(message(0))
    for frame in (message(0, attempt=1), message(1)):
        effects = side.receives(frame)
        assert [e.number for e in answers(effects)] == [9615]
        assert own_errors(effects) == []


def test_what_is_held_behind_a_refused_message_is_gone() -> None:
    """Nothing behind it is shown."""
    side = target(refusal=INVALID)
    side.receives(message(1))
    effects = side.receives(message(0))
    assert queued(effects) == []
    assert not side.dialog.held


# --- ERROR_BROKER_CONVERSATIONS ------------------------------------------------------------------


def broker_error(machine: Machine) -> None:
    machine.ending.broker_error(Number.CONVERSATIONS_ENDED_HERE, Number.CONVERSATIONS_ENDED_THERE)


@shows("D8.5")
@pytest.mark.parametrize("side", [conversing(), target(), target(State.DI)])
def test_the_database_ends_its_conversations(side: object) -> None:
    """An Error in the own queue (-9719), one for the other side (-9720) where that is known."""
    known = side.dialog.far_broker is not None  # type: ignore[attr-defined]
    effects = side.run(broker_error)  # type: ignore[attr-defined]
    assert own_errors(effects) == [9719]
    assert [e.number for e in answers(effects)] == [9720] * known
    assert side.dialog.state is State.ER  # type: ignore[attr-defined]
    assert side.run(broker_error) == []  # type: ignore[attr-defined]


def test_a_conversation_that_has_ended_closes() -> None:
    """Its application expects nothing any more."""
    side = conversing()
    side.ends()
    assert own_errors(side.run(broker_error)) == []
    assert side.dialog.state is State.CD


# --- after the peer has ended --------------------------------------------------------------------


@shows("D8.6")
def test_what_the_ended_peer_will_not_take_is_kept() -> None:
    """Status 9779: not sent, not retried, kept until the application ends the dialog too."""
    side = conversing(2)
    side.receives(message(0, flags=Flag.END, broker=TARGET_BROKER))
    assert side.dialog.status == 9779
    assert sent(side.waits(100)) == []
    assert not side.dialog.all_acknowledged
    side.receives(ack(1))
    assert (side.dialog.acknowledged, side.dialog.status) == ((1, 0), 9779)
    side.ends()
    assert (side.dialog.state, side.dialog.discarded_from) == (State.CD, 1)
