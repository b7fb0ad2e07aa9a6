"""The three inputs of an endpoint worker: apply a record to a transaction, or reject it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from streams.errors import EventKind, Number, text_of
from streams.kafka import Message, headers_of
from streams.node import CommandResult, Transaction
from streams.protocol import Acknowledgement, Command, DialogKey, Status
from streams.protocol import Message as Frame
from streams.wire import MalformedError, Topics, UnknownSchemaError
from streams.wire.partition import partition_of
from streams.wire.records import conversation_of, demand_size, is_moved, read_ack
from streams.workers.endpoint.bodies import Bodies, command_of, frame_of

Input = Command | Frame | Status | Acknowledgement | MalformedError | None
"""The content of a record; ``None`` if there is nothing to apply."""


class Inputs(NamedTuple):
    """The topics that are consumed together, partition by partition."""

    cmd: str
    inbox: str
    ack: str

    @classmethod
    def of(cls, topics: Topics, instance: str) -> Inputs:
        """Return an instance's inputs."""
        return cls(topics.cmd(instance), topics.inbox(instance), topics.ack(instance))


class HeldBackError(Exception):
    """A statement's schema is unknown, so this and all later statements wait."""


class RejectReason(NamedTuple):
    """The reason to reject an item; ``bare``: report only its coordinates, without decoding it.

    ``why``: the reason in words, if it is more specific than the text of ``number``.
    """

    number: Number
    why: str = ""
    bare: bool = False

    @property
    def reason(self) -> str:
        """Return the reason in words."""
        return self.why or text_of(self.number)


@dataclass(frozen=True, slots=True)
class Intake:
    """Read records of an instance's inputs, which have ``partitions`` partitions each.

    ``try_catch_up`` waits briefly until every schema that was announced before a given time is
    known. ``skips`` returns whether an operator has ordered workers to skip the record at a place.
    """

    inputs: Inputs
    partitions: int
    try_catch_up: Callable[[float], object]
    skips: Callable[[str], bool]

    def read(self, message: Message, read_at: float) -> Input:
        """Decode a record that was read at ``read_at``; return the error if it is malformed.

        Raises HeldBackError for a statement that is encoded with an unknown schema: it must not be
        rejected, because the application may assume that it was accepted. Other records with an
        unknown schema are repeated by their senders.
        """
        try:
            try:
                return self._decoded(message)
            except UnknownSchemaError:
                self.try_catch_up(read_at)
                return self._decoded(message)
        except MalformedError as error:
            if isinstance(error, UnknownSchemaError) and message.topic() == self.inputs.cmd:
                if not self.skips(_place(message)):
                    raise HeldBackError(f"{_place(message)}: {error}") from error
                return MalformedError(f"{error}; skipped by 'hopline skip'")
            return error

    def apply(self, tx: Transaction, bodies: Bodies, message: Message, read: Input) -> None:
        """Apply a record to a transaction; report a malformed record as event 161.

        Only bodies that may be needed again are cached, so that other bodies do not evict them.
        """
        position = message.offset() or 0
        match read:
            case None:
                pass
            case MalformedError():
                kind = EventKind.CORRUPTED_MESSAGE  # the number identifies the violated rule (4.3)
                _tell(tx, message, kind, error=read.number, detail=str(read))
            case Command():
                if tx.command(position, read):
                    bodies.cmd.remember(message)
            case Frame():
                if tx.message(position, read):
                    bodies.inbox.remember(message)
            case Status():
                tx.status(read)
            case Acknowledgement():
                tx.acknowledgement(read)

    def _decoded(self, message: Message) -> Input:
        """Return a record's content; ``None`` for a moved copy of another record."""
        if self.partitions > 1:
            self._demand_partition(message)
        topic, headers = message.topic(), headers_of(message)
        if is_moved(headers):
            return None
        if topic == self.inputs.cmd:
            command = command_of(message, headers)
            # Checked last, because an error about an invalid field is more specific.
            demand_size(len(message), headers)
            return command
        if topic == self.inputs.inbox:
            return frame_of(message, headers)
        return read_ack(message.key(), message.value(), headers)

    def _demand_partition(self, message: Message) -> None:
        """Reject a record whose key maps to another partition, where the state of its dialog is."""
        right = partition_of(conversation_of(message.key()), self.partitions)
        if right != message.partition():
            raise MalformedError(f"the key belongs to partition {right}")

    def refuse(self, tx: Transaction, message: Message, rejection: RejectReason) -> None:
        """Reject an input that cannot be applied: do not acknowledge a frame; let a command fail.

        Raises any error of the decoder, unless the rejection is ``bare``.
        """
        number = rejection.number
        detail = f"rejected because it failed twice: {rejection.reason}"
        if rejection.bare:
            _tell(tx, message, EventKind.CORRUPTED_MESSAGE, error=number, detail=detail)
            return
        if message.topic() != self.inputs.cmd:
            _tell(tx, message, EventKind.MESSAGE_UNDELIVERABLE, error=number, detail=detail)
            return
        command = command_of(message, headers_of(message))
        _tell(
            tx,
            message,
            EventKind.CONVERSATION,
            error=number,
            detail=detail,
            database=command.database,
            from_initiator=command.from_initiator,
            message_id=str(command.command_id),
        )
        if command.reply_to is not None:
            tx.results.append(
                CommandResult(command.reply_to, command.command_id, command.conversation, number)
            )


def _place(message: Message) -> str:
    return f"{message.topic()}/{message.partition()}@{message.offset()}"


def report_postponed(tx: Transaction, key: DialogKey, rejection: RejectReason) -> None:
    """Report that a dialog's timer cannot be applied (event 160)."""
    database, conversation, is_initiator = key
    tx.emit_event(
        EventKind.MESSAGE_UNDELIVERABLE,
        conversation=conversation,
        database=database,
        from_initiator=is_initiator,
        error=rejection.number,
        detail=f"its timer is postponed because it failed twice: {rejection.reason}",
    )


def _tell(
    tx: Transaction, message: Message, kind: EventKind, *, error: Number, **fields: object
) -> None:
    """Emit an event about a record, with its coordinates."""
    try:
        conversation = conversation_of(message.key())
    except Exception:  # an event without the conversation is better than no event
        conversation = None
    tx.emit_event(
        kind,
        conversation=conversation,
        error=error,
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        **fields,
    )
