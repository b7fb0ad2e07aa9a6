"""The endpoint worker: applications' commands and arriving frames in, dialogs and queues out.

It owns partition p of ``cmd``, ``in`` and ``ack`` together. A turn of its loop is a transaction:

    1. apply the records that were read, and the timers that are due, to an overlay
    2. produce: frames to ``out``, messages to queues, state, results, events
    3. send the next offsets of ``cmd``, ``in`` and ``ack`` to the transaction - always all three:
       only that fences a predecessor that was declared dead but is not
    4. commit; then, and only then, merge the overlay

A crash before 4 leaves nothing behind; after 4 everything. An abort drops the overlay and seeks
back, because librdkafka does not. A commit that timed out is called again, and never taken for an
abort.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from streams.errors import EventKind, Number, SurroundingsError, text_of
from streams.kafka import (
    Cluster,
    Consumer,
    Fetcher,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    headers_of,
    partitions_of,
    watermarks,
)
from streams.node import CommandResult, Endpoint, Transaction
from streams.protocol import Command, Limits, Status
from streams.protocol import Message as Frame
from streams.wire import MalformedError
from streams.wire.partition import partition_of
from streams.wire.records import conversation_of, read_ack, read_command, read_message
from streams.wire.state import Positions
from streams.workers.control import Control
from streams.workers.output import Output
from streams.workers.restore import restore_state, start_position

log = logging.getLogger("hopline.endpoint")

BATCH = 1_000
POLL = 0.05
PROGRESS_EVERY = 0.5
FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
REFUSED = {
    KafkaError.MSG_SIZE_TOO_LARGE: Number.MESSAGE_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE: Number.MESSAGE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE: Number.MESSAGE_TOO_LARGE,
    KafkaError.INVALID_RECORD: Number.CORRUPTED_HEADER,
    KafkaError.INVALID_TIMESTAMP: Number.CORRUPTED_HEADER,
}
"""What Kafka says of a record that it will never take, and how that is told.

