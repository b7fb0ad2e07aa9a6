"""Sequence numbers, the window, acknowledgements, retries, statuses."""

from __future__ import annotations

import pytest

from streams.protocol import ADDRESSES, CHUNK, UNPROVOKED, Limits, State
from tests.node.evidence import shows

from .build import (
    ack,
    acked,
    attempts,
    conversing,
    initiator,
    message,
    own_errors,
    sent,
    status,
    target,
)

WINDOW = Limits(window=4)


# --- sequence numbers and the window -------------------------------------------------------------


@shows("U-21")
def test_the_first_number_is_zero() -> None:
    """The sender assigns sequence numbers per dialog and direction, from 0."""
    assert sent(initiator().sends(3)) == [0, 1, 2]


@shows("D2.1")
def test_a_window_limits_what_is_in_flight() -> None:
    """What is beyond the window waits, and follows as acknowledgements come."""
    side = initiator(limits=WINDOW)
    assert sent(side.sends(10)) == [0, 1, 2, 3]
    assert sent(side.receives(ack(3))) == [4, 5, 6]
    assert sent(side.receives(ack(7))) == [7, 8, 9]
    assert sent(side.receives(ack(10))) == []


def test_an_acknowledgement_causes_at_most_a_window_of_copies() -> None:
    """The other side may report everything as lost; the rest takes turns with other dialogs."""
    side = initiator(limits=Limits(window=4, wider=3))
    side.sends(40)
    side.receives(ack(4))
    side.run(lambda machine: machine.fill_window(100))
    assert (side.dialog.transmitted, side.dialog.in_flight) == ((16, 0), 12)
    side.waits(4)
    assert sent(side.receives(ack(5, attempt=1, held=((7, 8),)))) == [5, 6, 9, 10]
    assert (side.dialog.transmitted, side.dialog.in_flight) == ((11, 0), 6)
    assert sent(side.run(lambda machine: machine.fill_window(3))) == [11, 12, 13]
    assert sent(side.receives(ack(40))) == []
    assert side.dialog.in_flight == 0


@shows("D2.1")
def test_a_window_becomes_wider_when_the_dialog_has_its_turn() -> None:
    """Not before the other side has answered, and not while a retry is under way."""
    side = initiator(limits=Limits(window=4, wider=3))

    def turn() -> int:
        return len(sent(side.run(lambda machine: machine.fill_window(100))))

    side.sends(40)
    assert (turn(), side.dialog.in_flight) == (0, 4)
    side.receives(ack(4))
    assert (turn(), side.dialog.in_flight) == (8, 12)
    assert sent(side.sends(1)) == []  # at once it is a window, as before
    side.receives(ack(15))
    assert sent(side.waits(4)) == [15]
    assert (turn(), side.dialog.in_flight) == (0, 4)
    side.receives(ack(16))
    assert (turn(), side.dialog.in_flight) == (8, 12)


@shows("U-26")
def test_acknowledgements_are_cumulative() -> None:
    """Everything below the number that an acknowledgement names is stored at the other side."""
    side = conversing(5)
    side.receives(ack(3))
    assert side.dialog.acknowledged == (3, 0)
    side.receives(ack(2))
    assert side.dialog.acknowledged == (3, 0)


def test_an_acknowledgement_of_what_was_never_sent_counts_nothing() -> None:
    """An impossible acknowledgement number changes nothing (28010)."""
    side = conversing(2)
    assert sent(side.receives(ack(3))) == []
    assert side.dialog.acknowledged == (0, 0)
    assert side.dialog.retry_at is not None


def test_positions_are_kept_in_chunks_and_let_go() -> None:
    """Only what is unacknowledged is remembered, and only touched chunks are written again."""
    side = initiator(limits=Limits(window=10))
    side.sends(CHUNK * 2 + 5)
    assert sorted(side.dialog.chunks) == [0, 1, 2]
    assert side.dialog.stored(CHUNK + 1) == (CHUNK + 1, 1)
    side.receives(ack(CHUNK - 1))
    assert sorted(side.dialog.chunks) == [0, 1, 2]
    side.receives(ack(CHUNK))
    assert sorted(side.dialog.chunks) == [1, 2]
    side.receives(ack(CHUNK * 2 + 5))
    assert not side.dialog.chunks


