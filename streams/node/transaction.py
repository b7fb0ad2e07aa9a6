"""One transaction of an endpoint worker: inputs go in, records come out, nothing is changed yet.

Everything that a transaction touches is a copy (the *overlay*). When Kafka has committed it, the
worker merges the overlay into the :class:`~streams.node.endpoint.Endpoint`; when Kafka has not, the
overlay is dropped and the same inputs are read again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from xml.sax.saxutils import escape

from streams.errors import EventKind, Number, text_of
from streams.node.commands import begin, check_send
from streams.node.events import Event, event
from streams.node.reception import admit
from streams.protocol import (
    DEFAULT,
    END_DIALOG,
    ERROR,
    Ack,
    Acknowledgement,
    Command,
    CommandKind,
    Dialog,
    Effect,
    Enqueue,
    EnqueueError,
    Flag,
    Header,
    Journey,
    Machine,
    Message,
    Parties,
    Report,
    SendAck,
    SendError,
    Status,
    Transmit,
)
from streams.routing import broker_key

if TYPE_CHECKING:
    from streams.node.endpoint import Endpoint

DialogKey = tuple[str, uuid.UUID, bool]
"""(database, conversation id, is initiator)"""

_END, _END_WITH_ERROR, _BEGIN, _CREATED, _CLEANUP = 2, 3, 11, 12, 13


class Bodies(Protocol):
    """Where bodies are read again: they are not written twice, only their positions are kept."""

    def command(self, position: int) -> Command:
        """Return the command at a position of ``cmd``."""

    def message(self, position: int) -> Message:
        """Return the message frame at a position of ``in``."""


@dataclass(frozen=True, slots=True)
class OutFrame:
    """A frame for ``out``: a message, or with ``ack`` an acknowledgement."""

    conversation: uuid.UUID
    parties: Parties
    journey: Journey
    header: Header | None = None
    body: bytes = b""
    ack: Ack | None = None


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A message for a service queue; it stays with its conversation group."""

    database: str
    queue: str
    group: uuid.UUID
    conversation: uuid.UUID
    parties: Parties
    header: Header
    journey: Journey
    body: bytes


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The answer to a command that asked for one."""

    reply_to: str
    command_id: uuid.UUID
    conversation: uuid.UUID
    number: int


@dataclass(slots=True)
class Transaction:
    """Apply a run of inputs to an overlay of an endpoint; ``now`` is epoch milliseconds."""

    endpoint: Endpoint
    bodies: Bodies
    now: int
    left_out: int
    timers: bool = True
    frames: list[OutFrame] = field(default_factory=list)
    queued: list[QueueMessage] = field(default_factory=list)
    results: list[CommandResult] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    machines: dict[DialogKey, Machine] = field(default_factory=dict)
    transmitted: set[DialogKey] = field(default_factory=set)
    _commands: dict[int, Command] = field(default_factory=dict)

    # --- inputs ----------------------------------------------------------------------------------

    def command(self, position: int, command: Command) -> None:
        """Apply a statement of an application; what is refused yields an event, and a result."""
        self._commands[position] = command
        number = self._apply(position, command)
        if number is not None:
            self.tell(
                EventKind.CONVERSATION,
                conversation=command.conversation,
                database=command.database,
                from_initiator=command.from_initiator,
                error=number,
                message_id=str(command.command_id),
                detail=f"{command.kind.value} refused: {text_of(number)}",
            )
        if command.reply_to is not None:
            self.results.append(
                CommandResult(
                    command.reply_to, command.command_id, command.conversation, int(number or 0)
                )
            )

    def _apply(self, position: int, command: Command) -> Number | None:
        if command.kind is CommandKind.BEGIN:
            return self._begin(command)
        key = (command.database, command.conversation, command.from_initiator)
        machine = self.machine(key)
        if machine is None or not self.endpoint.is_alive(machine.dialog):
            return Number.HANDLE_UNKNOWN
        if command.kind is CommandKind.SEND:
            return check_send(self.endpoint, command, machine.dialog) or machine.send(position)
        subclass = _END
        if command.cleanup:
            number, subclass = machine.cleanup(), _CLEANUP
        else:
            with_error = command.error_code is not None
            number = machine.end(position, with_error=with_error)
            subclass = _END_WITH_ERROR if with_error else _END
        if number is None:
            self._report(key, subclass)
        return number

    def _begin(self, command: Command) -> Number | None:
        sides = [(command.database, command.conversation, side) for side in (True, False)]
        known = any(self.machine(key) is not None for key in sides)
        made = begin(self.endpoint, command, self.now, known=known)
        if isinstance(made, Number):
            return made
        self.adopt(sides[0], made)
        self._report(sides[0], _BEGIN)
        return None

    def message(self, position: int, message: Message) -> None:
        """Apply a message frame that the local forwarder delivered."""
        machine = admit(self, message)
        if machine is not None:
            machine.message(message, position)

    def acknowledgement(self, frame: Acknowledgement) -> None:
        """Apply an acknowledgement frame; one for a dialog that is not known means nothing."""
        database = self.endpoint.here.with_broker_id(frame.parties.to_broker or "")
        if database is None:
            return
        machine = self.machine(
            (database.name, frame.conversation, not frame.parties.from_initiator)
        )
        if machine is not None:
            machine.acknowledgement(frame)

    def status(self, status: Status) -> None:
        """Apply what the local forwarder says about a copy that it could not send."""
        machine = self.machine((status.database, status.conversation, status.from_initiator))
        if machine is not None:
            machine.status(status)

    def due(self, keys: Iterable[DialogKey]) -> None:
        """Look at the dialogs whose time has come; one whose broker is gone ends (NEW_BROKER)."""
        for key in keys:
            machine = self.machine(key)
            if machine is None:
                continue
            if self.endpoint.is_alive(machine.dialog):
                machine.due()
            elif machine.cleanup() is None:
                self._report(key, _CLEANUP)

    def probe(self, keys: Iterable[DialogKey]) -> None:
        """Let waiting dialogs try again after a catalog change, spread over a second (U-14)."""
        for key in keys:
            machine = self.machine(key)
            if machine is not None:
                machine.probe_soon(key[1].int % 1000)

    # --- the overlay -----------------------------------------------------------------------------

    def machine(self, key: DialogKey) -> Machine | None:
        """Return the machine of a dialog, on a copy of what is committed; ``None``: no such one."""
        machine = self.machines.get(key)
        if machine is None:
            dialog = self.endpoint.dialogs.get(key)
            if dialog is None:
                return None
            machine = self.adopt(key, dialog.copy())
        return machine

    def adopt(self, key: DialogKey, dialog: Dialog) -> Machine:
        """Take a dialog into the overlay."""
        machine = Machine(
            dialog,
            self.now,
            self.endpoint.limits,
            self.left_out,
            self.bodies.message,
            broker_key,
        )
        self.machines[key] = machine
        return machine

    def created(self, key: DialogKey) -> None:
        """Report that a target endpoint came into being."""
        self._report(key, _CREATED)

    def close(self) -> None:
        """End the run: turn every effect into the records that stand for it."""
        for key, machine in self.machines.items():
            machine.finish()
            for effect in machine.effects:
                self._perform(key, machine.dialog, effect)
            machine.effects.clear()

    def tell(self, kind: EventKind, **fields: object) -> None:
        """Emit an event of this instance."""
        self.events.append(
            event(kind, at=self.now, instance=self.endpoint.instance, **fields)  # type: ignore[arg-type]
        )

    def send_ack(self, conversation: uuid.UUID, parties: Parties, ack: Ack, first_hop: int) -> None:
        """Send an acknowledgement frame to the other side of ``parties``."""
        journey = self._journey(0, first_hop)
        self.frames.append(OutFrame(conversation, parties, journey, ack=ack))

    def send_error(
        self, conversation: uuid.UUID, parties: Parties, number: Number, attempt: int
    ) -> None:
        """Send an unsequenced broker Error (Code = -number)."""
        name = f"{number}:{parties.from_broker}:{parties.to_broker}:{attempt}"
        header = Header(
            uuid.uuid5(conversation, name),
            ERROR,
            0,
            self.now,
            self.now + self.endpoint.limits.time_to_live,
            Flag.ERROR | Flag.UNSEQUENCED,
        )
        body = error_body(-number, text_of(number))
        journey = self._journey(attempt, 0)
        self.frames.append(OutFrame(conversation, parties, journey, header, body))

    # --- effects ---------------------------------------------------------------------------------

    def _perform(self, key: DialogKey, dialog: Dialog, effect: Effect) -> None:
        match effect:
            case Transmit():
                self._transmit(key, dialog, effect)
            case Enqueue():
                self._enqueue(dialog, effect.header, effect.body, effect.journey)
            case EnqueueError(number):
                self._enqueue_error(dialog, number)
            case SendAck(ack):
                self.send_ack(dialog.conversation, dialog.parties, ack, dialog.first_hop)
            case SendError(number, to_broker, attempt):
                parties = Parties(
                    dialog.far_service,
                    to_broker,
                    dialog.service,
                    dialog.broker_id,
                    dialog.contract,
                    dialog.is_initiator,
                )
                self.send_error(dialog.conversation, parties, number, attempt)
            case Report():
                self.tell(
                    effect.kind,
                    conversation=dialog.conversation,
                    database=dialog.database,
                    subclass=effect.subclass,
                    error=effect.error,
                    header=effect.header,
                    attempt=effect.attempt,
                    # 124 is about the endpoint; 149 and 160 are about a frame of its peer.
                    from_initiator=dialog.is_initiator is (effect.kind is EventKind.CONVERSATION),
                    from_broker=effect.from_broker,
                    state=dialog.state.name,
                )

    def _transmit(self, key: DialogKey, dialog: Dialog, effect: Transmit) -> None:
        command = self._commands.get(effect.position) or self.bodies.command(effect.position)
        kind, flags, body = command.type or DEFAULT, Flag.NONE, command.body or b""
        if command.kind is CommandKind.END:
            kind, flags, body = END_DIALOG, Flag.END, b""
            if command.error_code is not None:
                kind, flags = ERROR, Flag.ERROR | Flag.SKIPS
                body = error_body(command.error_code, command.error_text or "")
        header = Header(
            command.command_id,
            kind,
            effect.sequence,
            command.stored_at,
            dialog.expires_at,
            flags,
        )
        journey = self._journey(effect.attempt, dialog.first_hop)
        self.frames.append(OutFrame(dialog.conversation, dialog.parties, journey, header, body))
        self.transmitted.add(key)

    def _enqueue(
        self, dialog: Dialog, header: Header, body: bytes, journey: Journey | None
    ) -> None:
        service = self.endpoint.service(dialog.database, dialog.service)
        if service is None:
            return
        visit = (f"{self.endpoint.instance}/{dialog.database}", self.now)
        path = (*journey.path, visit) if journey is not None else (visit,)
        travelled = Journey(
            journey.hops_remaining if journey else 0,
            journey.expires_at if journey else self.now,
            journey.attempt if journey else 0,
            journey.sent_at if journey else self.now,
            journey.first_hop if journey else 0,
            path,
        )
        parties = Parties(
            dialog.service,
            dialog.broker_id,
            dialog.far_service,
            dialog.far_broker or "",
            dialog.contract,
            not dialog.is_initiator,
            dialog.locked,
        )
        self.queued.append(
            QueueMessage(
                dialog.database,
                service.queue,
                dialog.group,
                dialog.conversation,
                parties,
                header,
                travelled,
                body,
            )
        )

    def _enqueue_error(self, dialog: Dialog, number: Number) -> None:
        header = Header(
            uuid.uuid5(dialog.handle, f"error:{number}"),
            ERROR,
            0,
            self.now,
            dialog.expires_at,
            Flag.ERROR | Flag.UNSEQUENCED,
        )
        self._enqueue(dialog, header, error_body(-number, text_of(number)), None)

    def _journey(self, attempt: int, first_hop: int) -> Journey:
        limits = self.endpoint.limits
        return Journey(limits.hops, self.now + limits.time_to_live, attempt, self.now, first_hop)

    def _report(self, key: DialogKey, subclass: int) -> None:
        dialog = self.machines[key].dialog
        self.tell(
            EventKind.CONVERSATION,
            conversation=dialog.conversation,
            database=dialog.database,
            from_initiator=dialog.is_initiator,
            subclass=subclass,
            state=dialog.state.name,
            from_service=dialog.service,
            to_service=dialog.far_service,
        )


def error_body(code: int, text: str) -> bytes:
    """Return the body of an Error message (C-15)."""
    return (
        f'<Error xmlns="{ERROR}"><Code>{code}</Code>'
        f"<Description>{escape(text)}</Description></Error>"
    ).encode()
