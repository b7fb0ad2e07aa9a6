"""The three inputs of an endpoint worker: reading a record into a transaction, or refusing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from streams.errors import EventKind, Number, text_of
from streams.kafka import Cluster, Fetcher, Headers, Message, headers_of
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
from streams.workers.endpoint.allowance import BYTES

Input = Command | Frame | Status | Acknowledgement | MalformedError | None
"""What a record says; ``None``: nothing that is to be applied."""

MOVED_BYTES = 8 << 20
"""So many bytes of bodies are moved in one transaction, and what the last one has beyond."""


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
    """A statement is written in a schema that nobody has announced: it waits, and all behind it."""


class TooMuchError(Exception):
    """The bodies that a transaction needs are more than fits into one: try with less of it."""


@dataclass(slots=True)
class Bodies:
    """Bodies by position, for one partition: read again where memory does not have them.

    Raises TooMuchError rather than read more than :data:`BYTES` of them together, unless
    ``unbounded``.
    """

    cmd: Fetcher
    inbox: Fetcher
    unbounded: bool = False

    @classmethod
    def of(cls, cluster: Cluster, inputs: Inputs, number: int, cache_bytes: int) -> Bodies:
        """Return the bodies of a partition; so much of both topics is kept in memory."""
        return cls(
            Fetcher(cluster, inputs.cmd, number, cache_bytes // 2),
            Fetcher(cluster, inputs.inbox, number, cache_bytes // 2),
        )

    def commands(self, positions: Collection[int]) -> dict[int, Command]:
        """Return the commands at these positions of ``cmd``."""
        return {p: _command(m, headers_of(m)) for p, m in self._together(self.cmd, positions)}

    def messages(self, positions: Collection[int]) -> dict[int, Frame]:
        """Return the message frames at these positions of ``in``."""
        return {p: _frame(m, headers_of(m)) for p, m in self._together(self.inbox, positions)}

    def _together(
        self, fetcher: Fetcher, positions: Collection[int]
    ) -> Iterator[tuple[int, Message]]:
        """Yield records in the order of their positions: one pass over the log, forward."""
        size = 0
        for position in sorted(positions):
            record = fetcher.fetch(position)
            size += len(record)
            if size > BYTES and len(positions) > 1 and not self.unbounded:
                raise TooMuchError(f"{len(positions)} bodies")
            yield position, record

    def to_move(self, moves: Moves) -> list[Message]:
        """Return the records of bodies that are to be moved, of ``cmd`` and ``in``.

        Of large ones only the first few: the others the next time.
        """
        found, size = [], 0
        wanted = [(self.cmd, p) for p in moves.commands]
        for fetcher, position in wanted + [(self.inbox, p) for p in moves.frames]:
            found.append(fetcher.fetch(position))
            size += len(found[-1])
            if size > MOVED_BYTES:
                break
        return found

    def close(self) -> None:
        """Let the broker go."""
        self.cmd.close()
        self.inbox.close()


@dataclass(frozen=True, slots=True)
class Intake:
    """Read records of an instance's inputs, which have ``partitions`` partitions each.

    ``catch_up`` returns when everything is known that was announced before a moment. ``skips``
    tells whether somebody has ordered that the record at a place is skipped.
    """

    inputs: Inputs
    partitions: int
    catch_up: Callable[[float], None]
    skips: Callable[[str], bool]

    def read(self, message: Message, read_at: float) -> Input:
        """Decode a record that was read at ``read_at``; returns the error where it is malformed.

        Raises HeldBackError where a statement is written in a schema that nobody has announced:
        some application was promised that it is accepted.
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
        """Apply a record to a transaction; a malformed one is event 161.

        Bodies that may be needed again are remembered.
        """
        position = message.offset() or 0
        match read:
            case None:
                pass
            case MalformedError():
                _tell_corrupted(tx, message, read)
            case Command():
                bodies.cmd.remember(message)
                tx.command(position, read)
            case Frame():
                if tx.message(position, read):
                    bodies.inbox.remember(message)
            case Status():
                tx.status(read)
            case Acknowledgement():
                tx.acknowledgement(read)

    def _decoded(self, message: Message) -> Input:
        """Return what a record says: nothing new where it was said at another place before."""
        if self.partitions > 1:
            self._demand_partition(message)
        topic, headers = message.topic(), headers_of(message)
        if is_moved(headers):
            return None
        if topic == self.inputs.cmd:
            command = _command(message, headers)
            demand_size(message.value(), headers)  # last: the name of a bad field says more
            return command
        if topic == self.inputs.inbox:
            return _frame(message, headers)
        return read_ack(message.key(), message.value(), headers)

    def _demand_partition(self, message: Message) -> None:
        """Refuse a record that its key does not put here: its dialog lives in another partition."""
        right = partition_of(conversation_of(message.key()), self.partitions)
        if right != message.partition():
            raise MalformedError(f"the key belongs on partition {right}")

    def refuse(self, tx: Transaction, message: Message, number: Number) -> None:
        """Refuse what cannot be applied: a frame is not acknowledged, a command gets its answer."""
        detail = f"rejected, it failed twice: {text_of(number)}"
        if message.topic() != self.inputs.cmd:
            _tell(tx, message, EventKind.MESSAGE_UNDELIVERABLE, error=number, detail=detail)
            return
        try:
            command = _command(message, headers_of(message))
        except MalformedError as error:
            _tell_corrupted(tx, message, error)
            return
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


def report_parked(tx: Transaction, key: DialogKey, number: Number) -> None:
    """Tell that a dialog's timer cannot be applied (event 160)."""
    database, conversation, is_initiator = key
    tx.emit_event(
        EventKind.MESSAGE_UNDELIVERABLE,
        conversation=conversation,
        database=database,
        from_initiator=is_initiator,
        error=number,
        detail=f"its timer is postponed, it failed twice: {text_of(number)}",
    )


def _tell_corrupted(tx: Transaction, message: Message, broken: MalformedError) -> None:
    """Emit event 161; its number says which rule of a header the record breaks (4.3)."""
    _tell(tx, message, EventKind.CORRUPTED_MESSAGE, error=broken.number, detail=str(broken))


def _tell(
    tx: Transaction, message: Message, kind: EventKind, *, error: Number, **fields: object
) -> None:
    """Emit an event about a record, with its coordinates."""
    try:
        conversation = conversation_of(message.key())
    except MalformedError:
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
    # Of a record that was written while `in` had CreateTime it is the enqueue time: never late.
    return read_message(message.key(), message.value(), headers, message.timestamp()[1])
