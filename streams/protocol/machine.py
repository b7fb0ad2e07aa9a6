"""The dialog protocol as a machine without I/O (reference, section 4).

A :class:`Machine` processes events of one dialog in the order in which they were read. It changes
the dialog and collects effects. The machine uses neither Kafka nor a clock: ``now`` is an argument,
and positions in topics are plain numbers. This module handles statements, frames and timers. Other
modules make the decisions:

    lock        whose frames are accepted
    sending     what is in flight, and retried
    receiving   what is stored, and acknowledged
    parking     what is enqueued, or waits for the queue
    ending      how a dialog ends, and what is kept of it
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from streams.errors.event_kinds import ConversationEvent, EventKind
from streams.errors.numbers import Number
from streams.protocol.dialog import EVERYTHING, Dialog
from streams.protocol.effects import Effect, Report, SendAck, not_kept
from streams.protocol.ending import Ending, RefusalNumbers
from streams.protocol.frames import UNPROVOKED, Acknowledgement, Flag, Header, Message, Status
from streams.protocol.limits import Limits
from streams.protocol.lock import Lock
from streams.protocol.parking import TIMER, Parking
from streams.protocol.receiving import Complete, Receiver
from streams.protocol.sending import Sender
from streams.protocol.states import REFUSALS, TRANSITIONS, Input, State, move_state


def _accept(header: Header, body: bytes) -> RefusalNumbers | None:
    return None


@dataclass(slots=True)
class Machine:
    """Apply events to one dialog.

    ``read_frame`` returns the message at a position in ``in``. ``left_out`` is the local
    forwarder's position in ``out``; a retry waits until the previous copy is before it.
    ``broker_key`` returns the comparable form of broker ids (U-02). ``judge`` returns the reason
    why a complete message must not be delivered, or ``None``. ``rests`` returns whether to leave
    further buffered messages to the next transaction. ``queue_on``: whether the service's queue
    accepts messages. ``at_once``: whether a message is transmitted as soon as it is accepted.
    ``heeded``: whether the catalog's changes to the dialog's database have been applied.
    ``applied_until``: all records appended to ``in`` up to this time have been applied.
    """

    dialog: Dialog
    now: int
    limits: Limits
    left_out: int
    read_frame: Callable[[int], Message]
    broker_key: Callable[[str], str] = str
    judge: Callable[[Header, bytes], RefusalNumbers | None] = _accept
    queue_on: bool = True
    at_once: bool = True
    heeded: bool = False
    applied_until: int = EVERYTHING
    rests: Callable[[], bool] = bool  # never
    effects: list[Effect] = field(default_factory=list)
    _lock: Lock = field(init=False)
    _sender: Sender = field(init=False)
    _receiver: Receiver = field(init=False)
    _parking: Parking = field(init=False)
    _ending: Ending | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        dialog, now, limits, effects = self.dialog, self.now, self.limits, self.effects
        self._lock = Lock(dialog, self.broker_key, effects)
        self._sender = Sender(dialog, now, limits, self.left_out, effects, self.at_once)
        self._parking = Parking(dialog, self.read_frame, self.queue_on, effects)
        self._receiver = Receiver(
            dialog, now, limits, self.read_frame, self._parking, self.rests, effects
        )

    @property
    def ending(self) -> Ending:
        """Return the object that ends the dialog, created on demand because most runs need none."""
        if self._ending is None:
            parts = self._sender, self._receiver, self._parking
            self._ending = Ending(self.dialog, self.now, self.limits, *parts, self.effects)
        return self._ending

    @property
    def touched_chunks(self) -> set[int]:
        """Return the numbers of the chunk records that this run has changed."""
        return self._sender.touched_chunks

    # --- statements of the application -----------------------------------------------------------

    @property
    def may_send(self) -> bool:
        """Return whether the state allows SEND."""
        return (self.dialog.state, Input.SEND) in TRANSITIONS

    def send(self, position: int, size: int = 0) -> Number | None:
        """Accept a message of ``size`` bytes; return the error number if it is rejected."""
        refused = self._statement(Input.SEND)
        if refused is None:
            self._sender.accept(position, self.limits.fragments(size))
        return refused

    def end(self, position: int, *, with_error: bool = False) -> Number | None:
        """END CONVERSATION [WITH ERROR]: send an EndDialog or Error with the next number."""
        unsent = self.dialog.state in (State.SO, State.DI, State.ER)
        refused = self._statement(Input.END_WITH_ERROR if with_error else Input.END)
        if refused is None:
            self.ending.end(position, unsent=unsent, with_error=with_error)
        return refused

    def cleanup(self) -> Number | None:
        """END CONVERSATION WITH CLEANUP: remove the dialog without notifying the other side."""
        refused = self._statement(Input.CLEANUP)
        if refused is None:
            self.ending.forget()
        return refused

    def set_timer(self, seconds: int) -> Number | None:
        """BEGIN CONVERSATION TIMER: set this side's only timer, replacing an earlier one (4.9)."""
        due = self.now + seconds * 1000
        if seconds <= 0 or due > self.dialog.expires_at:
            return Number.TIMER_BEYOND_LIFETIME
        refused = self._statement(Input.TIMER)
        if refused is None:
            self.dialog.timer_at = due
        return refused

    def move(self, group: uuid.UUID) -> Number | None:
        """MOVE CONVERSATION: put later messages into another group."""
        refused = self._statement(Input.MOVE)
        if refused is None:
            self.dialog.group = group
        return refused

    def _statement(self, statement: Input) -> Number | None:
        return None if move_state(self.dialog, statement) else REFUSALS[statement]

    # --- frames of the other side ----------------------------------------------------------------

    def message(self, message: Message, position: int) -> None:
        """Process a message frame that was read at ``position`` of ``in``."""
        header, journey = message.header, message.journey
        if self._lock.waits(message, self.now, self.limits.retries[0]):
            return
        if not self._lock.admits(message.parties, header, journey.attempt):
            return
        if self.dialog.state is State.CO and self._receiver.follows(message):  # nearly always
            self._receiver.store_next(header, journey)
            self._show(message, (position,))
        elif not self._receiver.takes(message):
            self._undeliverable(Number.MESSAGE_TOO_LARGE, message)
        elif not header.sequenced:
            self.ending.peer_error(message, position, ConversationEvent.BROKER_ERROR_RECEIVED)
        elif self._receiver.is_duplicate(message):
            self._undeliverable(Number.DUPLICATE, message)
            if journey.attempt:  # our acknowledgement was lost: try another address
                self.dialog.count_lost_acks()
            self.ending.repeat_refusal(message)
            self._owe(message)
        elif self.dialog.state is State.CD:
            if self.ending.reject_late(message):
                self._owe(message)
        elif self.dialog.state is State.ER:  # counts as not received, so not acknowledged
            self._undeliverable(Number.NOT_IN_THIS_STATE, message)
            self.ending.repeat_refusal(message)
        elif header.is_a(Flag.SKIPS):
            self._receiver.skip_to(message)
            self._owe(message)
            self.ending.peer_error(message, position, ConversationEvent.ERROR_RECEIVED)
        else:
            stored = self._receiver.store(message, position)
            if stored is not None:
                self._take(stored)
                self._owe(message)

    def acknowledgement(self, frame: Acknowledgement) -> bool:
        """Lock to the sender, advance the window; return whether the frame is from the other side.

        An unprovoked acknowledgement that acknowledges nothing new reports that the receiver has
        room again for a message that did not fit. No copy provokes such a report, so a retry cannot
        trigger another retry.
        """
        ack, dialog, attempt = frame.ack, self.dialog, max(0, frame.ack.attempt)
        if not self._lock.admits(frame.parties, None, attempt):
            return False
        if ack.closed:
            self.ending.peer_closed()
        if not self._sender.possible(ack):
            impossible = Number.IMPOSSIBLE_ACKNOWLEDGEMENT
            self.effects.append(Report(EventKind.MESSAGE_UNDELIVERABLE, 2, impossible))
        elif ack.next > dialog.acknowledged:
            self._sender.progress(ack)
            if dialog.all_acknowledged and move_state(dialog, Input.LAST_ACKNOWLEDGED):
                self.ending.close()
                self.ending.report(ConversationEvent.END_ACKNOWLEDGED)
        elif ack.attempt == UNPROVOKED and ack.next == dialog.acknowledged and dialog.is_retrying:
            self._sender.retry()
        if dialog.is_initiator and dialog.state is State.CD and self._receiver.owed is None:
            self._receiver.owe(attempt, ack.first_hop)  # the target asks if this side is closed
        return True

    def status(self, status: Status) -> None:
        """Store why the local forwarder could not send a copy."""
        self._sender.refused(status)

    # --- timers and catalog changes --------------------------------------------------------------

    def due(self) -> None:
        """Process the events that are due: the end of the lifetime, a timer, or a retry."""
        dialog = self.dialog
        if dialog.expires_at <= self.now and move_state(dialog, Input.EXPIRED):
            self.ending.fail(Number.LIFETIME_EXCEEDED)
        if dialog.timer_at is not None and dialog.timer_at <= self.now:
            dialog.timer_at = None
            self._parking.show_own(TIMER)
        if dialog.retry_at is not None and dialog.retry_at <= self.now:
            if dialog.state is State.CD:
                self.ending.ask()
            else:
                self._sender.retry()

    def wake(self, probe_after: int) -> None:
        """Re-evaluate after a catalog change: the queue may be on now, or a route may exist.

        Messages that wait for a route are retried in ``probe_after`` milliseconds. A sender whose
        messages did not fit while the queue was off is notified that there is room again, because
        its next retry could be a minute away.
        """
        dialog = self.dialog
        if dialog.status and dialog.retry_at is not None:
            dialog.retry_at = min(dialog.retry_at, self.now + probe_after)
        if self.queue_on:
            parked = any(number >= 0 for number, _ in dialog.parked)
            self._parking.unpark()
            expected = dialog.received
            self._take(self._receiver.resume())
            if dialog.received != expected:
                self._receiver.owe(0, dialog.first_hop)
            elif parked:
                self._receiver.owe(UNPROVOKED, dialog.first_hop)

    @property
    def shows_stored(self) -> bool:
        """Return whether :meth:`wake` would deliver messages that are parked or next in order."""
        return self.queue_on and (bool(self.dialog.parked) or self.dialog.continues)

    def fill_window(self, most: int) -> None:
        """Transmit up to ``most`` of the fragments that wait for the window."""
        self._sender.fill_window(most)

    def retry(self) -> int:
        """Retry now; return the number of messages that may be sent again."""
        return self._sender.retry_now()

    @property
    def forgotten(self) -> bool:
        """Return whether to remove the key: it is due, and ``in`` was applied up to that time."""
        forget_at = self.dialog.forget_at
        return forget_at is not None and forget_at <= min(self.now, self.applied_until)

    def finish(self) -> None:
        """Finish the run with a single acknowledgement for everything that arrived."""
        ack = self._receiver.acknowledgement()
        if ack is not None:
            self.effects.append(SendAck(ack))

    # --- messages for the application ------------------------------------------------------------

    def _take(self, arrived: Iterator[Complete]) -> None:
        """Accept complete messages; only a conversing endpoint delivers them to its queue."""
        dialog = self.dialog
        for complete in arrived:
            message = complete.message
            if dialog.state is State.SI:
                move_state(dialog, Input.FIRST_MESSAGE)
            if dialog.state is State.CO and not self._show(message, complete.positions):
                return
            if message.header.is_a(Flag.END):
                self.ending.peer_ended()

    def _show(self, message: Message, positions: tuple[int, ...]) -> bool:
        """Deliver a complete message to the queue; return ``False`` if it is rejected."""
        refusal = self.judge(message.header, message.body)
        if refusal is not None:
            self.ending.refuse(message, refusal)
            return False
        self._parking.show(message, message.header.sequence, positions)
        return True

    def _owe(self, message: Message) -> None:
        self._receiver.owe(message.journey.attempt, message.journey.first_hop)

    def _undeliverable(self, number: Number, message: Message) -> None:
        self.effects.append(not_kept(number, message))
