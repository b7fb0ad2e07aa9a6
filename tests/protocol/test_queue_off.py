"""A queue that is off: what arrives is parked, and shown when it is on again (4.6, U-31)."""

from __future__ import annotations

import pytest

from streams.errors import Number
from streams.protocol import UNPROVOKED, Flag, Limits, RefusalNumbers, State
from tests.node.evidence import shows

from .build import (
    LIFETIME,
    TARGET_BROKER,
    Side,
    acked,
    bodies,
    broker_error,
    conversing,
    message,
    own_errors,
    queued,
    target,
    timers,
    undeliverable,
)

END = Flag.END


def off(side: Side) -> Side:
    """Return the side with its queue off."""
    side.queue_on = False
    return side


def wake(side: Side) -> list[object]:
    """Turn the queue on, and let the endpoint know."""
    side.queue_on = True
    return side.run(lambda machine: machine.wake(0))  # type: ignore[return-value]


@shows("EX-55", "U-31")
def test_ex_55_parked_and_delivered_later() -> None:
    """The message is accepted, acknowledged and parked; it is delivered when the queue is on."""
    side = off(target())
    effects = side.receives(message(0), message(1))
    assert queued(effects) == []
    got = acked(effects)
    assert got is not None
    assert got.next_sequence == 2
    assert queued(wake(side)) == [0, 1]  # type: ignore[arg-type]
    assert not side.dialog.parked


def test_what_comes_later_does_not_overtake() -> None:
    """As long as something is parked, new messages wait behind it."""
    side = off(target())
    side.receives(message(0))
    side.queue_on = True
    assert queued(side.receives(message(1))) == []
    assert queued(wake(side)) == [0, 1]  # type: ignore[arg-type]


@shows("D8.2")
def test_what_cannot_be_parked_is_not_acknowledged() -> None:
    """Beyond the window: event 160, 11219; the sender keeps it and tries again."""
    side = off(target(limits=Limits(window=2)))
    side.receives(message(0), message(1))
    effects = side.receives(message(2))
    assert undeliverable(effects) == [11219]
    assert acked(effects) is None
    effects = wake(side)  # type: ignore[assignment]
    assert queued(effects) == [0, 1]
    asking = acked(effects)
    assert asking is not None
    assert (asking.attempt, asking.next_sequence) == (UNPROVOKED, 2)
    assert queued(side.receives(message(2))) == [2]


def test_what_was_held_follows_when_there_is_room() -> None:
    """Out of order and no room to park: it stays held, and is shown when the queue is on."""
    side = off(target(limits=Limits(window=2)))
    side.receives(message(1), message(0))  # 0 completes both, and both are parked
    side.receives(message(3))
    assert undeliverable(side.receives(message(2))) == [11219]
    effects = wake(side)
    assert queued(effects) == [0, 1]  # type: ignore[arg-type]
    assert queued(side.receives(message(2))) == [2, 3]


def test_a_held_message_goes_on_by_itself() -> None:
    """What was held only for want of room needs no further copy, and is acknowledged."""
    side = off(target(limits=Limits(window=2)))
    side.receives(message(0), message(2))
    side.receives(message(1))
    assert side.dialog.received == (2, 0)
    effects = wake(side)
    assert queued(effects) == [0, 1, 2]  # type: ignore[arg-type]
    got = acked(effects)  # type: ignore[arg-type]
    assert got is not None
    assert got.next_sequence == 3


def test_a_message_in_fragments_is_parked_whole() -> None:
    """It is put together again from its fragments, however large it is."""
    side = off(target(limits=Limits(window=2, fragment=1, body=100)))
    side.receives(*[message(0, fragment=n, fragments=5) for n in range(5)])
    side.receives(message(1))
    assert bodies(wake(side)) == [b"0.0 0.1 0.2 0.3 0.4 "]  # type: ignore[arg-type]


@pytest.mark.parametrize("sequenced", [True, False])
def test_errors_and_timers_are_parked_too(sequenced: bool) -> None:
    """What the broker says itself waits behind what was there before."""
    side = off(conversing(1))
    side.receives(message(0, broker=TARGET_BROKER))
    side.sets_timer(3)
    side.waits(3)
    flags = Flag.ERROR | Flag.SKIPS
    side.receives(message(1, flags=flags, broker=TARGET_BROKER) if sequenced else broker_error())
    effects = wake(side)
    assert len(queued(effects)) == 2  # type: ignore[arg-type]
    assert timers(effects) == 1  # type: ignore[arg-type]


def test_the_end_of_life_is_parked_once() -> None:
    """-8489 of the endpoint's own."""
    side = off(target())
    side.waits(LIFETIME / 1000)
    assert side.dialog.state is State.ER
    assert own_errors(wake(side)) == [Number.LIFETIME_EXCEEDED]  # type: ignore[arg-type]
    assert own_errors(wake(side)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("statement", [Side.ends, Side.cleans_up])
def test_the_application_ends(statement: object) -> None:
    """END removes the dialog's messages, the parked ones among them; the record says from where."""
    side = off(target())
    side.receives(message(0))
    side.queue_on = True
    side.run(lambda machine: machine.wake(0))
    off(side)
    side.receives(message(1), message(2))
    statement(side)  # type: ignore[operator]
    assert side.dialog.deaf_from == 1
    assert queued(wake(side)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("statement", [Side.ends, Side.cleans_up])
def test_the_application_ends_after_a_refusal(statement: object) -> None:
    """What was parked before the refused message goes, too: the record says from where."""
    side = off(target())
    side.receives(message(0))
    side.refusal = RefusalNumbers(Number.XML_INVALID, Number.VALIDATION_FAILED)
    side.receives(message(1))
    assert side.dialog.state is State.ER
    assert side.dialog.deaf_from == 1
    statement(side)  # type: ignore[operator]
    assert side.dialog.deaf_from == 0
    assert queued(wake(side)) == []  # type: ignore[arg-type]


def test_a_parked_end() -> None:
    """The state moves when EndDialog arrives in order; the application hears of it later."""
    side = off(target())
    side.receives(message(0), message(1, flags=END))
    assert side.dialog.state is State.DI
    assert queued(wake(side)) == [0, 1]  # type: ignore[arg-type]


def test_waking_with_the_queue_still_off() -> None:
    """A catalog change that leaves the queue off changes nothing."""
    side = off(target())
    side.receives(message(0))
    effects = side.run(lambda machine: machine.wake(0))
    assert effects == []
    assert side.dialog.parked == [(0, 0)]
