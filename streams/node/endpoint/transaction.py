"""One transaction of an endpoint worker: inputs go in, records come out, nothing is changed yet.

Everything that a transaction touches is a copy (the *overlay*). When Kafka has committed it, the
worker merges the overlay into the :class:`~streams.node.Endpoint`; when Kafka has not, the
overlay is dropped and the same inputs are read again.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol
from weakref import proxy

from streams.errors import ConversationEvent, EventKind, Number, text_of
from streams.node.endpoint.accept_message import admit, answering
from streams.node.endpoint.effects_to_records import perform, send_ack
from streams.node.endpoint.execute import execute
from streams.node.endpoint.flows import UNLIMITED
from streams.node.endpoint.groups import DialogKey
from streams.node.endpoint.notices import Notices
from streams.node.endpoint.output import CommandResult, OutFrame, QueueMessage
from streams.node.endpoint.seen import Seen
from streams.node.endpoint.turns import Turns
from streams.node.endpoint.validation import AnyBody, judge
from streams.node.events import Event, event
from streams.protocol import (
    ADDRESSES,
    Ack,
    Acknowledgement,
    Cause,
    Command,
    Dialog,
    Fragment,
    Header,
    Machine,
    Message,
    Parties,
    Refusal,
    Source,
    Status,
    Transmit,
)
from streams.routing import broker_key

if TYPE_CHECKING:
    from streams.node.endpoint.endpoint import Endpoint


class Bodies(Protocol):
    """Where bodies are read again: they are not written twice, only their positions are kept.

    Whoever needs several asks for them together: they are read in the order of their positions.
    """

    def commands(self, positions: Collection[int]) -> Mapping[int, Command]:
        """Return the commands at these positions of ``cmd``."""

    def messages(self, positions: Collection[int]) -> Mapping[int, Message]:
        """Return the message frames at these positions of ``in``."""


@dataclass(slots=True)
class _Frames:
    """Message frames of ``in`` that are read again: those that were read together, and others."""

    bodies: Bodies
    _together: Mapping[int, Message] = field(default_factory=dict)

    def read(self, positions: Collection[int]) -> None:
        """Read what is needed next, instead of what was before."""
        self._together = self.bodies.messages(positions) if positions else {}

    def at(self, position: int) -> Message:
        """Return the message frame at a position."""
        found = self._together.get(position)
        return found if found is not None else self.bodies.messages((position,))[position]


@dataclass(slots=True, weakref_slot=True)
class Transaction:
    """Apply a run of inputs to an overlay of an endpoint; ``now`` is epoch milliseconds.

    Nothing in it refers to it: it is gone when its worker lets it go, and no garbage collection has
    to look for that.

    ``most`` is how many frames and queue messages it shall have at most, ``planned`` how many it
    has so far. An input is never cut in two, so one may go beyond that; what waits for its turn
    (``turns``) takes only what is left.

    ``own`` are messages for the system service: in no queue, as the database has read them.
    ``records`` and ``chunks`` are what was written of its dialogs, if anything was: a chunk that is
    ``None`` was deleted. ``probed`` are the dialogs that were let look again; whoever waits to
    reach one of ``again`` (database, service) shall do so next. ``repeated`` is how many statements
    were seen before.
    """

    endpoint: Endpoint
    bodies: Bodies
    now: int
    left_out: int
    timers: bool = True
    most: int = UNLIMITED
    turns: Turns = field(default_factory=Turns)
    planned: int = 0
    statements: int = 0
    frames: list[OutFrame] = field(default_factory=list)
    queued: list[QueueMessage] = field(default_factory=list)
    results: list[CommandResult] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    machines: dict[DialogKey, Machine] = field(default_factory=dict)
    transmitted: set[DialogKey] = field(default_factory=set)
    own: list[QueueMessage] = field(default_factory=list)
    records: dict[DialogKey, bytes] = field(default_factory=dict)
    chunks: dict[DialogKey, dict[int, bytes | None]] = field(default_factory=dict)
    probed: Sequence[DialogKey] = ()
    again: list[tuple[str, str]] = field(default_factory=list)
    seen: dict[Source, Seen] = field(default_factory=dict)
    repeated: int = 0
    notices: Notices = field(init=False)
    any_body: AnyBody = field(init=False)
    _commands: dict[int, Command] = field(default_factory=dict)
    _frames: _Frames = field(init=False)
    _admitted: dict[uuid.UUID, tuple[Parties, Machine]] = field(default_factory=dict)
    _by_group: dict[tuple[str, uuid.UUID], list[Machine]] | None = None  # few ask for a group

    def __post_init__(self) -> None:
        self.notices = Notices(proxy(self))
        self._frames = _Frames(self.bodies)
        self.any_body = AnyBody(self.endpoint)

    @property
    def is_full(self) -> bool:
        """Tell whether further inputs are better left to the next transaction."""
        return self.planned >= self.most

    # --- inputs ----------------------------------------------------------------------------------

    def command(self, position: int, command: Command) -> None:
        """Apply a statement of an application; what is refused yields an event, and a result.

        One that was seen before does nothing, and is answered as it was the first time.
        """
        if command.cause is not None and self._pass_over(command, command.cause):
            return
        self._commands[position] = command
        self.statements += 1
        self.planned += 1
        if command.also:
            self.planned += len(command.also) * self.endpoint.limits.fragments(
                len(command.body or b"")
            )
        number = execute(self, position, command)
        if command.cause is not None:
            seen = self.seen_of(command.cause.source)
            self.seen[command.cause.source] = seen.plus(command.cause, command, int(number or 0))
        if number is not None:
            self.notices.refused(command)
            self.tell(
                EventKind.CONVERSATION,
                conversation=command.conversation,
                database=command.database,
                from_initiator=command.from_initiator,
                error=number,
                message_id=str(command.command_id),
                detail=f"{command.kind.value} refused: {text_of(number)}",
            )
        self._answer(command, int(number or 0))

    def _pass_over(self, command: Command, cause: Cause) -> bool:
        """Tell whether a statement was seen before; count it, and tell where it is another one."""
        seen = self.seen_of(cause.source)
        if not seen.has(cause):
            return False
        self.repeated += 1
        if seen.differs(cause, command):
            self.tell(
                EventKind.CONVERSATION,
                conversation=command.conversation,
                database=command.database,
                from_initiator=command.from_initiator,
                detail=f"{command.kind.value} passed over: {cause.source} has said something else "
                f"at {cause.offset}, {cause.n}",
            )
        known = seen.find(cause)
        self._answer(command, known.number if known is not None else 0)
        return True

    def seen_of(self, source: Source) -> Seen:
        """Return what a source has said before."""
        return self.seen.get(source) or self.endpoint.seen.get(source) or Seen()

    def _answer(self, command: Command, number: int) -> None:
        if command.reply_to is not None:
            self.results.append(
                CommandResult(command.reply_to, command.command_id, command.conversation, number)
            )

    def foresee(self, messages: Iterable[Message]) -> None:
        """Read together what was held out of order and follows these messages.

        Optional: without it, :meth:`message` reads each by itself.
        """
        gaps = self.endpoint.gaps
        if not gaps:
            return
        arrived: dict[DialogKey, dict[Fragment, int]] = {}
        for message in messages:
            key = gaps.get((message.conversation, not message.parties.from_initiator))
            if key is not None:
                header = message.header
                arrived.setdefault(key, {})[header.at] = header.fragments
        needed: list[int] = []
        for key, fragments in arrived.items():
            needed += self.endpoint.dialogs[key].follow(fragments)
            if len(needed) >= self.most:
                break
        self._frames.read(needed)

    def message(self, position: int, message: Message) -> bool:
        """Apply a message frame that the local forwarder delivered; tells whether it is kept.

        Who takes it follows from its conversation and parties, and stays so in a transaction. What
        is kept is read again from its position: it is held, incomplete or parked.
        """
        known = self._admitted.get(message.conversation)
        if known is None or known[0] != message.parties:
            machine = admit(self, message)
            if machine is None:
                return False
            known = self._admitted[message.conversation] = message.parties, machine
        machine = known[1]
        dialog, before = machine.dialog, len(machine.effects)
        kept = len(dialog.held) + len(dialog.partial) + len(dialog.parked)
        machine.message(message, position)
        self.planned += len(machine.effects) - before
        return len(dialog.held) + len(dialog.partial) + len(dialog.parked) > kept

    def acknowledgement(self, frame: Acknowledgement) -> None:
        """Apply an acknowledgement frame.

        A target that asks about a dialog that its initiator has forgotten by now is told that it is
        closed; any other frame for a dialog that is not known means nothing.
        """
        parties, ack = frame.parties, frame.ack
        database = self.endpoint.here.with_broker_id(parties.to_broker or "")
        if database is None:
            return
        machine = self.machine((database.name, frame.conversation, not parties.from_initiator))
        if machine is not None:
            asked = machine.dialog.status == Number.WAITING_FOR_CONFIGURATION
            before = len(machine.effects)
            machine.acknowledgement(frame)
            self.planned += len(machine.effects) - before
            if asked and not machine.dialog.status:
                self.notices.found(database.name, machine.dialog.far_service)
        elif not parties.from_initiator:
            back = answering(parties, database.broker_id)
            attempt = max(0, ack.attempt)
            said = Ack(0, -1, attempt, ack.first_hop, self.now, closed=True)
            send_ack(self, frame.conversation, back, said, attempt % ADDRESSES, 0)

    def status(self, status: Status) -> None:
        """Apply what the local forwarder says about a copy that it could not send."""
        if status.service is not None:
            self.notices.ask(status)
            return
        machine = self.machine((status.database, status.conversation, status.from_initiator))
        if machine is not None:
            machine.status(status)

    def due(self, keys: Iterable[DialogKey]) -> None:
        """Look at the dialogs whose time has come."""
        for key in keys:
            machine = self.machine(key)
            if machine is not None:
                self.heed(machine)
                machine.due()

    def wake(self, keys: Iterable[DialogKey]) -> None:
        """Let dialogs look again after a catalog change, retries spread over a second (U-14).

        What waits for a queue that was off is read for all of them together; dialogs for which
        there is no room any more look again in the next transaction.
        """
        woken: list[DialogKey] = []
        needed: list[int] = []
        for key in keys:
            if self.planned + len(needed) >= self.most and woken:
                break
            woken.append(key)
            machine = self.machine(key)
            if machine is not None and machine.shows_stored:
                needed += machine.dialog.needed_frames()
        self.probed = tuple(woken)
        self._frames.read(needed)
        for key in woken:
            machine = self.machines.get(key)
            if machine is not None:
                self.heed(machine)
                machine.wake(key[1].int % 1000)
                self.planned += len(machine.effects)

    def heed(self, machine: Machine) -> None:
        """Do what the database was told about its conversations: NEW_BROKER, DROP SERVICE ..."""
        if machine.heeded:
            return
        machine.heeded = True
        dialog, here = machine.dialog, Number.CONVERSATIONS_ENDED_HERE
        epoch = self.endpoint.error_epoch(dialog.database)
        if not self.endpoint.is_alive(dialog):  # whoever has its old id is not spoken to any more
            machine.broker_error(here)
        elif self.endpoint.service(dialog.database, dialog.service) is None:
            machine.service_dropped()
        elif dialog.error_epoch < epoch:
            machine.broker_error(here, Number.CONVERSATIONS_ENDED_THERE)
        dialog.error_epoch = max(dialog.error_epoch, epoch)

    def dialog(self, key: DialogKey) -> Dialog | None:
        """Return a dialog as it is by now, without taking it into the overlay."""
        machine = self.machines.get(key)
        return machine.dialog if machine is not None else self.endpoint.dialogs.get(key)

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

    def service_of(self, database: str, group: uuid.UUID) -> str | None:
        """Return the service that a conversation group belongs to; ``None``: there is no such."""
        if self._by_group is None:
            self._by_group = {}
            for machine in self.machines.values():
                self.joins(machine)
        for machine in self._by_group.get((database, group), ()):
            if machine.dialog.group == group:  # else it was moved
                return machine.dialog.service
        for key in self.endpoint.members(database, group):
            if key not in self.machines:
                return self.endpoint.dialogs[key].service
        return None

    def joins(self, machine: Machine) -> None:
        """Note that a dialog of the overlay belongs to the group that it says now."""
        if self._by_group is not None:
            about = machine.dialog.database, machine.dialog.group
            self._by_group.setdefault(about, []).append(machine)

    def adopt(self, key: DialogKey, dialog: Dialog) -> Machine:
        """Take a dialog into the overlay."""
        service = self.endpoint.service(dialog.database, dialog.service)
        machine = Machine(
            dialog,
            self.now,
            self.endpoint.limits,
            self.left_out,
            self._frames.at,
            broker_key,
            partial(_judge, self.endpoint, self.any_body, dialog),
            service is None or service.queue_on,
            at_once=not self.endpoint.flows.of(dialog).stalled,
            applied_until=self.endpoint.applied_until,
        )
        self.machines[key] = machine
        self.joins(machine)
        return machine

    def command_at(self, position: int) -> Command:
        """Return a command of this run, or one that :meth:`close` has read again."""
        return self._commands[position]

    def close(self) -> None:
        """End the run: turn every effect into the records that stand for it."""
        self.turns.take(self)
        self.notices.close()
        self._read_again()
        for key, machine in self.machines.items():
            machine.finish()
            if machine.effects:
                perform(self, key, machine.dialog, machine.effects)
                machine.effects.clear()

    def _read_again(self) -> None:
        """Read all bodies together that were accepted earlier and are transmitted now."""
        known = self._commands
        needed = {
            effect.position
            for machine in self.machines.values()
            for effect in machine.effects
            if type(effect) is Transmit and effect.position not in known
        }
        if needed:
            known.update(self.bodies.commands(needed))

    def tell(self, kind: EventKind, **fields: object) -> None:
        """Emit an event of this instance."""
        self.events.append(
            event(kind, at=self.now, instance=self.endpoint.instance, **fields)  # type: ignore[arg-type]
        )

    def report(self, key: DialogKey, subclass: ConversationEvent) -> None:
        """Tell what has become of a conversation (event 124)."""
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


def _judge(
    endpoint: Endpoint, any_body: AnyBody, dialog: Dialog, header: Header, body: bytes
) -> Refusal | None:
    if any_body[dialog.database, dialog.contract, header.type, not dialog.is_initiator]:
        return None
    return judge(
        dialog,
        endpoint.contract(dialog.database, dialog.contract),
        endpoint.message_type(dialog.database, header.type),
        header,
        body,
    )
