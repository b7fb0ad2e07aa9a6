"""The overlay of a transaction: copies of the dialogs that it changes, and the resulting records.

The modules that accept messages, execute statements and create records (``accept_message``,
``execute``, ``effects_to_records``, ``turns``) work on it; ``transaction`` dispatches the inputs.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from streams.errors import ConversationEvent, Event, EventKind
from streams.node.endpoint.bodies import Bodies, Frames
from streams.node.endpoint.committed import CommittedState
from streams.node.endpoint.dialogs import Destination
from streams.node.endpoint.flows import UNLIMITED, Flow
from streams.node.endpoint.heed import heed
from streams.node.endpoint.notices import Notices
from streams.node.endpoint.outgoing import CommandResult, OutFrame, QueueMessage
from streams.node.endpoint.validation import TOO_LARGE, AnyBody, judge
from streams.node.events import event
from streams.protocol import (
    Command,
    Dialog,
    DialogKey,
    Header,
    Machine,
    Parties,
    RefusalNumbers,
    Seen,
    Source,
)
from streams.routing import broker_key

_Members = OrderedDict[DialogKey, Machine]
"""Dialogs of a group; some might have been moved to another group since."""
_Committed = tuple[DialogKey | None, Iterator[DialogKey]]
"""The first committed member of a group that is not in the overlay, and the members after it."""


@dataclass(slots=True)
class Turns:
    """The dialogs whose turn it is (``room``); ``opens`` adds those whose windows the inputs open.

    ``hurried`` contains the dialogs that have retried in turn, ``added`` the flows of all
    dialogs that had a turn, and ``answered`` the destinations that have acknowledged a copy. All
    three are complete when the transaction commits.
    """

    room: Sequence[DialogKey] = ()
    opens: bool = True
    hurried: set[DialogKey] = field(default_factory=set)
    added: list[Flow] = field(default_factory=list)
    answered: dict[Destination, None] = field(default_factory=dict)


@dataclass(slots=True, weakref_slot=True)
class Overlay:
    """The changes and output of a transaction so far; ``now`` is in epoch milliseconds.

    An overlay has no reference cycles, so reference counting frees it immediately. ``most`` is the
    limit for its frames and queue messages, and ``planned`` counts them. An input is never split,
    so a single input may exceed the limit. Waiting dialogs (``turns``) use only the remainder.
    ``copied`` is the size in bytes of the copies that SENDs on several conversations add. ``own``
    contains messages for the system service, which the database reads without a queue. ``records``
    and ``chunks`` are the state records written for the overlay's dialogs; ``None`` marks a deleted
    chunk. ``probed`` contains the re-evaluated dialogs. ``repeated`` counts statements that were
    seen before; ``forgotten_sources`` are removed from the state.
    """

    endpoint: CommittedState
    bodies: Bodies
    now: int
    left_out: int
    timers: bool = True
    most: int = UNLIMITED
    turns: Turns = field(default_factory=Turns)
    planned: int = 0
    copied: int = 0
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
    seen: dict[Source, Seen] = field(default_factory=dict)
    forgotten_sources: Sequence[Source] = ()
    repeated: int = 0
    notices: Notices = field(init=False)
    any_body: AnyBody = field(init=False)
    _commands: dict[int, Command] = field(default_factory=dict)
    _frames: Frames = field(init=False)
    _admitted: dict[uuid.UUID, tuple[Parties, Machine]] = field(default_factory=dict)
    # only a few dialogs have a given group
    _by_group: dict[tuple[str, uuid.UUID], _Members] | None = None
    _committed: dict[tuple[str, uuid.UUID], _Committed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.notices = Notices(self.endpoint, self.now)
        self._frames = Frames(self.bodies)
        self.any_body = AnyBody(self.endpoint)

    @property
    def is_full(self) -> bool:
        """Return whether to leave the remaining inputs to the next transaction."""
        return self.planned >= self.most or self.copied >= self.endpoint.limits.copies

    # --- dialogs ---------------------------------------------------------------------------------

    def machine(self, key: DialogKey) -> Machine | None:
        """Return a machine on a copy of the committed dialog; ``None`` if it does not exist."""
        machine = self.machines.get(key)
        if machine is None:
            dialog = self.endpoint.dialogs.get(key)
            if dialog is None:
                return None
            machine = self.adopt(key, dialog.copy())
        return machine

    def knows(self, key: DialogKey) -> bool:
        """Return whether a dialog exists, without adding it to the overlay."""
        return key in self.machines or key in self.endpoint.dialogs

    def service_of(self, database: str, group: uuid.UUID) -> str | None:
        """Return the service of a conversation group, or ``None`` if there is no such group."""
        if self._by_group is None:
            self._by_group = {}
            for machine in self.machines.values():
                self.joins(machine)
        where = database, group
        here = self._by_group.get(where, _Members())
        while here:
            key, machine = next(iter(here.items()))
            if machine.dialog.group == group:
                return machine.dialog.service
            del here[key]  # the dialog was moved to another group
        committed = self._first_committed(where)
        return None if committed is None else self.endpoint.dialogs[committed].service

    def _first_committed(self, where: tuple[str, uuid.UUID]) -> DialogKey | None:
        """Return one of a group's members that this transaction has not changed.

        The search continues where the previous search ended, because dialogs are never removed from
        the overlay.
        """
        key, others = self._committed.get(where) or (None, iter(self.endpoint.members(*where)))
        if key is None or key in self.machines:
            key = next((other for other in others if other not in self.machines), None)
        self._committed[where] = key, others
        return key

    def joins(self, machine: Machine) -> None:
        """Register a dialog of the overlay in its current group."""
        if self._by_group is not None:
            dialog = machine.dialog
            here = self._by_group.setdefault((dialog.database, dialog.group), _Members())
            here[dialog.database, dialog.conversation, dialog.is_initiator] = machine

    def adopt(self, key: DialogKey, dialog: Dialog) -> Machine:
        """Add a dialog to the overlay."""
        service = self.endpoint.service(dialog.database, dialog.service)
        machine = Machine(
            dialog,
            self.now,
            self.endpoint.limits,
            self.left_out,
            partial(self._frames.at, dialog.conversation),
            broker_key,
            partial(_judge, self.endpoint, self.any_body, dialog),
            service is None or service.queue_on,
            at_once=self.endpoint.flows.admits(dialog),
            applied_until=self.endpoint.applied_until,
            rests=self.any_body.rests,
        )
        self.machines[key] = machine
        self.joins(machine)
        return machine

    def command_at(self, position: int) -> Command:
        """Return a command of this transaction, or a command that :meth:`close` has read again."""
        return self._commands[position]

    def dialog(self, key: DialogKey) -> Dialog | None:
        """Return a dialog's current state, without adding it to the overlay."""
        machine = self.machines.get(key)
        return machine.dialog if machine is not None else self.endpoint.dialogs.get(key)

    def heed(self, machine: Machine) -> None:
        """Apply catalog changes to a dialog of the overlay."""
        heed(self.endpoint, machine)

    # --- statements ------------------------------------------------------------------------------

    def seen_of(self, source: Source) -> Seen:
        """Return the statements of a source that were already processed."""
        return self.seen.get(source) or self.endpoint.seen.get(source) or Seen()

    # --- events ----------------------------------------------------------------------------------

    def emit_event(self, kind: EventKind, **fields: object) -> None:
        """Emit an event of this instance."""
        self.events.append(
            event(kind, at=self.now, instance=self.endpoint.instance, **fields)  # type: ignore[arg-type]
        )

    def report(self, key: DialogKey, subclass: ConversationEvent) -> None:
        """Report the new state of a conversation (event 124)."""
        dialog = self.machines[key].dialog
        self.emit_event(
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
    endpoint: CommittedState, any_body: AnyBody, dialog: Dialog, header: Header, body: bytes
) -> RefusalNumbers | None:
    if len(body) > endpoint.limits.body:
        return TOO_LARGE
    if any_body[dialog.database, dialog.contract, header.type, not dialog.is_initiator]:
        return None
    any_body.checked += len(body)
    endpoint.working()
    return judge(
        dialog,
        endpoint.contract(dialog.database, dialog.contract),
        endpoint.message_type(dialog.database, header.type),
        header,
        body,
    )
