"""Order, duplicates, the lock, and who is answered what."""

from __future__ import annotations

import pytest

from streams.errors import EventKind
from streams.protocol import Acknowledgement, Flag, Limits, Message, Report, State, Status
from tests.node.evidence import shows

from .build import (
    INITIATOR_BROKER,
    LIFETIME,
    OTHER_BROKER,
    TARGET_BROKER,
    Frame,
    ack,
    acked,
    answers,
    broker_error,
    conversing,
    initiator,
    message,
    queued,
    runs,
    target,
    undeliverable,
)


def from_another_broker(frame: Message | Acknowledgement) -> Message | Acknowledgement:
    """Return a frame that differs from the other side's only in its broker id."""
    return frame._replace(parties=frame.parties._replace(from_broker=OTHER_BROKER))


# --- order and duplicates ------------------------------------------------------------------------


@shows("D1.1")
def test_messages_in_order() -> None:
    """Messages are handed on in ascending order; one acknowledgement stands for all of a run."""
    side = target()
    effects = side.receives(message(0), message(1), message(2))
    assert queued(effects) == [0, 1, 2]
    got = acked(effects)
    assert got is not None
    assert (got.next_sequence, got.highest_seen) == (3, 2)


@shows("D1.2")
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_duplicate_is_acknowledged_again(copies: int) -> None:
    """The receiver acknowledges a duplicate again but does not enqueue it: event 160, 11218."""
    side = target()
    side.receives(message(0), message(1))
    effects = side.receives(*[message(0)] * copies)
    assert queued(effects) == []
    assert undeliverable(effects) == [11218] * copies
    got = acked(effects)
    assert got is not None
    assert got.next_sequence == 2


@shows("D1.3")
def test_out_of_order_messages_are_kept() -> None:
    """What arrives too early is kept until the gap closes, and acknowledged as seen."""
    side = target()
    effects = side.receives(message(2), message(1))
    assert queued(effects) == []
    got = acked(effects)
    assert got is not None
    assert (got.next_sequence, got.highest_seen) == (0, 2)
    effects = side.receives(message(0))
    assert queued(effects) == [0, 1, 2]
    assert acked(effects).next_sequence == 3  # type: ignore[union-attr]
    assert not side.dialog.held


def test_one_event_delivers_a_limited_run_of_what_is_held() -> None:
    """Each body may need validation: a thousand of them are too much for one transaction."""
    side = target(limits=Limits(run=2))
    side.receives(*[message(n) for n in range(1, 6)])
    effects = side.receives(message(0))
    assert (queued(effects), side.dialog.continues) == ([0, 1], True)
    got = acked(effects)
    assert got is not None
    assert (got.next_sequence, got.held) == (2, runs((2, 5)))
    assert undeliverable(side.receives(message(2))) == [11218]
    effects = side.continues()
    assert (queued(effects), side.dialog.continues) == ([2, 3], True)
    assert acked(effects).next_sequence == 4  # type: ignore[union-attr]
    assert queued(side.continues()) == [4, 5]
    assert not side.dialog.continues
    assert queued(side.receives(message(6))) == [6]


def test_a_copy_of_what_is_held_does_not_lengthen_a_run() -> None:
    side = target()
    side.receives(*[message(n) for n in range(1, 60)])
    alone = list(side.dialog.follow({(0, 0): 1}, 32))
    assert list(side.dialog.follow({(0, 0): 1, (33, 0): 1}, 32)) == alone == [*range(32)]


@pytest.mark.parametrize("flags", [Flag.ERROR | Flag.UNSEQUENCED, Flag.ERROR | Flag.SKIPS])
def test_an_error_of_any_size_is_no_message_for_the_queue(flags: Flag) -> None:
    """30 Errors of a megabyte, larger still in the queue, aborted 126 transactions."""
    side = target()
    error = message(0, flags=flags)
    large = error._replace(body=b"x" * (side.limits.frame + 1))
    effects = side.receives(large)
    assert undeliverable(effects) == [8459]
    assert queued(effects) == []
    assert (acked(effects), side.dialog.state) == (None, State.CO)