Whatever else aborts a transaction says nothing about the records in it: they are read again.
"""


class FencedError(Exception):
    """Another worker owns the slot: this process must leave."""


@dataclass(slots=True)
class _Bodies:
    """Bodies by position, for one partition: read again where memory does not have them."""

    commands: Fetcher
    frames: Fetcher

    def command(self, position: int) -> Command:
        return _command(self.commands.fetch(position))

    def message(self, position: int) -> Frame:
        return _frame(self.frames.fetch(position))


@dataclass(slots=True)
class _Partition:
    """Partition p of the three inputs, with the endpoints that live in it.

    Timers run only when the backlog of ``in`` and ``ack`` that was there at assignment is applied:
    an acknowledgement that waits there must not be answered with a retry.
    """

    number: int
    endpoint: Endpoint
    bodies: _Bodies
    positions: dict[str, int]
    backlog: dict[str, int]
    progress_at: float = 0.0
    pending: list[Message] = field(default_factory=list)

    @property
    def caught_up(self) -> bool:
        """Tell whether the backlog is applied."""
        return all(self.positions[topic] >= end for topic, end in self.backlog.items())


class EndpointWorker:
    """One replica of an instance's endpoint worker; ``slot`` names it across restarts."""

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        control: Control,
        *,
        slot: str = "0",
        limits: Limits | None = None,
    ) -> None:
        self.instance = instance
        self._cluster = cluster
        self._control = control
        self._slot = slot
        self._limits = limits or Limits()
        topics = cluster.topics
        self._cmd, self._in, self._ack = (
            topics.cmd(instance),
            topics.inbox(instance),
            topics.ack(instance),
        )
        self._inputs = (self._cmd, self._in, self._ack)
        self._owned: dict[int, _Partition] = {}
        self._stop = threading.Event()
        self.committed = 0

    def run(self, stop: threading.Event) -> None:
        """Run dialogs until ``stop``; raises FencedError where another worker has the slot."""
        prefix = self._cluster.topics.prefix
        self._stop = stop
        self._new_producer()
        self._partitions = len(partitions_of(self._cluster, self._cmd))
        # It reads no records: only the forwarder's positions, and where logs really end.
        self._progress = self._cluster.consumer(
            f"{prefix}forwarder.{self.instance}", isolation_level="read_uncommitted"
        )
        consumer = self._consumer = self._cluster.consumer(
            f"{prefix}endpoint.{self.instance}",
            partition_assignment_strategy="range",
        )
        consumer.subscribe(
            list(self._inputs),
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )
        try:
            while not stop.is_set():
                self._turn(consumer)
        finally:
            for owned in self._owned.values():
                owned.bodies.commands.close()
                owned.bodies.frames.close()
            self._progress.close()
            consumer.close()

    def _new_producer(self) -> None:
        topics = self._cluster.topics
        self._producer = self._cluster.producer(
            transactional_id=f"{topics.prefix}endpoint.{self.instance}.{self._slot}",
            linger_ms=0,
            delivery_report_only_error=False,
        )
        self._guard(lambda: self._producer.init_transactions(30))
        self._output = Output(topics, self.instance, self._producer)

    def _turn(self, consumer: Consumer) -> None:
        first = consumer.poll(POLL)
        if first is not None:
            for message in [first, *consumer.consume(BATCH, 0)]:
                if message.error() is not None:
                    self._consumer_error(message)
                    continue
                owned = self._owned.get(message.partition() or 0)
                if owned is not None:
                    owned.pending.append(message)
        for owned in list(self._owned.values()):
            world = self._control.world
            if world is not owned.endpoint.world:
                if self.instance not in world.instances:
                    raise SurroundingsError(f"The catalog has {self.instance} no longer.")
                owned.endpoint.switch(world)
            pending, owned.pending = owned.pending, []
            if pending or self._is_due(owned):
                self._apply(owned, pending)

    def _is_due(self, owned: _Partition) -> bool:
        """Tell whether timers want a transaction, and know then how far the forwarder has come."""
        if not owned.caught_up:
            return False
        due = owned.endpoint.next_due
        if owned.endpoint.has_probes:
            return True
        return due is not None and due <= time.time_ns() // 1_000_000

    # --- one transaction -------------------------------------------------------------------------

    def _apply(self, owned: _Partition, messages: Sequence[Message]) -> bool:
        """Apply a batch in one transaction; what fails twice is bisected down to one record.

        ``False``: Kafka has aborted. What follows must not be applied then: it would move the
        positions past records that are read again only to be taken for repeated ones.
        """
        number = Number.CORRUPTED_HEADER
        for attempt in range(2):
            try:  # the second time without timers: what they say must not condemn the records
                return self._transact(owned, messages, timers=not (attempt and messages))
            except (FencedError, SurroundingsError):
                raise
            except Exception as error:
                log.exception("%s: a batch of %d was not applied", self.instance, len(messages))
                number = _number_of(error)
        if len(messages) > 1:
            middle = len(messages) // 2
            return self._apply(owned, messages[:middle]) and self._apply(owned, messages[middle:])
        if messages:
            return self._transact(owned, messages, timers=False, refusal=number)
        raise SurroundingsError(f"{self.instance}: timers cannot be applied, see the log.")

    def _transact(
        self,
        owned: _Partition,
        messages: Sequence[Message],
        *,
        timers: bool,
        refusal: Number | None = None,
    ) -> bool:
        endpoint, now = owned.endpoint, time.time_ns() // 1_000_000
        self._know_progress(owned, now)
        tx = endpoint.begin(owned.bodies, now, timers=timers and owned.caught_up)
        positions = dict(owned.positions)
        try:
            for message in messages:
                topic, offset = message.topic() or "", message.offset() or 0
                # After a rebalance or a seek, what was fetched before may come once more.
                if offset < positions[topic]:
                    continue
                if refusal is None:
                    self._input(tx, owned, message)
                else:
                    self._refuse(tx, message, refusal)
                positions[topic] = offset + 1
            tx.close()
            out_end = self._commit(owned, tx, positions)
        except BaseException:
            endpoint.abandon(tx)
            raise
        if out_end is None:  # aborted: the same records are read again
            endpoint.abandon(tx)
            self._seek_back(owned)
            return False
        endpoint.merge(tx, out_end)
        owned.positions = positions
        self.committed += 1
        return True

    def _input(self, tx: Transaction, owned: _Partition, message: Message) -> None:
        topic, position = message.topic(), message.offset() or 0
        try:
            self._demand_partition(message)
            if topic == self._cmd:
                owned.bodies.commands.remember(message)
                tx.command(position, _command(message))
            elif topic == self._in:
                owned.bodies.frames.remember(message)
                tx.message(position, _frame(message))
            else:
                read = read_ack(message.key(), message.value(), headers_of(message))
                if isinstance(read, Status):
                    tx.status(read)
                else:
                    tx.acknowledgement(read)
        except MalformedError as error:
            self._tell(tx, message, EventKind.CORRUPTED_MESSAGE, detail=str(error))

    def _demand_partition(self, message: Message) -> None:
        """Refuse a record that its key does not put here: its dialog lives in another partition."""
        if self._partitions > 1:
            right = partition_of(conversation_of(message.key()), self._partitions)
            if right != message.partition():
                raise MalformedError(f"the key belongs on partition {right}")

    def _refuse(self, tx: Transaction, message: Message, number: Number) -> None:
        """Refuse what cannot be applied: a frame is not acknowledged, a command gets its answer."""
        detail = f"refused, applying it failed twice: {text_of(number)}"
        if message.topic() != self._cmd:
            self._tell(tx, message, EventKind.MESSAGE_UNDELIVERABLE, error=number, detail=detail)
            return
        try:
            command = _command(message)
        except MalformedError as error:
            self._tell(tx, message, EventKind.CORRUPTED_MESSAGE, detail=str(error))
            return
        self._tell(
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

    def _tell(
        self,
        tx: Transaction,
        message: Message,
        kind: EventKind,
        *,
        error: Number = Number.CORRUPTED_HEADER,
        **fields: object,
    ) -> None:
        """Emit an event about a record, with its coordinates."""
        try:
            conversation = conversation_of(message.key())
        except MalformedError:
            conversation = None
        tx.tell(
            kind,
            conversation=conversation,
            error=error,
            topic=message.topic(),
            partition=message.partition(),
            offset=message.offset(),
            **fields,
        )

    def _commit(self, owned: _Partition, tx: Transaction, positions: dict[str, int]) -> int | None:
        """Write and commit a transaction; returns the end of its copies in ``out``, or ``None``.

        ``None`` means aborted: nothing of it happened.
        """
        self._output.begin()
        self._guard(self._producer.begin_transaction)
        try:
            self._output.write(tx, owned.number, Positions(*(positions[t] for t in self._inputs)))
            offsets = [TopicPartition(t, owned.number, positions[t]) for t in self._inputs]
            member = self._member
            self._guard(lambda: self._producer.send_offsets_to_transaction(offsets, member, 15))
            self._guard(lambda: self._producer.commit_transaction(15))
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() in FENCED or cause.fatal():
                raise FencedError(str(cause)) from error
            log.warning("%s: transaction aborted: %s", self.instance, cause.str())
            self._guard(lambda: self._producer.abort_transaction(15))
            if cause.code() in REFUSED:
                # The numbers of the refused batch are spent for the client but not for the broker,
                # which would refuse the next one too, whatever is in it: begin anew.
                self._new_producer()
            elif cause.txn_requires_abort():
                return None
            raise  # a record that Kafka does not take: found by bisection
        except BaseException:
            self._guard(lambda: self._producer.abort_transaction(15))
            raise
        return self._output.out_end

    def _guard(self, call: object) -> None:
        """Call until it is certain: a retriable failure says nothing about the outcome."""
        while True:
            try:
                call()  # type: ignore[operator]
                return
            except KafkaException as error:
                cause = error.args[0]
                if cause.code() in FENCED or cause.fatal():
                    raise FencedError(str(cause)) from error
                if not cause.retriable():
                    raise
                if self._stop.is_set():
                    # Nothing is committed by leaving now: the next owner fences the transaction.
                    raise SurroundingsError(
                        f"{self.instance} was stopped while Kafka did not answer: {cause.str()}."
                    ) from error
                log.warning("%s: %s, trying again", self.instance, cause.str())

    def _know_progress(self, owned: _Partition, now: int) -> None:
        """Ask how far the forwarder has come in ``out``, when a retry could depend on it."""
        due, clock = owned.endpoint.next_due, time.monotonic()
        if due is None or due > now or clock < owned.progress_at:
            return
        out = TopicPartition(self._cluster.topics.out(self.instance), owned.number)
        try:
            offset = self._progress.committed([out], timeout=5)[0].offset
        except KafkaException as error:
            log.warning("%s: the forwarder's position is unknown: %s", self.instance, error)
            return
        owned.endpoint.left_out = max(owned.endpoint.left_out, offset)
        owned.progress_at = clock + PROGRESS_EVERY

    def _seek_back(self, owned: _Partition) -> None:
        for topic, position in owned.positions.items():
            self._consumer.seek(TopicPartition(topic, owned.number, position))
        owned.pending.clear()

    # --- partitions ------------------------------------------------------------------------------

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Who owns partitions by this assignment commits as its member for as long as it owns them.
        # Asked later, a client that was declared dead may say that it is a member of nothing, and
        # such a one Kafka does not fence.
        self._member = consumer.consumer_group_metadata()
        if not consumer.memberid():
            consumer.assign([])  # declared dead while it was assigned something
            return
        by_number: dict[int, set[str]] = {}
        for p in partitions:
            by_number.setdefault(p.partition, set()).add(p.topic)
        starts: list[TopicPartition] = []
        for number, topics in sorted(by_number.items()):
            if topics != set(self._inputs):
                missing = sorted(set(self._inputs) - topics)
                raise SurroundingsError(
                    f"{self.instance}: partition {number} came without {', '.join(missing)}.",
                    "cmd, in and ack must have the same number of partitions.",
                )
            owned = self._owned[number] = self._restore(consumer, number)
            starts += [TopicPartition(t, number, o) for t, o in owned.positions.items()]
        consumer.assign(starts)

    def _restore(self, consumer: Consumer, number: int) -> _Partition:
        started = time.monotonic()
        topics = self._cluster.topics
        restored = restore_state(self._cluster, topics.dialog(self.instance), number)
        state = restored.positions
        known = (state.cmd, state.inbox, state.ack) if state else (None, None, None)
        positions = {
            topic: start_position(consumer, self._progress, topic, number, position)
            for topic, position in zip(self._inputs, known, strict=True)
        }
        backlog = {t: watermarks(self._progress, t, number)[1] for t in (self._in, self._ack)}
        endpoint = Endpoint(self.instance, self._control.world, self._limits)
        out_end = watermarks(self._progress, topics.out(self.instance), number)[1]
        for key, dialog in restored.dialogs.items():
            dialog.last_copy = out_end - 1  # unknown which: at or before the end of out
            endpoint.restore(key, dialog)
        log.info(
            "%s: partition %d has %d dialogs, restored in %.2f s",
            self.instance,
            number,
            len(restored.dialogs),
            time.monotonic() - started,
        )
        bodies = _Bodies(
            Fetcher(self._cluster, self._cmd, number), Fetcher(self._cluster, self._in, number)
        )
        return _Partition(number, endpoint, bodies, positions, backlog)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Between two transactions nothing is open, so there is nothing to finish.
        self._let_go(partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        log.warning("%s has lost its partitions", self.instance)
        self._let_go(partitions)

    def _let_go(self, partitions: list[TopicPartition]) -> None:
        for number in {p.partition for p in partitions}:
            owned = self._owned.pop(number, None)
            if owned is not None:
                owned.bodies.commands.close()
                owned.bodies.frames.close()

    def _consumer_error(self, message: Message) -> None:
        error = message.error()
        assert error is not None
        if error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise SurroundingsError(f"{self.instance}: {error.str()}")
        log.warning("%s: %s", self.instance, error.str())


def _number_of(error: Exception) -> Number:
    """Return the number that tells why a record was refused."""
    cause = error.args[0] if isinstance(error, KafkaException) else None
    code = cause.code() if isinstance(cause, KafkaError) else None
    return REFUSED.get(code or 0, Number.CORRUPTED_HEADER)


def _command(message: Message) -> Command:
    return read_command(message.key(), message.value(), headers_of(message), message.timestamp()[1])


def _frame(message: Message) -> Frame:
    return read_message(message.key(), message.value(), headers_of(message))
