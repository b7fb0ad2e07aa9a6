"""The dialog protocol as a machine without I/O (reference, section 4).

A :class:`Machine` takes events of one dialog, in the order in which they were read, changes the
dialog that it was given and collects what is to be done about it as effects. It knows neither Kafka
nor a clock: ``now`` comes with it, positions in topics are plain numbers. What is in flight is the
matter of :mod:`~streams.protocol.sending`, what is stored of :mod:`~streams.protocol.receiving`;
here are the statements, the lock, and the moves of the state.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from streams.errors.events import EventKind
from streams.errors.numbers import Number
from streams.protocol.dialog import Dialog, Limits
from streams.protocol.effects import (
    Effect,
    Enqueue,
    EnqueueError,
    EnqueueTimer,
    Report,
    SendAck,
    SendError,
    undeliverable,
)
from streams.protocol.frames import (
    Ack,
    Acknowledgement,
    Flag,
    Header,
    Journey,
    Message,
    Parties,
    Status,
)
from streams.protocol.receiving import TIMER, Complete, Receiver
from streams.protocol.sending import Sender
from streams.protocol.states import REFUSALS, TRANSITIONS, Input, State

ADDRESSES = 64
"""What a copy says of its addresses is one byte on the wire as long as it is below this."""
SERVICE_DROPPED, END_DIALOG_RECEIVED, ERROR_RECEIVED, BROKER_ERROR_RECEIVED = 5, 7, 8, 9
END_ACKNOWLEDGED = 10


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a message that arrived may not be shown: the event's number, and the Error's (5.3)."""

    number: Number
    error: Number


def _accept(header: Header, body: bytes) -> Refusal | None:
    return None