@pytest.mark.parametrize("queue_on", [True, False])
@pytest.mark.parametrize("flags", [Flag.ERROR | Flag.UNSEQUENCED, Flag.ERROR | Flag.SKIPS])
def test_an_error_in_fragments_does_not_end_the_dialog(flags: Flag, *, queue_on: bool) -> None:
    """Parked, it would wait for its other fragments after the dialog has ended."""
    side = target(queue_on=queue_on)
    effects = side.receives(message(0, flags=flags, fragments=2))
    assert undeliverable(effects) == [8459]
    assert (acked(effects), side.dialog.state, side.dialog.parked) == (None, State.CO, [])


@shows("U-26")
def test_an_acknowledgement_lists_what_is_held() -> None:
    """Runs of numbers that are stored out of order, the lowest first, and no more than eight."""
    side = target()
    got = acked(side.receives(message(2), message(6), message(3), message(4)))
    assert got is not None
    assert (got.highest_seen, got.held) == (6, runs((2, 4), (6, 6)))
    got = acked(side.receives(*[message(n) for n in range(8, 40, 2)]))
    assert got is not None
    assert len(got.held) == 8
    assert got.held[:3] == runs((2, 4), (6, 6), (8, 8))


def test_a_duplicate_of_what_is_held() -> None:
    """A second copy of a message that waits for its turn is a duplicate too."""
    side = target()
    side.receives(message(2))
    assert undeliverable(side.receives(message(2))) == [11218]
    assert queued(side.receives(message(0), message(1))) == [0, 1, 2]


@shows("D1.4")
def test_beyond_the_window_nothing_can_be_kept() -> None:
    """What cannot be kept is out of sequence: event 160, 11217, no acknowledgement."""
    side = target(limits=Limits(window=4, wider=1))
    effects = side.receives(message(4))
    assert undeliverable(effects) == [11217]
    assert acked(effects) is None
    assert acked(side.receives(message(3))) is not None


# --- the lock ------------------------------------------------------------------------------------


@shows("D3.1")
@pytest.mark.parametrize(
    "frame",
    [ack(1), message(0, broker=TARGET_BROKER), message(5, broker=TARGET_BROKER)],
    ids=["acknowledgement", "message", "message out of order"],
)
def test_the_first_frame_of_any_kind_locks(frame: object) -> None:
    """The id that the first acknowledgement or message carries becomes the far broker id."""
    side = conversing()
    effects = side.receives(frame)  # type: ignore[arg-type]
    assert side.dialog.far_broker == TARGET_BROKER
    assert side.dialog.locked
    assert side.dialog.parties.to_broker == TARGET_BROKER
    assert side.dialog.parties.locked
    told = [e for e in effects if isinstance(e, Report)]
    assert (EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT, 4) in [(e.kind, e.subclass) for e in told]


@shows("D3.2")
@pytest.mark.parametrize(
    "frame",
    [ack(1, broker=OTHER_BROKER, attempt=2), message(0, broker=OTHER_BROKER, attempt=2)],
    ids=["acknowledgement", "message"],
)
def test_any_other_broker_is_refused(frame: object) -> None:
    """The endpoint is not changed, and an error (8495) goes to the broker that is not the one."""
    side = conversing(2)
    side.receives(ack(1))
    before = side.dialog.copy()
    effects = side.receives(frame)  # type: ignore[arg-type]
    assert side.dialog == before
    assert undeliverable(effects) == [11224]
    assert [(e.number, e.to_broker, e.attempt) for e in answers(effects)] == [
        (8495, OTHER_BROKER, 2)
    ]
    assert acked(effects) is None


@shows("D3.2")
def test_a_broker_id_given_at_begin_is_as_good_as_a_lock() -> None:
    """A conversation begun with a broker id talks to that broker alone."""
    side = conversing()
    side.dialog.far_broker = TARGET_BROKER
    assert undeliverable(side.receives(ack(1, broker=OTHER_BROKER))) == [11224]
    assert not side.dialog.locked
    side.receives(ack(1))
    assert side.dialog.locked


@shows("U-02")
def test_broker_ids_are_compared_as_guids() -> None:
    """Two spellings of one GUID are one broker."""
    side = conversing()
    side.dialog.far_broker = TARGET_BROKER.lower()
    assert undeliverable(side.receives(ack(1))) == [11224]  # as they are written
    side.broker_key = str.casefold
    assert undeliverable(side.receives(ack(1))) == []
    assert side.dialog.acknowledged == (1, 0)


