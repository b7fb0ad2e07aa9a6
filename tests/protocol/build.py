"""One side of a conversation under test, and the frames that it hears.

``side.sends(2)`` accepts two messages, ``side.hears(ack(1))`` reads a frame, ``side.waits(4)`` lets
four seconds pass; each is one run of the machine and returns its effects.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from streams.errors import EventKind, Number
from streams.protocol import (
    DEFAULT,
    Ack,
    Acknowledgement,
    Dialog,
    Effect,
    Enqueue,
    EnqueueError,
    EnqueueTimer,
    Flag,
    Fragment,
    Header,
    Journey,
    Limits,
    Machine,
    Message,
    Parties,
    RefusalNumbers,
    Report,
    Run,
    SendAck,
    SendError,
    State,
    Status,
    Transmit,
)

START = 1_000_000
LIFETIME = 3_600_000
CONVERSATION = uuid.UUID(int=1)
INITIATOR_BROKER, TARGET_BROKER, OTHER_BROKER = "A", "B", "C"
EVERYTHING = 1 << 40
Frame = Message | Acknowledgement | Status


@dataclass(slots=True)
class Side:
    """An endpoint with a clock of its own; ``left_out`` is how far the local forwarder has come."""

    dialog: Dialog
    limits: Limits = field(default_factory=Limits)
    now: int = START
    left_out: int = EVERYTHING
    out_end: int = -1
    cmd_end: int = 0
    refused: Number | None = None
    inbox: list[Message] = field(default_factory=list)
    queue_on: bool = True
    refusal: RefusalNumbers | None = None
    broker_key: Callable[[str], str] = str

    def run(self, act: Callable[[Machine], None]) -> list[Effect]:
        """Run the machine once, and note where its latest copy would be in ``out``."""
        machine = Machine(
            self.dialog,
            self.now,
            self.limits,
            self.left_out,
            self.inbox.__getitem__,
            self.broker_key,
            judge=lambda header, body: self.refusal,
            queue_on=self.queue_on,
        )
        act(machine)
        machine.fill_window(self.limits.window - machine.dialog.in_flight)
        machine.finish()
        copies = sum(isinstance(e, Transmit | SendAck | SendError) for e in machine.effects)
        self.out_end += copies
        if sent(machine.effects):
            self.dialog.last_copy = self.out_end
        return machine.effects

    def sends(self, count: int = 1, size: int = 0) -> list[Effect]:
        """SEND a body of so many bytes, as often as said."""

        def act(machine: Machine) -> None:
            for _ in range(count):
                self.refused = machine.send(self._command(), size)

        return self.run(act)

    def ends(self, *, with_error: bool = False) -> list[Effect]:
        """END CONVERSATION [WITH ERROR]."""

        def act(machine: Machine) -> None:
            self.refused = machine.end(self._command(), with_error=with_error)

        return self.run(act)

    def cleans_up(self) -> list[Effect]:
        """END CONVERSATION WITH CLEANUP."""

        def act(machine: Machine) -> None:
            self.refused = machine.cleanup()

        return self.run(act)

    def sets_timer(self, seconds: int) -> list[Effect]:
        """BEGIN CONVERSATION TIMER."""

        def act(machine: Machine) -> None:
            self.refused = machine.set_timer(seconds)

        return self.run(act)

    def moves(self, group: uuid.UUID) -> list[Effect]:
        """MOVE CONVERSATION."""

        def act(machine: Machine) -> None:
            self.refused = machine.move(group)

        return self.run(act)

    def receives(self, *frames: Frame) -> list[Effect]:
        """Read frames, all in one run."""

        def act(machine: Machine) -> None:
            for frame in frames:
                if isinstance(frame, Message):
                    self.inbox.append(frame)
                    machine.message(frame, len(self.inbox) - 1)
                elif isinstance(frame, Status):
                    machine.status(frame)
                else:
                    machine.acknowledgement(frame)

        return self.run(act)

    def waits(self, seconds: float) -> list[Effect]:
        """Let time pass, and then do what is due."""
        self.now += int(seconds * 1000)
        return self.run(Machine.due)

    def continues(self) -> list[Effect]:
        """Deliver what is buffered, as after a change of the catalog."""
        return self.run(lambda machine: machine.wake(0))

    def _command(self) -> int:
        self.cmd_end += 1
        return self.cmd_end - 1

    @property
    def forgotten(self) -> bool:
        """Tell whether nothing needs to be kept of the endpoint by now."""
        return Machine(self.dialog, self.now, self.limits, 0, self.inbox.__getitem__).forgotten


def initiator(state: State = State.SO, **changes: object) -> Side:
    """Return the side that began the conversation, by default just begun."""
    return Side(_dialog(state, is_initiator=True, far_broker=None, locked=False), **changes)  # type: ignore[arg-type]


def target(state: State = State.CO, **changes: object) -> Side:
    """Return the side that a first message created."""
    side = Side(_dialog(state, is_initiator=False, far_broker=INITIATOR_BROKER, locked=True))
    for name, value in changes.items():
        setattr(side, name, value)
    return side


def conversing(count: int = 1, **changes: object) -> Side:
    """Return an initiator that has sent messages and heard nothing yet."""
    side = initiator(**changes)
    side.sends(count)
    return side


def _dialog(state: State, *, is_initiator: bool, far_broker: str | None, locked: bool) -> Dialog:
    mine, far = ("InitiatorService", "TargetService")[:: 1 if is_initiator else -1]
    return Dialog(
        conversation=CONVERSATION,
        database="D",
        broker_id=INITIATOR_BROKER if is_initiator else TARGET_BROKER,
        is_initiator=is_initiator,
        state=state,
        service=mine,
        far_service=far,
        far_broker=far_broker,
        contract=DEFAULT,
        group=uuid.UUID(int=2),
        handle=uuid.UUID(int=3),
        created_at=START,
        expires_at=START + LIFETIME,
        locked=locked,
    )


# --- frames --------------------------------------------------------------------------------------


def parties(broker: str) -> Parties:
    """Return the envelope of what a broker says: the initiator is ``A``, all others targets."""
    from_initiator = broker == INITIATOR_BROKER
    names = ("InitiatorService", "TargetService")[:: 1 if from_initiator else -1]
    return Parties(names[1], None, names[0], broker, DEFAULT, from_initiator)


def message(
    sequence: int,
    *,
    flags: Flag = Flag.NONE,
    broker: str = INITIATOR_BROKER,
    attempt: int = 0,
    first_hop: int = 0,
    fragment: int = 0,
    fragments: int = 1,
    locked: bool = False,
) -> Message:
    """Return a message frame; its body is its number, or number and fragment."""
    identity = uuid.UUID(int=100 + sequence)
    expires = START + LIFETIME
    header = Header(identity, DEFAULT, sequence, START, expires, flags, fragment, fragments)
    journey = Journey(16, START + 60_000, attempt, START, first_hop)
    body = b"%d" % sequence if fragments == 1 else b"%d.%d " % (sequence, fragment)
    route = parties(broker)._replace(locked=locked)
    return Message(CONVERSATION, route, header, journey, body)


def broker_error(*, broker: str = TARGET_BROKER) -> Message:
    """Return an Error that a broker made: it has no number in the dialog."""
    return message(0, flags=Flag.ERROR | Flag.UNSEQUENCED, broker=broker)


def ack(
    next_sequence: int,
    *,
    attempt: int = 0,
    first_hop: int = 0,
    closed: bool = False,
    held: tuple[tuple[int, int], ...] = (),
    broker: str = TARGET_BROKER,
    fragment: int = 0,
) -> Acknowledgement:
    """Return an acknowledgement frame: everything below ``next_sequence`` is stored."""
    highest = next_sequence - (fragment == 0)
    said = Ack(next_sequence, highest, attempt, first_hop, START, closed, runs(*held), fragment)
    return Acknowledgement(CONVERSATION, parties(broker), said)


def runs(*held: tuple[int, int]) -> tuple[Run, ...]:
    """Return runs of whole messages as an acknowledgement lists them."""
    return tuple(((first, 0), (last, 0)) for first, last in held)


def status(number: int, *, attempt: int = 0, about: int = -1) -> Status:
    """Return what the local forwarder says about a copy of a message that it could not send."""
    return Status(CONVERSATION, "D", True, number, attempt, START, sequence=about)


# --- effects -------------------------------------------------------------------------------------


def sent(effects: Iterable[Effect]) -> list[int]:
    """Return the numbers of the copies that are to be transmitted."""
    return [e.sequence for e in effects if isinstance(e, Transmit)]


def sent_fragments(effects: Iterable[Effect]) -> list[Fragment]:
    """Return the fragments that are to be transmitted."""
    return [(e.sequence, e.fragment) for e in effects if isinstance(e, Transmit)]


def attempts(effects: Iterable[Effect]) -> list[tuple[int, int]]:
    """Return number and attempt of the copies that are to be transmitted."""
    return [(e.sequence, e.attempt) for e in effects if isinstance(e, Transmit)]


def acked(effects: Iterable[Effect]) -> Ack | None:
    """Return the one acknowledgement of a run, if there is any."""
    found = [e.ack for e in effects if isinstance(e, SendAck)]
    assert len(found) <= 1, "one acknowledgement stands for a whole run"
    return found[0] if found else None


def queued(effects: Iterable[Effect]) -> list[int]:
    """Return the numbers of the messages that are to be put into the queue."""
    return [e.header.sequence for e in effects if isinstance(e, Enqueue)]


def bodies(effects: Iterable[Effect]) -> list[bytes]:
    """Return the bodies of the messages that are to be put into the queue."""
    return [e.body for e in effects if isinstance(e, Enqueue)]


def timers(effects: Iterable[Effect]) -> int:
    """Return how many DialogTimer messages are to be put into the queue."""
    return sum(isinstance(e, EnqueueTimer) for e in effects)


def own_errors(effects: Iterable[Effect]) -> list[int]:
    """Return the numbers of the Errors that the broker itself puts into the queue."""
    return [e.number for e in effects if isinstance(e, EnqueueError)]


def undeliverable(effects: Iterable[Effect]) -> list[int]:
    """Return the error numbers of the events 160."""
    return [
        e.error
        for e in effects
        if isinstance(e, Report) and e.kind is EventKind.MESSAGE_UNDELIVERABLE
    ]


def answers(effects: Iterable[Effect]) -> list[SendError]:
    """Return the broker Errors that are to be sent."""
    return [e for e in effects if isinstance(e, SendError)]


def states(effects: Iterable[Effect]) -> list[tuple[int, int]]:
    """Return subclass and error number of the events 124."""
    told = [e for e in effects if isinstance(e, Report)]
    return [(e.subclass, e.error) for e in told if e.kind is EventKind.CONVERSATION]
