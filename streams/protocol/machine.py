"""The dialog protocol as a machine without I/O (reference, section 4).

A :class:`Machine` takes events of one dialog, in the order in which they were read, changes the
dialog that it was given and collects what is to be done about it as :class:`Effect` values. It
knows neither Kafka nor a clock: ``now`` comes with it, positions in topics are plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streams.errors.events import EventKind
from streams.errors.numbers import Number
from streams.protocol.dialog import HELD_RUNS, Dialog, Limits
from streams.protocol.frames import Ack, Acknowledgement, Flag, Header, Journey, Message, Status
from streams.protocol.states import REFUSALS, TRANSITIONS, Input, State

ADDRESSES = 64
"""The first-hop index is one byte on the wire; it counts modulo the number of addresses."""
END_DIALOG_RECEIVED, ERROR_RECEIVED, BROKER_ERROR_RECEIVED, END_ACKNOWLEDGED = 7, 8, 9, 10


@dataclass(frozen=True, slots=True)
class Transmit:
    """Send a copy of the message with this number; its command is at ``position`` in ``cmd``."""

    sequence: int
    position: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Put a message into the service's queue; ``journey`` is unknown for what was made here."""

    header: Header
    body: bytes
    journey: Journey | None


@dataclass(frozen=True, slots=True)
class EnqueueError:
    """Put an Error made by the broker itself into the service's queue (Code = -number)."""

    number: Number


@dataclass(frozen=True, slots=True)
class SendAck:
    """Send an acknowledgement frame."""

    ack: Ack


@dataclass(frozen=True, slots=True)
class SendError:
    """Answer a frame with an unsequenced broker Error, addressed to the broker that sent it."""

    number: Number
    to_broker: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Report:
    """Emit an event."""

    kind: EventKind
    subclass: int = 0
    error: Number | int = 0
    header: Header | None = None
    attempt: int | None = None
    from_broker: str | None = None


Effect = Transmit | Enqueue | EnqueueError | SendAck | SendError | Report


