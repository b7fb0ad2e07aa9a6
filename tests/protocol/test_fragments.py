"""Messages in fragments: retransmitted one by one, put together in any order (reference 4.4)."""

from __future__ import annotations

import itertools

import pytest

from streams.protocol import Limits, State
from tests.node.evidence import shows

from .build import (
    TARGET_BROKER,
    Side,
    ack,
    acked,
    bodies,
    conversing,
    initiator,
    message,
    queued,
    runs,
    sent_fragments,
    target,
    undeliverable,
)

SMALL = Limits(window=4, wider=1, fragment=10, body=1_000)


def fragment(sequence: int, number: int, count: int = 3, **said: int) -> object:
    """Return one fragment of a message."""
    return message(sequence, fragment=number, fragments=count, **said)  # type: ignore[arg-type]


def receive(side: Side, *frames: object) -> list[object]:
    return side.receives(*frames)  # type: ignore[arg-type, return-value]


# --- sending -------------------------------------------------------------------------------------


@shows("U-23")
@pytest.mark.parametrize(("size", "count"), [(0, 1), (10, 1), (11, 2), (40, 4)])
def test_a_body_is_cut_into_fragments(size: int, count: int) -> None:
    """A small message is one fragment; a larger one as many as its size demands."""
    effects = initiator(limits=SMALL).sends(size=size)
    assert sent_fragments(effects) == [(0, n) for n in range(count)]


@shows("D2.1")
def test_the_window_counts_fragments() -> None:
    """What is in flight is bounded in fragments, and moves on with every acknowledgement."""
    side = initiator(limits=SMALL)
    assert sent_fragments(side.sends(2, size=25)) == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert sent_fragments(side.receives(ack(0, fragment=2))) == [(1, 1), (1, 2)]
    side.sends()
    assert sent_fragments(side.receives(ack(1))) == [(2, 0)]
    assert side.dialog.in_flight == 4
    assert sent_fragments(side.receives(ack(3))) == []
    assert side.dialog.all_acknowledged


def test_only_the_oldest_fragment_is_retried() -> None:
    """Retransmission is per fragment; with its acknowledgement the others that may be lost go."""
    side = initiator(limits=SMALL)
    side.sends(size=40)
    assert sent_fragments(side.waits(4)) == [(0, 0)]
    held = (((0, 2), (0, 2)),)
    said = ack(0, fragment=1, attempt=1)
    said = said._replace(ack=said.ack._replace(held=held))
    assert sent_fragments(side.receives(said)) == [(0, 1), (0, 3)]


def test_a_restart_counts_what_is_in_flight_anew() -> None:
    """The number of fragments in flight is no part of the record of a dialog."""
    side = initiator(limits=SMALL)
    side.sends(3, size=25)
    side.dialog.in_flight = -1
    assert sent_fragments(side.receives(ack(0, fragment=1))) == [(1, 1)]


@pytest.mark.parametrize("said", [ack(0, fragment=3), ack(1, fragment=1), ack(2)])
def test_an_acknowledgement_of_fragments_that_are_not_there(said: object) -> None:
    """28010: it counts nothing."""
    side = initiator(limits=SMALL)
    side.sends(size=25)
    assert undeliverable(receive(side, said)) == [28010]  # type: ignore[arg-type]
    assert side.dialog.acknowledged == (0, 0)


# --- receiving -----------------------------------------------------------------------------------


@shows("D8.3")
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_put_together_in_any_order(order: tuple[int, ...]) -> None:
    """Whatever order the fragments come in: one message, whole."""
    side = target()
    effects = [e for n in order for e in receive(side, fragment(0, n))]
    assert bodies(effects) == [b"0.0 0.1 0.2 "]  # type: ignore[arg-type]
    assert queued(effects) == [0]  # type: ignore[arg-type]
    assert side.dialog.received == (1, 0)
    assert not side.dialog.held
    assert not side.dialog.partial