@dataclass(slots=True)
class Machine:
    """Apply events to one dialog.

    ``read_frame`` returns the message at a position in ``in``; ``left_out`` is how far the local
    forwarder has come in ``out``, which holds retries back; ``broker_key`` returns the form in
    which broker ids are compared (U-02); ``judge`` says why a message that arrived whole may not be
    shown; ``queue_on`` whether the service's queue takes messages.
    """

    dialog: Dialog
    now: int
    limits: Limits
    left_out: int
    read_frame: Callable[[int], Message]
    broker_key: Callable[[str], str] = str
    judge: Callable[[Header, bytes], Refusal | None] = _accept
    queue_on: bool = True
    effects: list[Effect] = field(default_factory=list)
    owed: Ack | None = None
    _sender: Sender = field(init=False)
    _receiver: Receiver = field(init=False)

    def __post_init__(self) -> None:
        self._sender = Sender(self.dialog, self.now, self.limits, self.left_out, self.effects)
        self._receiver = Receiver(
            self.dialog, self.limits, self.read_frame, self.queue_on, self.effects
        )

    @property
    def touched_chunks(self) -> set[int]:
        """Return the numbers of the chunk records that this run has changed."""
        return self._sender.touched_chunks

    # --- what the application says ---------------------------------------------------------------

    def send(self, position: int, size: int = 0) -> Number | None:
        """Accept a message of ``size`` bytes; returns the error number that refuses it."""
        refused = self._statement(Input.SEND)
        if refused is None:
            self._sender.accept(position, self.limits.fragments(size))
        return refused

    def end(self, position: int, *, with_error: bool = False) -> Number | None:
        """END CONVERSATION [WITH ERROR]; the EndDialog or Error takes the next number."""
        unsent = self.dialog.state in (State.SO, State.DI, State.ER)
        refused = self._statement(Input.END_WITH_ERROR if with_error else Input.END)
        if refused is not None:
            return refused
        self._stop_listening()
        if unsent:
            self._sender.discard()
            self._close()
            return None
        if with_error:  # U-47: the Error skips everything that is not acknowledged
            self._sender.discard()
        self._sender.accept(position, 1)
        return None

    def cleanup(self) -> Number | None:
        """END CONVERSATION WITH CLEANUP: forget all of it, tell nobody."""
        refused = self._statement(Input.CLEANUP)
        if refused is None:
            self._stop_listening()
            self._sender.discard()
            self._close(tell=False)
        return refused

    def set_timer(self, seconds: int) -> Number | None:
        """BEGIN CONVERSATION TIMER: one per side; setting it again replaces it (4.9)."""
        due = self.now + seconds * 1000
        if seconds <= 0 or due > self.dialog.expires_at:
            return Number.TIMER_BEYOND_LIFETIME
        refused = self._statement(Input.TIMER)
        if refused is None:
            self.dialog.timer_at = due
        return refused

    def move(self, group: uuid.UUID) -> Number | None:
        """MOVE CONVERSATION: what arrives from now on belongs to another group."""
        refused = self._statement(Input.MOVE)
        if refused is None:
            self.dialog.group = group
        return refused

    def _statement(self, statement: Input) -> Number | None:
        return None if self._move(statement) else REFUSALS[statement]

    def _stop_listening(self) -> None:
        """Let nothing more into the queue: the application has ended, also what is parked goes."""
        dialog = self.dialog
        waiting = [number for number, _ in dialog.parked if number >= 0]
        if dialog.deaf_from is None:
            dialog.deaf_from = min([dialog.receive_sequence, *waiting])
        dialog.parked.clear()
        dialog.timer_at = None

    # --- what the other side says ----------------------------------------------------------------

    def message(self, message: Message, position: int) -> None:
        """Take a message frame that was read at ``position`` of ``in``."""
        header, journey = message.header, message.journey
        if not self._is_peer(message.parties, header, journey.attempt):
            return
        if not header.sequenced:
            self._peer_error(message, position, BROKER_ERROR_RECEIVED)
        elif self._receiver.is_duplicate(message):
            self._undeliverable(Number.DUPLICATE, message)
            if journey.attempt:  # our acknowledgement did not arrive: it tries another address
                self.dialog.unheard = (self.dialog.unheard + 1) % ADDRESSES
            self._answer_refused(message)
            self._owe(journey)
        elif self.dialog.state is State.CD:
            self._undeliverable(Number.ENDPOINT_CLOSED, message)
            # It acknowledges whatever still comes, in order or not (U-30).
            self.dialog.received = max(self.dialog.received, header.after)
            self._owe(journey)
        elif self.dialog.state is State.ER:
            # Not acknowledged: nobody will ever receive it.
            self._undeliverable(Number.NOT_IN_THIS_STATE, message)
            self._answer_refused(message)
        elif header.flags & Flag.SKIPS:
            self._receiver.skip_to(message)
            self._owe(journey)
            self._peer_error(message, position, ERROR_RECEIVED)
        else:
            stored = self._receiver.store(message, position)
            if stored is not None:
                self._take(stored)
                self._owe(journey)

    def acknowledgement(self, frame: Acknowledgement) -> None:
        """Take an acknowledgement frame: it locks, and it moves the window on."""
        ack, dialog = frame.ack, self.dialog
        if not self._is_peer(frame.parties, None, ack.attempt):
            return
        if ack.closed and not dialog.peer_closed:
            dialog.peer_closed = True
            if dialog.state is State.CD:
                dialog.forget_at, dialog.retry_at = self.now + self.limits.late, None
        if not self._sender.possible(ack):
            impossible = Number.IMPOSSIBLE_ACKNOWLEDGEMENT
            self.effects.append(Report(EventKind.MESSAGE_UNDELIVERABLE, 2, impossible))
        elif ack.next > dialog.acknowledged:
            self._sender.progress(ack)
            if dialog.all_acknowledged and self._move(Input.LAST_ACKNOWLEDGED):
                self._close()
                self._report_state(END_ACKNOWLEDGED)
        if dialog.is_initiator and dialog.state is State.CD and self.owed is None:
            self._owe_closed(ack.attempt, ack.first_hop)  # somebody asks

    def status(self, status: Status) -> None:
        """Note why the local forwarder could not send a copy."""
        self._sender.refused(status)

    # --- what time and the catalog say -----------------------------------------------------------

    def due(self) -> None:
        """Do what is due by now: end of life, a timer, a retry."""
        dialog = self.dialog
        if dialog.expires_at <= self.now and self._move(Input.EXPIRED):
            self._fail(Number.LIFETIME_EXCEEDED)
            self._report_state(0, Number.LIFETIME_EXCEEDED)
        if dialog.timer_at is not None and dialog.timer_at <= self.now:
            dialog.timer_at = None
            self._enqueue_own(TIMER)
        if dialog.retry_at is not None and dialog.retry_at <= self.now:
            if dialog.state is State.CD:
                self._ask()
            else:
                self._sender.retry()

    def wake(self, probe_after: int) -> None:
        """Look again after a catalog change: the queue may be on, a route may be there.

        What waits for a route tries in ``probe_after`` milliseconds.
        """
        dialog = self.dialog
        if dialog.status and dialog.retry_at is not None:
            dialog.retry_at = min(dialog.retry_at, self.now + probe_after)
        if self.queue_on:
            for item in self._receiver.unpark():
                if isinstance(item, Complete):
                    self._show(item.message)
                else:
                    self._enqueue_own(item)
            expected = dialog.received
            self._take(self._receiver.resume())
            if dialog.received != expected:
                self.owed = self._receiver.acknowledgement(self.now, 0, dialog.first_hop)

    def broker_error(self, number: Number, told: Number | None = None) -> None:
        """End with an Error of the broker's own, and tell the other side if it has a number."""
        if self._move(Input.BROKER_ERROR):
            if told is not None:
                self._tell_peer(told, 0)
                self.dialog.refusal = int(told)
            self._fail(number)
            self._report_state(0, number)

    def service_dropped(self) -> None:
        """Go with the service: nobody is left to be told here, the other side is (-8470)."""
        if self._move(Input.CLEANUP):
            self._tell_peer(Number.SERVICE_DROPPED_THERE, 0)
            self._stop_listening()
            self._sender.discard()
            self._close(tell=False)
            self._report_state(SERVICE_DROPPED, Number.SERVICE_DROPPED_HERE)

    @property
    def forgotten(self) -> bool:
        """Tell whether nothing of the endpoint needs to be kept any more."""
        return self.dialog.forget_at is not None and self.dialog.forget_at <= self.now

    def finish(self) -> None:
        """Close the run: one acknowledgement stands for all that arrived."""
        if self.owed is not None:
            self.effects.append(SendAck(self.owed))
            self.owed = None

    # --- the lock --------------------------------------------------------------------------------

    def _is_peer(self, parties: Parties, header: Header | None, attempt: int) -> bool:
        """Lock the broker id with the first frame; refuse any other broker after it (3.3, 3.4)."""
        dialog, broker = self.dialog, parties.from_broker
        key = self.broker_key
        if dialog.far_broker is not None and key(dialog.far_broker) == key(broker):
            if not dialog.locked:
                self._lock(broker)
            if not dialog.is_initiator and parties.locked:
                dialog.confirmed = True
            return True
        if dialog.is_initiator and not dialog.locked and dialog.far_broker is None:
            self._lock(broker)
            return True
        is_broker_error = header is not None and not header.sequenced
        another = Number.ANOTHER_INSTANCE_CONVERSES
        self.effects.append(undeliverable(another, header, attempt, broker))
        if dialog.is_initiator and not is_broker_error:  # a broker Error is never answered
            self.effects.append(SendError(Number.ANOTHER_INSTANCE_ACKNOWLEDGED, broker, attempt))
        return False

    def _lock(self, broker: str) -> None:
        dialog = self.dialog
        dialog.far_broker, dialog.locked, dialog.confirmed = broker, True, True
        self.effects.append(Report(EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT, 4, from_broker=broker))

    # --- messages for the application ------------------------------------------------------------

    def _take(self, arrived: Iterator[Complete]) -> None:
        """Take whole messages; only a conversing endpoint shows them to its queue."""
        dialog = self.dialog
        for complete in arrived:
            message = complete.message
            if dialog.state is State.SI:
                self._move(Input.FIRST_MESSAGE)
            if dialog.state is not State.CO:
                self._ended_by(message)
                continue
            refusal = self.judge(message.header, message.body)
            if refusal is not None:
                self._refuse(message, refusal)
                return
            if self._receiver.parks:
                self._receiver.park(message.header.sequence, complete.positions)
            else:
                self._show(message)
            self._ended_by(message)

    def _show(self, message: Message) -> None:
        self.effects.append(Enqueue(message.header, message.body, message.journey))

    def _ended_by(self, message: Message) -> None:
        if message.header.flags & Flag.END and self._move(Input.PEER_ENDED):
            if self.dialog.state is State.DI:
                self._sender.stop()
            self._report_state(END_DIALOG_RECEIVED)

    def _refuse(self, message: Message, refusal: Refusal) -> None:
        """Acknowledge but do not show: the dialog ends in error on both sides (5.3)."""
        dialog = self.dialog
        self._undeliverable(refusal.number, message)
        dialog.deaf_from = message.header.sequence
        dialog.refusal = int(refusal.error)
        self._move(Input.REFUSED)
        self._tell_peer(refusal.error, message.journey.attempt)
        self._fail(refusal.error)
        self._report_state(0, refusal.error)

    def _peer_error(self, message: Message, position: int, subclass: int) -> None:
        header = message.header
        if not header.flags & Flag.ERROR or not self._move(Input.PEER_ERROR):
            return
        if self.dialog.state is not State.ER:
            self._fail()
        else:
            self._receiver.forget_incomplete()
            self._sender.stop()
            if self._receiver.parks:
                number = header.sequence if header.sequenced else self.dialog.receive_sequence
                self._receiver.park(number, (position,))
            else:
                self._show(message)
        self._report_state(subclass)

    def _fail(self, number: Number | None = None) -> None:
        """Do what every error does: nothing more is sent or received, the application is told."""
        self._receiver.forget_incomplete()
        if self.dialog.state is not State.ER:  # the application has ended: nobody is left to tell
            self._sender.discard()
            self._close()
            return
        self._sender.stop()
        if number is not None:
            self._enqueue_own(-number)

    def _enqueue_own(self, what: int) -> None:
        """Enqueue a DialogTimer or an Error of our own (TIMER, or a negative number)."""
        if self._receiver.parks:
            self._receiver.park_own(what)
        elif what == TIMER:
            self.effects.append(EnqueueTimer())
        else:
            self.effects.append(EnqueueError(Number(-what)))

    # --- answers ---------------------------------------------------------------------------------

    def _answer_refused(self, message: Message) -> None:
        """Repeat the Error to a peer that may not have heard it: it is not retried by itself."""
        if self.dialog.state is State.ER and self.dialog.refusal:
            self._tell_peer(Number(self.dialog.refusal), message.journey.attempt)

    def _tell_peer(self, number: Number, attempt: int) -> None:
        broker = self.dialog.far_broker
        if broker is not None:
            self.effects.append(SendError(number, broker, attempt))

    def _owe(self, journey: Journey) -> None:
        closed = self.dialog.is_initiator and self.dialog.state is State.CD
        attempt, first_hop = journey.attempt, journey.first_hop
        self.owed = self._receiver.acknowledgement(self.now, attempt, first_hop, closed=closed)

    def _close(self, *, tell: bool = True) -> None:
        """Keep the key of a closed endpoint for as long as a copy of its dialog may still come."""
        dialog, limits = self.dialog, self.limits
        dialog.closed_at, dialog.timer_at = self.now, None
        self._receiver.forget_incomplete()
        dialog.received = (dialog.received[0], 0)
        if dialog.is_initiator:
            dialog.forget_at = self.now + limits.closed_initiator
            if tell and dialog.send_sequence:
                provoked = self.owed or Ack(0, first_hop=dialog.first_hop)
                self._owe_closed(provoked.attempt, provoked.first_hop)
        elif dialog.peer_closed:
            dialog.forget_at = self.now + limits.late
        else:
            dialog.forget_at = max(dialog.expires_at, self.now + limits.late)
            dialog.attempt, dialog.retry_at = 0, self.now + limits.ask_after(0)

    def _owe_closed(self, attempt: int, first_hop: int) -> None:
        """Say that nothing of the dialog is unacknowledged here, and nothing will be sent again."""
        self.owed = self._receiver.acknowledgement(self.now, attempt, first_hop, closed=True)

    def _ask(self) -> None:
        """Repeat the last acknowledgement: an initiator that is closed answers that it is.

        It says so once by itself; where that is lost, the key here would be kept for the lifetime.
        """
        dialog = self.dialog
        dialog.attempt += 1
        dialog.unheard = (dialog.unheard + 1) % ADDRESSES
        dialog.retry_at = self.now + self.limits.ask_after(dialog.attempt)
        self.owed = self._receiver.acknowledgement(self.now, 0, dialog.first_hop)

    def _undeliverable(self, number: Number, message: Message) -> None:
        attempt, broker = message.journey.attempt, message.parties.from_broker
        self.effects.append(undeliverable(number, message.header, attempt, broker))

    def _report_state(self, subclass: int, error: int = 0) -> None:
        self.effects.append(Report(EventKind.CONVERSATION, subclass, error))

    def _move(self, happened: Input) -> bool:
        """Move the state by the table; tells whether the table has the row."""
        state = TRANSITIONS.get((self.dialog.state, happened))
        if state is None:
            return False
        self.dialog.state = state
        return True