@shows("D3.3")
def test_a_broker_error_is_never_answered() -> None:
    """An Error of a broker that is not the locked one is ignored, whatever it says."""
    side = conversing()
    side.receives(ack(1))
    effects = side.receives(broker_error(broker=OTHER_BROKER))
    assert answers(effects) == []
    assert acked(effects) is None
    assert side.dialog.state is State.CO


@shows("D3.4")
@pytest.mark.parametrize("frame", [ack(0, broker=INITIATOR_BROKER), message(0)])
def test_a_target_belongs_to_the_broker_that_created_it(
    frame: Message | Acknowledgement,
) -> None:
    """The same conversation id from another broker: event 160, no acknowledgement, no answer."""
    side = target()
    before = side.dialog.copy()
    effects = side.receives(from_another_broker(frame))
    assert side.dialog == before
    assert undeliverable(effects) == [11224]
    assert acked(effects) is None
    assert answers(effects) == []


@shows("D3.4")
def test_a_closed_key_belongs_to_that_broker_too() -> None:
    """A closed endpoint acknowledges what its own initiator says, and nobody else."""
    side = target()
    side.receives(message(0))
    side.receives(message(1, flags=Flag.END))
    side.ends()
    effects = side.receives(from_another_broker(message(0)))
    assert (undeliverable(effects), acked(effects)) == ([11224], None)
    assert acked(side.receives(message(0))) is not None


@shows("D3.5")
@pytest.mark.parametrize("far_broker", [None, TARGET_BROKER])
@pytest.mark.parametrize(
    "frame",
    [ack(1), ack(1, closed=True), message(0, broker=TARGET_BROKER), broker_error()],
    ids=["acknowledgement", "closed", "message", "error"],
)
def test_a_frame_of_another_service_changes_nothing(frame: Frame, far_broker: str | None) -> None:
    """It is not answered, and the frame of the dialog's own service still locks the broker id."""
    side = conversing()
    side.dialog.far_broker = far_broker
    before = side.dialog.copy()
    assert not isinstance(frame, Status)
    forged = frame._replace(parties=frame.parties._replace(from_service="AnotherService"))
    effects = side.receives(forged)
    assert side.dialog == before
    assert undeliverable(effects) == [11224]
    assert (answers(effects), acked(effects)) == ([], None)
    side.receives(ack(1))
    assert side.dialog.locked
    assert side.dialog.acknowledged == (1, 0)


@shows("D3.5")
def test_a_target_takes_nothing_from_another_service() -> None:
    """A broker id alone does not identify the initiator."""
    side = target()
    before = side.dialog.copy()
    route = message(0).parties._replace(from_service="initiatorservice")  # binary comparison
    effects = side.receives(message(0)._replace(parties=route))
    assert side.dialog == before
    assert undeliverable(effects) == [11224]
    assert (queued(effects), acked(effects)) == ([], None)


# --- Errors --------------------------------------------------------------------------------------


@shows("D4.4")
def test_a_broker_error_ends_the_conversation() -> None:
    """An Error from the peer's broker: ERROR, in the queue, nothing is retried any more."""
    side = conversing(3)
    effects = side.receives(broker_error())
    assert side.dialog.state is State.ER
    assert queued(effects) == [0]
    assert side.dialog.retry_at is None
    assert side.dialog.status == 9784  # kept until the application ends the dialog
    side.ends()
    assert not side.dialog.chunks
    assert acked(effects) is None  # unsequenced: nothing to acknowledge


def test_a_broker_error_is_taken_once() -> None:
    """Broker Errors are regenerated as retries provoke them; the queue gets one."""
    side = conversing()
    assert queued(side.receives(broker_error(), broker_error())) == [0]


def test_an_unsequenced_frame_without_the_error_flag_means_nothing() -> None:
    """Only Errors are unsequenced messages."""
    side = initiator(State.CO)
    assert side.receives(message(0, flags=Flag.UNSEQUENCED, broker=TARGET_BROKER))[1:] == []
    assert side.dialog.state is State.CO


def test_an_endpoint_in_error_holds_nothing() -> None:
    """What waited for a gap that nobody will close pins no position in ``in`` any more."""
    side = conversing()
    side.receives(message(3, broker=TARGET_BROKER))
    side.receives(broker_error())
    assert side.dialog.state is State.ER
    assert not side.dialog.held
    side = target()
    side.receives(message(3))
    side.waits(LIFETIME / 1000)
    assert side.dialog.state is State.ER
    assert not side.dialog.held