# --- retry ---------------------------------------------------------------------------------------


@shows("U-27")
def test_the_back_off() -> None:
    """The waits are 4, 8, 16, 32, 64, 64 ... seconds."""
    side = conversing()
    for attempt, seconds in enumerate((4, 8, 16, 32, 64, 64, 64), start=1):
        assert sent(side.waits(seconds - 0.001)) == []
        assert attempts(side.waits(0.001)) == [(0, attempt)]


@shows("D2.2")
def test_a_retry_is_the_oldest_message_only() -> None:
    """Of all that is unacknowledged only the oldest is sent again."""
    side = conversing(5)
    assert attempts(side.waits(4)) == [(0, 1)]
    side.receives(ack(2))
    assert attempts(side.waits(4)) == [(2, 1)]


@shows("D2.3")
def test_no_retry_while_the_previous_copy_is_ahead_of_the_forwarder() -> None:
    """A copy that has not left ``out`` is not sent again; the question is asked once a second."""
    side = conversing(2, left_out=1)  # copies are at 0 and 1: the second has not been read
    assert sent(side.waits(4)) == []
    assert side.dialog.attempt == 0
    side.left_out = 2
    assert sent(side.waits(0.999)) == []
    assert attempts(side.waits(0.001)) == [(0, 1)]


@shows("U-27")
def test_progress_resets_the_back_off() -> None:
    """A successful acknowledgement resets the back-off."""
    side = conversing(2)
    side.waits(4)
    side.waits(8)
    side.receives(ack(1))
    assert side.dialog.attempt == 0
    assert attempts(side.waits(4)) == [(1, 1)]


@shows("D2.4")
def test_the_window_follows_where_a_retry_got_through() -> None:
    """Where a retry was needed and acknowledged, what followed it is taken for lost too."""
    side = conversing(4)
    side.waits(4)
    assert attempts(side.receives(ack(1, attempt=1))) == [(1, 0), (2, 0), (3, 0)]


@shows("D2.4")
def test_a_late_acknowledgement_of_the_first_copy_does_not_resend_the_window() -> None:
    """Where the first copy is acknowledged after all, the way is slow, and nothing was lost."""
    side = conversing(4)
    side.waits(4)
    assert sent(side.receives(ack(1, attempt=0))) == []
    assert side.dialog.attempt == 0


def test_no_window_without_progress() -> None:
    """An acknowledgement of nothing new, even of a retry, sends nothing again."""
    side = conversing(4)
    side.receives(ack(1))
    side.waits(4)
    assert sent(side.receives(ack(1, attempt=1))) == []


def test_an_unprovoked_acknowledgement_lets_a_retry_go_at_once() -> None:
    """The receiver has room again; before the first retry the back-off is short enough."""
    side = conversing(4)
    side.receives(ack(1))
    assert sent(side.receives(ack(1, attempt=UNPROVOKED))) == []
    side.waits(4)
    assert sent(side.receives(ack(0, attempt=UNPROVOKED))) == []
    assert attempts(side.receives(ack(1, attempt=UNPROVOKED))) == [(1, 2)]
    assert sent(side.receives(ack(4, attempt=UNPROVOKED))) == []
    assert side.dialog.all_acknowledged
    assert sent(side.receives(ack(4, attempt=UNPROVOKED))) == []


def test_any_number_of_unprovoked_acknowledgements_causes_one_retry() -> None:
    """Another cluster may write thousands of them, and each copy may have 64 kB."""
    side = conversing(4)
    side.receives(ack(1))
    side.waits(4)
    asking = ack(1, attempt=UNPROVOKED)
    assert attempts(side.receives(*[asking] * 100)) == [(1, 2)]
    assert attempts(side.receives(asking)) == [(1, 3)], "the next transaction may retry again"