def test_a_run_may_end_within_a_message() -> None:
    """A limited number of fragments is delivered at once; none is left out or repeated."""
    side = target(limits=Limits(run=2))
    late = fragment(0, 0)
    receive(side, *[fragment(n // 3, n % 3) for n in range(1, 9)])
    effects = [receive(side, late), *[side.continues() for _ in range(4)]]
    assert [queued(e) for e in effects] == [[], [0], [1], [], [2]]  # type: ignore[arg-type]
    assert bodies(effects[-1]) == [b"2.0 2.1 2.2 "]  # type: ignore[arg-type]
    assert not side.dialog.held
    assert not side.dialog.partial


def test_nothing_is_shown_before_it_is_complete() -> None:
    """Stored fragments are acknowledged; the message cannot be received before the last one."""
    side = target(State.SI)
    effects = receive(side, fragment(0, 0), fragment(0, 1))
    assert queued(effects) == []  # type: ignore[arg-type]
    got = acked(effects)  # type: ignore[arg-type]
    assert got is not None
    assert (got.next, got.highest_seen) == ((0, 2), 0)
    assert side.dialog.state is State.SI
    receive(side, fragment(0, 2))
    assert side.dialog.state is State.CO


def test_runs_reach_over_messages() -> None:
    """The last fragment of a message and the first of the next one are neighbours."""
    side = target()
    got = acked(receive(side, fragment(1, 2), fragment(2, 0), fragment(2, 2)))  # type: ignore[arg-type]
    assert got is not None
    assert got.held == (((1, 2), (2, 0)), ((2, 2), (2, 2)))
    assert runs((1, 1)) == (((1, 0), (1, 0)),)


@pytest.mark.parametrize("frame", [fragment(0, 0), fragment(0, 1), fragment(1, 1)])
def test_a_duplicate_fragment(frame: object) -> None:
    """Same dialog, number and fragment: acknowledged again, kept once."""
    side = target()
    receive(side, fragment(0, 0), fragment(0, 1), fragment(1, 1))
    effects = receive(side, frame)
    assert undeliverable(effects) == [11218]  # type: ignore[arg-type]
    assert acked(effects) is not None  # type: ignore[arg-type]


def test_more_fragments_than_a_message_may_have() -> None:
    """What could not be kept in bounded state is not begun: 8459, not acknowledged."""
    side = target(limits=SMALL)
    effects = receive(side, fragment(0, 0, 101))
    assert undeliverable(effects) == [8459]  # type: ignore[arg-type]
    assert acked(effects) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("queue_on", [True, False])
@pytest.mark.parametrize("sequence", [0, 1], ids=["in order", "out of order"])
def test_a_frame_larger_than_any_fragment(sequence: int, *, queue_on: bool) -> None:
    """The window counts fragments, so it bounds bytes only where these are: 8459."""
    side = target(queue_on=queue_on)
    largest = message(sequence)._replace(body=bytes(65_536))
    effects = side.receives(largest._replace(body=bytes(65_537)))
    assert undeliverable(effects) == [8459]
    assert acked(effects) is None
    assert not queued(effects) and not side.dialog.held and not side.dialog.parked
    assert acked(side.receives(largest)) is not None


def test_fragments_that_contradict_each_other() -> None:
    """A message whose fragments disagree on their number is begun anew, and shown to nobody."""
    side = target()
    receive(side, fragment(0, 0, 4), fragment(0, 1, 4))
    effects = receive(side, fragment(0, 2, 3))
    assert undeliverable(effects) == [11235]  # type: ignore[arg-type]
    assert queued(effects) == []  # type: ignore[arg-type]
    assert bodies(receive(side, *[fragment(0, n) for n in range(3)])) == [b"0.0 0.1 0.2 "]  # type: ignore[arg-type]


def test_out_of_order_fragments_are_bounded() -> None:
    """As many as the window, whatever their numbers."""
    side = target(limits=SMALL)
    effects = receive(side, *[fragment(1, n, 9) for n in range(6)])
    assert undeliverable(effects) == [11217, 11217]  # type: ignore[arg-type]
    assert len(side.dialog.held) == 4


def test_both_directions_have_numbers_of_their_own() -> None:
    """What one side sends says nothing about what it has received."""
    side = conversing(2)
    side.receives(message(0, broker=TARGET_BROKER, fragments=2))
    assert side.dialog.received == (0, 1)
    assert side.dialog.send_sequence == 2
