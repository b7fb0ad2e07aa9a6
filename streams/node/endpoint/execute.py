"""Execute a statement on the dialogs of a transaction (reference 4.8).

SEND calls ``check_send``, then ``Machine.send``, whose effect Transmit sends the message
immediately.
"""

from __future__ import annotations

from streams.errors import ConversationEvent, Number
from streams.node.endpoint.commands import begin, check_end, check_send
from streams.node.endpoint.overlay import Overlay
from streams.protocol import Command, CommandKind, DialogKey, Machine

MOST_CONVERSATIONS = 1_000
"""Maximum number of conversations in one SEND. Each takes only 16 bytes of the statement, but as
much time as any dialog."""


def execute(tx: Overlay, position: int, command: Command) -> Number | None:
    """Execute a statement at ``position`` of ``cmd``; return the error if it is rejected."""
    if command.kind is CommandKind.BEGIN:
        return _begin(tx, command)
    key = (command.database, command.conversation, command.from_initiator)
    machine = tx.machine(key)
    if machine is None:
        return Number.HANDLE_UNKNOWN
    tx.heed(machine)
    match command.kind:
        case CommandKind.SEND:
            if command.also:
                return _send_to_all(tx, position, command, machine)
            refused = check_send(tx, command, machine.dialog)
            return refused or machine.send(position, len(command.body or b""))
        case CommandKind.TIMER:
            return machine.set_timer(command.timeout or 0)
        case CommandKind.MOVE:
            return _move(tx, command, machine)
        case _:
            return _end(tx, position, command, key, machine)


def _begin(tx: Overlay, command: Command) -> Number | None:
    sides = [(command.database, command.conversation, side) for side in (True, False)]
    known = any(tx.machine(key) is not None for key in sides)
    made = begin(tx, command, known=known)
    if isinstance(made, Number):
        return made
    tx.adopt(sides[0], made)
    tx.report(sides[0], ConversationEvent.BEGUN)
    return None


def _send_to_all(tx: Overlay, position: int, command: Command, first: Machine) -> Number | None:
    """SEND on several conversations; if one rejects the message, none of them sends it (EX-66)."""
    size, limits = len(command.body or b""), tx.endpoint.limits
    if size * (1 + len(command.also)) > limits.copies:  # one record may cause any number of copies
        return Number.MESSAGE_TOO_LARGE
    if len(command.also) >= MOST_CONVERSATIONS:
        return Number.MESSAGE_TOO_LARGE
    keys = [(command.database, also, command.from_initiator) for also in command.also]
    if len({command.conversation, *command.also}) <= len(keys):  # conversations must differ
        return Number.HANDLE_UNKNOWN
    if not all(tx.knows(key) for key in keys):  # before any dialog is changed
        return Number.HANDLE_UNKNOWN
    machines = [first]
    for key in keys:
        machine = tx.machine(key)
        assert machine is not None
        tx.heed(machine)
        machines.append(machine)
    for machine in machines:
        refused = check_send(tx, command, machine.dialog)
        if refused is None and not machine.may_send:
            refused = Number.SEND_STATE
        if refused is not None:
            return refused
    for machine in machines:
        machine.send(position, size)
    return None


def _end(
    tx: Overlay, position: int, command: Command, key: DialogKey, machine: Machine
) -> Number | None:
    if command.cleanup:
        number, subclass = machine.cleanup(), ConversationEvent.CLEANED_UP
    else:
        number = check_end(tx, command)
        with_error = command.error_code is not None
        subclass = ConversationEvent.ENDED_WITH_ERROR if with_error else ConversationEvent.ENDED
        if number is None:
            number = machine.end(position, with_error=with_error)
    if number is None:
        tx.report(key, subclass)
    return number


def _move(tx: Overlay, command: Command, machine: Machine) -> Number | None:
    if command.group is None:
        return Number.GROUP_MISSING
    service = tx.service_of(command.database, command.group)
    if service not in (None, machine.dialog.service):
        return Number.GROUP_INVALID
    refused = machine.move(command.group)
    tx.joins(machine)
    return refused
