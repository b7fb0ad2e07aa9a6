"""One transaction of an endpoint worker: turn inputs into records without changing the state.

A transaction changes only copies (the *overlay*). After Kafka's commit, the worker merges the
overlay into the :class:`~streams.node.Endpoint`; after an abort, the overlay is dropped and the
same inputs are read again.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable

from streams.errors import EventKind, Number, text_of
from streams.node.endpoint.accept_message import admit, answering, choose_database
from streams.node.endpoint.bodies import TooMuchError, UnreadableError
from streams.node.endpoint.effects_to_records import effects_to_records, send_ack
from streams.node.endpoint.execute import execute
from streams.node.endpoint.flows import destination
from streams.node.endpoint.outgoing import CommandResult
from streams.node.endpoint.overlay import Overlay
from streams.node.endpoint.turns import take_turns
from streams.protocol import (
    ADDRESSES,
    Ack,
    Acknowledgement,
    Cause,
    Command,
    CommandKind,
    DialogKey,
    Header,
    Message,
    Status,
    Transmit,
)

_MOST_COPIED = 32 << 20
"""Maximum total bytes of additional copies that a transaction makes of bodies it has reread."""


class Transaction(Overlay):
    """Apply a run of inputs to an overlay of the committed state."""

    __slots__ = ()

    # --- inputs ----------------------------------------------------------------------------------

    def command(self, position: int, command: Command) -> bool:
        """Apply a statement; return whether it was executed and its body may be needed again.

        A rejected statement yields an event and a result. A statement that was seen before has no
        effect and gets the same result again.
        """
        if command.cause is not None and self._pass_over(command, command.cause):
            return False
        self._commands[position] = command
        self.statements += 1
        self.planned += 1
        known = len(self.machines)
        number = execute(self, position, command)
        if command.cause is not None:
            seen = self.seen_of(command.cause.source)
            self.seen[command.cause.source] = seen.plus(command.cause, command, int(number or 0))
        if command.also and command.kind is CommandKind.SEND:
            copies, size = len(command.also) if number is None else 0, len(command.body or b"")
            touched = len(self.machines) - known - 1  # the state of rejected dialogs is written too
            self.planned += max(0, touched, copies * self.endpoint.limits.fragments(size))
            self.copied += copies * size
        if number is not None:
            self._end_request(command)
            self.emit_event(
                EventKind.CONVERSATION,
                conversation=command.conversation,
                database=command.database,
                from_initiator=command.from_initiator,
                error=number,
                message_id=str(command.command_id),
                detail=f"{command.kind.value} refused: {text_of(number)}",
            )
        self._answer(command, int(number or 0))
        return number is None

    def _pass_over(self, command: Command, cause: Cause) -> bool:
        """Return whether a statement was seen before; count repetitions, report differences."""
        seen = self.seen_of(cause.source)
        if not seen.has(cause):
            return False
        self.repeated += 1
        if seen.differs(cause, command):
            self.emit_event(
                EventKind.CONVERSATION,
                conversation=command.conversation,
                database=command.database,
                from_initiator=command.from_initiator,
                detail=f"{command.kind.value} skipped: {cause.source} has sent a different "
                f"statement at {cause.offset}, {cause.n}",
            )
        known = seen.find(cause)
        self._answer(command, known.number if known is not None else 0)
        return True

    def _end_request(self, command: Command) -> None:
        """Remove the dialog of a route request that could not be made."""
        if self.notices.refused(command):
            machine = self.machine((command.database, command.conversation, True))
            if machine is not None:
                machine.cleanup()

    def _answer(self, command: Command, number: int) -> None:
        if command.reply_to is not None:
            self.results.append(
                CommandResult(command.reply_to, command.command_id, command.conversation, number)
            )

    def foresee(self, messages: Iterable[Message]) -> None:
        """Read all buffered fragments that follow these messages together.

        The call is optional: without it, :meth:`message` reads each fragment individually.
        """
        gaps = self.endpoint.gaps
        if not gaps:
            return
        arrived: dict[DialogKey, list[Header]] = {}
        for message in messages:
            key = gaps.get((message.conversation, not message.parties.from_initiator))
            if key is not None:
                arrived.setdefault(key, []).append(message.header)
        limits, needed = self.endpoint.limits, dict[int, uuid.UUID]()
        for key, headers in arrived.items():
            dialog = self.dialog(key)  # as it is now, after timers and catalog changes
            if dialog is None or dialog.continues:  # no message delivers the next fragments
                continue
            parked = len(dialog.parked)
            most = min(limits.run, limits.window - parked) if parked else limits.run
            end = dialog.receive_sequence + limits.widest
            # without other messages, whose numbers could have equal hashes
            fragments = {h.at: h.fragments for h in headers if h.sequence < end}
            follow = dialog.follow(fragments, most - 1)  # one of these fragments has arrived
            needed.update(dict.fromkeys(follow, dialog.conversation))
            if len(needed) >= self.most:
                break
        self._frames.read(needed)

    def message(self, position: int, message: Message) -> bool:
        """Apply a message frame from the local forwarder; return whether it is kept.

        The conversation and the parties determine the frame's endpoint, which does not change
        within a transaction. A frame is kept if it is out of order, incomplete or parked; it is
        later read again from its position.
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

    def is_next(self, message: Message) -> bool:
        """Return whether a message frame is the next frame of its dialog, or begins a dialog."""
        database, from_initiator = choose_database(self, message), message.parties.from_initiator
        if database is None:
            return False
        dialog = self.dialog((database, message.conversation, not from_initiator))
        if dialog is None:
            return from_initiator and message.header.at == (0, 0)
        return message.header.at == dialog.received

    def acknowledgement(self, frame: Acknowledgement) -> None:
        """Apply an acknowledgement frame.

        If a target asks about a dialog that its initiator has removed, the reply states that the
        initiator is closed. Other acknowledgements for unknown dialogs are ignored.
        """
        parties, ack = frame.parties, frame.ack
        database = self.endpoint.here.with_broker_id(parties.to_broker or "")
        if database is None:
            return
        machine = self.machine((database.name, frame.conversation, not parties.from_initiator))
        if machine is not None:
            asked = machine.dialog.status == Number.WAITING_FOR_CONFIGURATION
            before, where = len(machine.effects), destination(machine.dialog)
            if machine.acknowledgement(frame):
                self.turns.answered |= {where: None, destination(machine.dialog): None}
            self.planned += len(machine.effects) - before
            if asked and not machine.dialog.status:
                self.notices.found(database.name, machine.dialog.far_service)
        elif not parties.from_initiator:
            back = answering(parties, database.broker_id)
            attempt = max(0, ack.attempt)
            said = Ack(0, -1, attempt, ack.first_hop, self.now, closed=True)
            send_ack(self, frame.conversation, back, said, attempt % ADDRESSES, 0)

    def status(self, status: Status) -> None:
        """Apply the local forwarder's report of a copy that it could not send."""
        if status.service is not None:
            self.notices.ask(status)
            return
        machine = self.machine((status.database, status.conversation, status.from_initiator))
        if machine is not None:
            machine.status(status)

    def due(self, keys: Iterable[DialogKey]) -> None:
        """Process due dialogs."""
        for key in keys:
            machine = self.machine(key)
            if machine is not None:
                self.heed(machine)
                machine.due()

    def wake(self, keys: Iterable[DialogKey]) -> None:
        """Re-evaluate dialogs after a catalog change, with retries spread over a second (U-14).

        These dialogs include those with buffered messages that an earlier transaction has not
        delivered. The frames of all these dialogs are read together. Dialogs that do not fit into
        the transaction are re-evaluated in the next one. So are all remaining dialogs when too many
        bodies have been validated.
        """
        woken: list[DialogKey] = []
        needed: dict[int, uuid.UUID] = {}
        for key in keys:
            if self.planned + len(needed) >= self.most // 2 and woken:
                break
            woken.append(key)
            machine = self.machine(key)
            if machine is not None and machine.shows_stored:
                frames = machine.dialog.next_frames(self.endpoint.limits.run)
                needed.update(dict.fromkeys(frames, key[1]))
        self._frames.read(needed)
        for number, key in enumerate(woken):
            if self.any_body.rests():
                del woken[number:]
                break
            machine = self.machines.get(key)
            if machine is not None:
                self.heed(machine)
                machine.wake(key[1].int % 1000)
                self.planned += len(machine.effects)
        self.probed = tuple(woken)

    def close(self) -> None:
        """Finish the transaction: turn every effect into records.

        A dialog whose window had room has already transmitted its messages and does not take a
        turn.
        """
        take_turns(self)
        self.forgotten_sources = self.endpoint.sources_to_forget(self.seen)
        self.notices.close(self.machines.values())
        self._read_again()
        for key, machine in self.machines.items():
            machine.finish()
            if machine.effects:
                effects_to_records(self, key, machine.dialog, machine.effects)
                machine.effects.clear()

    def _read_again(self) -> None:
        """Read all bodies that were accepted earlier and are transmitted now in one step.

        Raises TooMuchError if the copies of the same bodies for several dialogs are too large in
        total.
        """
        known = self._commands
        users = [
            (effect.position, key[1])
            for key, machine in self.machines.items()
            for effect in machine.effects
            if type(effect) is Transmit and effect.position not in known
        ]
        needed = dict(users)
        if needed:
            try:
                known.update(self.bodies.commands(needed))
            except UnreadableError as error:
                error.conversations = {name for at, name in users if at in error.positions}
                raise
        if len(users) > len(needed):  # fragments, or a SEND on several conversations
            read = Counter(position for position, _ in set(users))
            copied = sum(len(known[p].body or b"") * (count - 1) for p, count in read.items())
            if copied > _MOST_COPIED:
                raise TooMuchError(f"{copied} bytes of copies")