def test_nothing_unacknowledged_nothing_to_retry() -> None:
    """The timer is off as soon as everything is acknowledged."""
    side = conversing(2)
    side.receives(ack(2))
    assert side.dialog.retry_at is None
    assert sent(side.waits(100)) == []


@shows("D2.5")
def test_acknowledgements_carry_attempt_and_first_hop_of_the_copy() -> None:
    """What a copy provoked carries its attempt, and echoes its first-hop index."""
    side = conversing()
    side.receives(ack(1))
    got = acked(side.receives(message(0, broker="B", attempt=3, first_hop=2)))
    assert got is not None
    assert (got.attempt, got.first_hop, got.closed) == (3, 2, False)


def test_the_acknowledgement_of_a_duplicate_carries_the_duplicates_attempt() -> None:
    """Else its sender could not tell which of its addresses has worked."""
    side = conversing()
    side.receives(ack(1))
    side.receives(message(0, broker="B"))
    got = acked(side.receives(message(0, broker="B", attempt=3, first_hop=2)))
    assert got is not None
    assert (got.attempt, got.first_hop) == (3, 2)


@shows("D2.7")
def test_an_acknowledgement_that_does_not_arrive_takes_the_next_address() -> None:
    """A retry of what was acknowledged already says that the acknowledgement did not arrive."""
    side = target()
    side.receives(message(0))
    assert side.dialog.unheard == 0
    side.receives(message(0))  # the same copy once more says nothing
    assert side.dialog.unheard == 0
    for attempt in (1, 2, 3):
        side.receives(message(0, attempt=attempt))
        assert side.dialog.unheard == attempt
    side.dialog.unheard = ADDRESSES - 1
    side.receives(message(0, attempt=4))
    assert side.dialog.unheard == 0


@shows("D2.5")
def test_the_index_that_came_back_is_preferred() -> None:
    """The first-hop index of the acknowledgement that made progress is where the next one goes."""
    side = conversing(2)
    side.receives(ack(1, attempt=1, first_hop=1))
    assert side.dialog.first_hop == 1
    side.receives(ack(1, first_hop=0))  # no progress: says nothing about what works now
    assert side.dialog.first_hop == 1


# --- what the local forwarder says ---------------------------------------------------------------


@shows("R10")
def test_after_a_status_only_the_first_message_probes() -> None:
    """A conversation that cannot be routed is delayed, and one message of it tries again."""
    side = conversing(3)
    side.receives(status(9750))
    assert side.dialog.status == 9750
    assert sent(side.sends(2)) == []
    assert attempts(side.waits(4)) == [(0, 1)]
    assert attempts(side.waits(8)) == [(0, 2)]


@shows("R10")
def test_the_rest_follows_when_the_probe_gets_through() -> None:
    """The probe's acknowledgement clears the status, and everything else is sent."""
    side = conversing(3)
    side.receives(status(9750))
    side.sends()
    side.waits(4)
    assert sent(side.receives(ack(1, attempt=1))) == [1, 2, 3]
    assert side.dialog.status == 0


@pytest.mark.parametrize(("refused", "lost"), [(-1, [1, 2, 3, 4]), (0, [1, 2, 3, 4]), (3, [3, 4])])
def test_what_left_before_the_first_refused_copy_is_not_sent_again(
    refused: int, lost: list[int]
) -> None:
    """It waits on its way; but whether the first copy is refused, a refused retry does not say."""
    side = conversing(5)
    side.receives(*([] if refused < 0 else [status(9750, about=4)]), status(9750, about=refused))
    assert attempts(side.waits(4)) == [(0, 1)]
    side.receives(status(9750, attempt=1, about=0))
    assert sent(side.receives(ack(1))) == lost
    assert side.dialog.status == 0


def test_a_retry_that_arrives_shows_that_all_before_it_are_lost() -> None:
    side = conversing(5)
    side.receives(status(9750, about=3))
    side.waits(4)
    assert sent(side.receives(ack(1, attempt=1))) == [1, 2, 3, 4]
    side.receives(ack(2))
    assert side.dialog.status == 0
    side.receives(status(9750, about=4))
    assert sent(side.receives(ack(3))) == [4], "what was refused before has been sent since"


