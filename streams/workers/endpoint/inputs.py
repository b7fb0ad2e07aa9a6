"""The three inputs of an endpoint worker: apply a record to a transaction, or reject it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from streams.errors import EventKind, Number, text_of
from streams.kafka import Cluster, Fetcher, Headers, Message, headers_of, size_of
from streams.node import CommandResult, Moves, Transaction
from streams.protocol import Acknowledgement, Command, DialogKey, Status
from streams.protocol import Message as Frame
from streams.wire import MalformedError, Topics, UnknownSchemaError
from streams.wire.partition import partition_of
from streams.wire.records import (
    conversation_of,
    demand_size,
    is_moved,
    read_ack,
    read_command,
    read_message,
)
from streams.workers.endpoint.allowance import BYTES, READ_BYTES
from streams.workers.pulse import beat

Input = Command | Frame | Status | Acknowledgement | MalformedError | None
"""The content of a record; ``None`` if there is nothing to apply."""

MOVED_BYTES = 8 << 20
"""Limit in bytes of bodies and headers moved in one transaction; the last body may exceed it."""


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
    """A statement's schema is not announced, so this and all later statements wait."""


class TooMuchError(Exception):
    """The bodies that a transaction needs exceed its limit; retry with less work."""


class RejectReason(NamedTuple):
    """The reason to reject an item; ``bare``: report only its coordinates, and decode nothing.

    ``why``: the reason in words, if it is more specific than the text of ``number``.
    """

    number: Number
    why: str = ""
    bare: bool = False

    @property
    def reason(self) -> str:
        """Return the reason in words."""
        return self.why or text_of(self.number)


@dataclass(slots=True)
class Bodies:
    """Bodies of one partition by offset; bodies that are not in memory are reread.

    Unless ``unbounded``, raises TooMuchError rather than return more than :data:`BYTES` in total,
    or read more than :data:`READ_BYTES` for them. Both limits include headers.
    """

    cmd: Fetcher
    inbox: Fetcher
    unbounded: bool = False

    @classmethod
    def of(cls, cluster: Cluster, inputs: Inputs, number: int, cache_bytes: int) -> Bodies:
        """Return the bodies of a partition, with a cache of this size shared by both topics."""
        return cls(
            Fetcher(cluster, inputs.cmd, number, cache_bytes // 2),
            Fetcher(cluster, inputs.inbox, number, cache_bytes // 2),
        )

    def commands(self, positions: Collection[int]) -> dict[int, Command]:
        """Return the commands at these offsets of ``cmd``."""
        return {p: _command(m, headers_of(m)) for p, m in self._together(self.cmd, positions)}

    def messages(self, positions: Collection[int]) -> dict[int, Frame]:
        """Return the message frames at these offsets of ``in``."""
        return {p: _frame(m, headers_of(m)) for p, m in self._together(self.inbox, positions)}

    def _together(
        self, fetcher: Fetcher, positions: Collection[int]
    ) -> Iterator[tuple[int, Message]]:
        """Yield records in offset order, in one forward pass over the log."""
        most, reach = fetcher.bytes_returned + BYTES, fetcher.bytes_read + READ_BYTES
        left = len(positions)
        for position in sorted(positions):
            beat()
            record = fetcher.fetch(position)
            left -= 1
            is_too_much = fetcher.bytes_returned > most or fetcher.bytes_read > reach
            if is_too_much and left and not self.unbounded:
                raise TooMuchError(f"{len(positions)} bodies")
            yield position, record

    def to_move(self, moves: Moves) -> list[Message]:
        """Return the records of bodies to move, of ``cmd`` and ``in``.

        If the bodies are large, only the first few are returned; the others are moved next time.
        """
        found, size = [], 0
        wanted = [(self.cmd, p) for p in moves.commands]
        for fetcher, position in wanted + [(self.inbox, p) for p in moves.frames]:
            found.append(fetcher.fetch(position))
            size += size_of(found[-1])
            if size > MOVED_BYTES:
                break
        return found

    def rest(self) -> None:
        """Close the consumers of fetchers that have read nothing since the last call."""
        self.cmd.rest()
        self.inbox.rest()

    def close(self) -> None:
        """Close the fetchers."""
        self.cmd.close()
        self.inbox.close()


@dataclass(frozen=True, slots=True)
class Intake:
    """Read records of an instance's inputs, which have ``partitions`` partitions each.

    ``catch_up`` returns when every schema announced before a given moment is known. ``skips``
    returns whether an operator lets workers skip the record at a place.
    """

    inputs: Inputs
    partitions: int
    catch_up: Callable[[float], None]
    skips: Callable[[str], bool]

    def read(self, message: Message, read_at: float) -> Input:
        """Decode a record that was read at ``read_at``; return the error if it is malformed.

        Raises HeldBackError for a statement encoded with an unannounced schema, because the
        application may assume that the statement was accepted.
        """
        try:
            try:
                return self._decoded(message)
            except UnknownSchemaError:
                self.catch_up(read_at)
                return self._decoded(message)
        except MalformedError as error:
            if isinstance(error, UnknownSchemaError) and message.topic() == self.inputs.cmd:
                if not self.skips(_place(message)):
                    raise HeldBackError(f"{_place(message)}: {error}") from error
                return MalformedError(f"{error}; skipped by 'hopline skip'")
            return error

    def apply(self, tx: Transaction, bodies: Bodies, message: Message, read: Input) -> None:
        """Apply a record to a transaction; report a malformed record by event 161.

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
        """Return a record's content, which is empty for a moved copy of another record."""
        if self.partitions > 1:
            self._demand_partition(message)
        topic, headers = message.topic(), headers_of(message)
        if is_moved(headers):
            return None
        if topic == self.inputs.cmd:
            command = _command(message, headers)
            # checked last, because the name of an invalid field is more specific
            demand_size(len(message), headers)
            return command
        if topic == self.inputs.inbox:
            return _frame(message, headers)
        return read_ack(message.key(), message.value(), headers)

    def _demand_partition(self, message: Message) -> None:
        """Reject a record whose key belongs to another partition, the one that has its dialog."""
        right = partition_of(conversation_of(message.key()), self.partitions)
        if right != message.partition():
            raise MalformedError(f"the key belongs to partition {right}")

    def refuse(self, tx: Transaction, message: Message, rejection: RejectReason) -> None:
        """Reject an input that cannot be applied: a frame is not acknowledged, and a command fails.

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
        command = _command(message, headers_of(message))
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


def report_parked(tx: Transaction, key: DialogKey, rejection: RejectReason) -> None:
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


def _command(message: Message, headers: Headers) -> Command:
    return read_command(message.key(), message.value(), headers, message.timestamp()[1])


def _frame(message: Message, headers: Headers) -> Frame:
    # For a record written while `in` had CreateTime, this is the enqueue time, which is never late.
    return read_message(message.key(), message.value(), headers, message.timestamp()[1])