@dataclass(slots=True)
class Machine:
    """Apply events to one dialog.

    ``read_held`` returns the message at a position in ``in``; ``left_out`` is how far the local
    forwarder has come in ``out`` (its committed position), which holds retries back (rule: never
    while the previous copy is still ahead of it). ``broker_key`` returns the form in which broker
    ids are compared (U-02).
    """

    dialog: Dialog
    now: int
    limits: Limits
    left_out: int
    read_held: Callable[[int], Message]
    broker_key: Callable[[str], str] = str
    effects: list[Effect] = field(default_factory=list)
    touched_chunks: set[int] = field(default_factory=set)
    owed: Ack | None = None

    # --- what the application says ---------------------------------------------------------------

    def send(self, position: int) -> Number | None:
        """Accept a message from the application; returns the error number that refuses it."""
        refused = self._statement(Input.SEND)
        if refused is None:
            self._accept(position)
        return refused

    def end(self, position: int, *, with_error: bool = False) -> Number | None:
        """END CONVERSATION [WITH ERROR]; the EndDialog or Error takes the next number."""
        unsent = self.dialog.state in (State.SO, State.DI, State.ER)
        refused = self._statement(Input.END_WITH_ERROR if with_error else Input.END)
        if refused is not None:
            return refused
        if unsent:
            self._discard_unacknowledged()
            self._close()
            return None
        if with_error:  # U-47: the Error skips everything that is not acknowledged
            self._discard_unacknowledged()
        self._accept(position)
        return None

    def cleanup(self) -> Number | None:
        """END CONVERSATION WITH CLEANUP: forget all of it, tell nobody."""
        refused = self._statement(Input.CLEANUP)
        if refused is None:
            self._discard_unacknowledged()
            self._close(tell=False)
        return refused

    def _statement(self, statement: Input) -> Number | None:
        return None if self._move(statement) else REFUSALS[statement]

    def _accept(self, position: int) -> None:
        dialog = self.dialog
        self.touched_chunks.add(dialog.remember(dialog.send_sequence, position))
        dialog.send_sequence += 1
        self._fill_window()

    # --- what the other side says ----------------------------------------------------------------

    def message(self, message: Message, position: int) -> None:
        """Take a message frame that was read at ``position`` of ``in``."""
        if not self._is_peer(message.parties.from_broker, message.header, message.journey.attempt):
            return
        header = message.header
        if not header.sequenced:
            self._peer_error(message, BROKER_ERROR_RECEIVED)
            return
        journey = message.journey
        if header.sequence < self.dialog.receive_sequence or header.sequence in self.dialog.held:
            self._undeliverable(Number.DUPLICATE, message)
            if journey.attempt:  # our acknowledgement did not arrive: it tries another address
                self.dialog.first_hop = (self.dialog.first_hop + 1) % ADDRESSES
            self._owe(journey)
        elif self.dialog.state is State.CD:
            self._undeliverable(Number.ENDPOINT_CLOSED, message)
            self._acknowledge_closed(header)
            self._owe(journey)
        elif self.dialog.state is State.ER:
            # Not acknowledged: nobody will ever receive it.
            self._undeliverable(Number.NOT_IN_THIS_STATE, message)
        elif header.flags & Flag.SKIPS:
            self.dialog.held.clear()
            self.dialog.receive_sequence = header.sequence + 1
            self._owe(journey)
            self._peer_error(message, ERROR_RECEIVED)
        elif header.sequence == self.dialog.receive_sequence:
            self._store(message)
            self._store_held()
            self._owe(journey)
        elif header.sequence < self.dialog.receive_sequence + self.limits.window:
            self.dialog.held[header.sequence] = position
            self._owe(journey)
        else:
            self._undeliverable(Number.OUT_OF_SEQUENCE, message)

    def acknowledgement(self, frame: Acknowledgement) -> None:
        """Take an acknowledgement frame: it locks, and it moves the window on."""
        if not self._is_peer(frame.parties.from_broker, None, frame.ack.attempt):
            return
        ack, dialog = frame.ack, self.dialog
        if ack.closed and not dialog.peer_closed:
            dialog.peer_closed = True
            if dialog.state is State.CD:
                dialog.forget_at = self.now + self.limits.time_to_live
        if ack.next_sequence > dialog.send_sequence:
            impossible = Number.IMPOSSIBLE_ACKNOWLEDGEMENT
            self.effects.append(Report(EventKind.MESSAGE_UNDELIVERABLE, 2, impossible))
            return
        if ack.next_sequence > dialog.acknowledged:
            self._progress(ack)

    def status(self, status: Status) -> None:
        """Note why the local forwarder could not send a copy; older attempts do not matter."""
        dialog = self.dialog
        if status.attempt < dialog.attempt or dialog.acknowledged == dialog.send_sequence:
            return
        dialog.status, dialog.status_at = status.number, status.at
        dialog.suspect = dialog.transmitted

    # --- what time says --------------------------------------------------------------------------

    def due(self) -> None:
        """Do what is due by now: end of life, a retry, or forgetting a closed endpoint's key."""
        dialog = self.dialog
        if dialog.expires_at <= self.now and self._move(Input.EXPIRED):
            self._discard_unacknowledged()
            dialog.held.clear()
            if dialog.state is State.ER:
                self.effects.append(EnqueueError(Number.LIFETIME_EXCEEDED))
            else:
                self._close()
            self._report_state(0, Number.LIFETIME_EXCEEDED)
        if dialog.retry_at is not None and dialog.retry_at <= self.now:
            self._retry()

    @property
    def forgotten(self) -> bool:
        """Tell whether nothing of the endpoint needs to be kept any more."""
        return self.dialog.forget_at is not None and self.dialog.forget_at <= self.now

    def probe_soon(self, delay: int) -> None:
        """Let a dialog that has a status try again: the catalog has changed."""
        if self.dialog.status and self.dialog.retry_at is not None:
            self.dialog.retry_at = min(self.dialog.retry_at, self.now + delay)

    def finish(self) -> None:
        """Close the run: one acknowledgement stands for all that arrived."""
        if self.owed is not None:
            self.effects.append(SendAck(self.owed))
            self.owed = None

    # --- transmission ----------------------------------------------------------------------------

    def _fill_window(self) -> None:
        dialog = self.dialog
        if dialog.status:  # only the first message probes
            return
        end = min(dialog.send_sequence, dialog.acknowledged + self.limits.window)
        for sequence in range(dialog.transmitted, end):
            self._transmit(sequence)
        dialog.transmitted = max(dialog.transmitted, end)
        if dialog.retry_at is None and dialog.acknowledged < dialog.transmitted:
            dialog.retry_at = self.now + self.limits.retry_after(dialog.attempt)

    def _transmit(self, sequence: int) -> None:
        dialog = self.dialog
        self.effects.append(Transmit(sequence, dialog.position(sequence), dialog.attempt))

    def _retry(self) -> None:
        dialog = self.dialog
        if dialog.acknowledged >= dialog.send_sequence:
            dialog.retry_at = None
        elif dialog.last_copy >= self.left_out:
            dialog.retry_at = self.now + self.limits.recheck
        else:
            dialog.attempt += 1
            dialog.suspect = dialog.transmitted
            self._transmit(dialog.acknowledged)
            dialog.transmitted = max(dialog.transmitted, dialog.acknowledged + 1)
            dialog.retry_at = self.now + self.limits.retry_after(dialog.attempt)

    def _progress(self, ack: Ack) -> None:
        dialog = self.dialog
        # Only a retry that was needed says that the copies before it were lost too. Where the first
        # copy is acknowledged after all, the way is slow: sending again would make it slower. What
        # was first sent after the retry has taken the retry's way and is not suspect; nor is what
        # the other side holds already.
        recovering = ack.attempt > 0 or dialog.status != 0
        again = [
            number
            for number in range(ack.next_sequence, dialog.suspect if recovering else 0)
            if not any(first <= number <= last for first, last in ack.held[:HELD_RUNS])
        ]
        dialog.acknowledged = ack.next_sequence
        dialog.transmitted = max(dialog.transmitted, ack.next_sequence)
        dialog.attempt, dialog.status, dialog.suspect = 0, 0, 0
        dialog.first_hop = ack.first_hop
        dialog.retry_at = None
        self.touched_chunks.update(dialog.forget_acknowledged())
        for sequence in again:
            self._transmit(sequence)
        self._fill_window()
        done = dialog.acknowledged == dialog.send_sequence
        if done and self._move(Input.LAST_ACKNOWLEDGED):
            self._close()
            self._report_state(END_ACKNOWLEDGED)

    def _discard_unacknowledged(self) -> None:
        dialog = self.dialog
        if dialog.discarded_from is None and dialog.acknowledged < dialog.send_sequence:
            dialog.discarded_from = dialog.acknowledged
        dialog.acknowledged = dialog.transmitted = dialog.send_sequence
        dialog.attempt, dialog.status, dialog.suspect, dialog.retry_at = 0, 0, 0, None
        self.touched_chunks.update(dialog.forget_acknowledged())

    # --- reception -------------------------------------------------------------------------------

    def _is_peer(self, broker: str, header: Header | None, attempt: int) -> bool:
        """Lock the broker id with the first frame; refuse any other broker after it (3.3, 3.4)."""
        dialog = self.dialog
        key = self.broker_key
        if dialog.far_broker is not None and key(dialog.far_broker) == key(broker):
            if not dialog.locked:
                self._lock(broker)
            return True
        if dialog.is_initiator and not dialog.locked and dialog.far_broker is None:
            self._lock(broker)
            return True
        is_broker_error = header is not None and not header.sequenced
        self.effects.append(
            Report(
                EventKind.MESSAGE_UNDELIVERABLE,
                1 if header is not None and header.sequenced else 2,
                Number.ANOTHER_INSTANCE_CONVERSES,
                header,
                attempt,
                broker,
            )
        )
        if dialog.is_initiator and not is_broker_error:  # a broker Error is never answered
            self.effects.append(SendError(Number.ANOTHER_INSTANCE_ACKNOWLEDGED, broker, attempt))
        return False

    def _lock(self, broker: str) -> None:
        self.dialog.far_broker, self.dialog.locked = broker, True
        self.effects.append(Report(EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT, 4, from_broker=broker))

    def _store(self, message: Message) -> None:
        """Take the next message in order; only a conversing endpoint shows it to its queue."""
        dialog = self.dialog
        dialog.receive_sequence = message.header.sequence + 1
        if dialog.state is State.SI:
            self._move(Input.FIRST_MESSAGE)
        if dialog.state is State.CO:
            self.effects.append(Enqueue(message.header, message.body, message.journey))
        if message.header.flags & Flag.END and self._move(Input.PEER_ENDED):
            self._report_state(END_DIALOG_RECEIVED)

    def _store_held(self) -> None:
        held = self.dialog.held
        while (position := held.pop(self.dialog.receive_sequence, None)) is not None:
            self._store(self.read_held(position))

    def _peer_error(self, message: Message, subclass: int) -> None:
        if not message.header.flags & Flag.ERROR or not self._move(Input.PEER_ERROR):
            return
        self._discard_unacknowledged()
        self.dialog.held.clear()
        if self.dialog.state is State.ER:
            self.effects.append(Enqueue(message.header, message.body, message.journey))
        else:
            self._close()
        self._report_state(subclass)

    def _owe(self, journey: Journey) -> None:
        dialog = self.dialog
        self.owed = Ack(
            dialog.receive_sequence,
            max([dialog.receive_sequence - 1, *dialog.held]),
            journey.attempt,
            journey.first_hop,
            self.now,
            dialog.is_initiator and dialog.state is State.CD,
            dialog.held_runs() if dialog.held else (),
        )

    def _acknowledge_closed(self, header: Header) -> None:
        """Let a closed endpoint acknowledge whatever still comes, in order or not (U-30)."""
        self.dialog.receive_sequence = max(self.dialog.receive_sequence, header.sequence + 1)

    def _close(self, *, tell: bool = True) -> None:
        """Keep the key of a closed endpoint for as long as a copy of its dialog may still come."""
        dialog, limits = self.dialog, self.limits
        dialog.closed_at = self.now
        dialog.held.clear()
        if dialog.is_initiator:
            dialog.forget_at = self.now + limits.closed_initiator
            if tell and dialog.send_sequence:
                provoked = self.owed or Ack(0, first_hop=dialog.first_hop)
                self.owed = Ack(
                    dialog.receive_sequence,
                    dialog.receive_sequence - 1,
                    provoked.attempt,
                    provoked.first_hop,
                    self.now,
                    True,
                )
        elif dialog.peer_closed:
            dialog.forget_at = self.now + limits.time_to_live
        else:
            dialog.forget_at = max(dialog.expires_at, self.now + limits.time_to_live)

    def _undeliverable(self, number: Number, message: Message) -> None:
        header, attempt = message.header, message.journey.attempt
        self.effects.append(
            Report(
                EventKind.MESSAGE_UNDELIVERABLE,
                1,
                number,
                header,
                attempt,
                message.parties.from_broker,
            )
        )

    def _report_state(self, subclass: int, error: int = 0) -> None:
        self.effects.append(Report(EventKind.CONVERSATION, subclass, error))

    def _move(self, happened: Input) -> bool:
        """Move the state by the table; tells whether the table has the row."""
        state = TRANSITIONS.get((self.dialog.state, happened))
        if state is None:
            return False
        self.dialog.state = state
        return True