def test_a_late_status_says_what_was_lost_before_the_retry() -> None:
    side = conversing(5)
    side.waits(4)
    side.receives(status(9750, about=3))
    assert side.dialog.status == 0
    assert sent(side.receives(ack(1))) == [3, 4]


def test_a_status_about_an_acknowledged_message_is_ignored() -> None:
    side = conversing(3)
    side.receives(ack(1), status(9753, about=0))
    assert side.dialog.status == 0
    side.receives(status(9753, about=1))
    assert side.dialog.status == 9753


@shows("D2.6")
def test_a_status_of_an_older_attempt_is_ignored() -> None:
    """A Status older than the current attempt says nothing about it."""
    side = conversing()
    side.waits(4)
    side.receives(status(9750, attempt=0))
    assert side.dialog.status == 0
    side.receives(status(9750, attempt=1))
    assert side.dialog.status == 9750


def test_a_status_about_what_is_acknowledged_is_ignored() -> None:
    """A Status that comes after the acknowledgement is about another copy of the same message."""
    side = conversing()
    side.receives(ack(1), status(9753))
    assert side.dialog.status == 0


@shows("U-14")
@pytest.mark.parametrize("delay", [0, 999])
def test_a_catalog_change_lets_it_probe(delay: int) -> None:
    """A conversation with a status tries again soon after the catalog has changed."""
    side = conversing()
    side.receives(status(9750))
    side.run(lambda machine: machine.wake(delay))
    assert attempts(side.waits(delay / 1000)) == [(0, 1)]


def test_a_catalog_change_means_nothing_to_others() -> None:
    """A conversation without a status goes on waiting for its acknowledgement."""
    side = conversing()
    due = side.dialog.retry_at
    side.run(lambda machine: machine.wake(0))
    assert side.dialog.retry_at == due


# --- lifetime ------------------------------------------------------------------------------------


@shows("EX-59", "-8489")
def test_the_end_of_life() -> None:
    """On expiry an Error (-8489) is in the endpoint's own queue, and SEND is refused."""
    side = conversing(3)
    side.now = side.dialog.expires_at
    effects = side.waits(0)
    assert own_errors(effects) == [8489]
    assert side.dialog.state is State.ER
    assert sent(effects) == []
    side.sends()
    assert side.refused == 8429
    side.ends()
    assert side.dialog.state is State.CD


def test_the_end_of_life_of_a_side_that_has_ended() -> None:
    """A side whose application has ended is closed: nobody is left to be told."""
    side = conversing()
    side.ends()
    side.now = side.dialog.expires_at
    got = acked(side.waits(0))
    assert side.dialog.state is State.CD
    assert got is not None
    assert got.closed
    assert side.dialog.forget_at is not None


# --- what is suspect -----------------------------------------------------------------------------


@shows("U-26", "D2.4")
def test_what_the_other_side_holds_is_not_sent_again() -> None:
    """An acknowledgement lists what is stored out of order: only the gaps are filled."""
    side = conversing(8)
    side.waits(4)
    effects = side.receives(ack(1, attempt=1, held=((3, 4), (6, 6))))
    assert sent(effects) == [1, 2, 5, 7]


@shows("D2.4")
def test_what_was_first_sent_after_the_retry_is_not_suspect() -> None:
    """It has taken the retry's way; what was sent before the retry may be lost with it."""
    side = conversing(3)
    side.waits(4)
    assert attempts(side.sends()) == [(3, 1)]
    assert sent(side.receives(ack(1, attempt=1))) == [1, 2]


@pytest.mark.parametrize("held", [((0, 2**62),), ((5, 1),), ((-9, -1),), ((2**62, 2**63 - 1),)])
def test_absurd_lists_of_what_is_held(held: tuple[tuple[int, int], ...]) -> None:
    """Whatever a peer claims to hold costs no time, and is retried when its turn comes."""
    side = conversing(4)
    side.waits(4)
    side.receives(ack(1, attempt=1, held=held))
    assert side.dialog.acknowledged == (1, 0)
    assert attempts(side.waits(4)) == [(1, 1)]
