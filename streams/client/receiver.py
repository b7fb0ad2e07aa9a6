"""RECEIVE: an application reads its queue.

A queue topic is keyed by conversation group, so owning a partition of it is holding the groups'
locks. Within a partition :class:`~streams.node.queue.Queue` decides what comes next; a few hundred
messages are read ahead for that. What was received and not committed comes again. Because messages
are not received in the order of the topic, a committed offset alone does not say which: the rest
stands in the offset's metadata.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streams.client.conversation import Conversation, StatementError
from streams.client.queues import QueueSettings
from streams.errors import Number, SurroundingsError
from streams.kafka import (
    AbortedError,
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    headers_of,
)
from streams.node import Progress, Queue, Row
from streams.node.queue import POISON
from streams.protocol import END_DIALOG, ERROR
from streams.protocol import Message as Frame
from streams.wire import MalformedError
from streams.wire.records import priority_of, read_queued

READ_AHEAD = 300
"""Messages of a partition among which the next one is chosen; bounds the offset's metadata."""
_HOLDER = "application"

Through = Callable[[list[TopicPartition], Any], None]


@dataclass(frozen=True, slots=True)
class Received:
    """A message of a queue, with the conversation to answer on."""

    conversation: Conversation
    frame: Frame
    partition: int
    offset: int

    @property
    def type(self) -> str:
        """Return the message type's name."""
        return self.frame.header.type

    @property
    def body(self) -> bytes:
        """Return the message's body."""
        return self.frame.body

    @property
    def confirmed(self) -> bool:
        """Tell whether this side is known to be the one that the initiator locked.

        With several targets only one of them ever gets a message that says so: who acts on such
        messages alone acts once (the three-way handshake).
        """
        return self.frame.parties.locked

    @property
    def ends_dialog(self) -> bool:
        """Tell whether the other side has ended: it is our turn to END."""
        return self.type in (END_DIALOG, ERROR)


@dataclass(slots=True)
class _Partition:
    """What is read of one partition; ``stored`` is the progress that Kafka knows."""

    queue: Queue
    stored: Progress
    frames: dict[int, Frame] = field(default_factory=dict)
    paused: bool = False


class Receiver:
    """Receive from one queue as a member of an application's group; a context manager.

    For one thread: it is one transaction, as a connection is; each thread has one of its own.

    One transaction at a time: any number of :meth:`receive`, then :meth:`commit` or
    :meth:`rollback`. After five rollbacks in a row the queue is turned off (event 143); the count
    begins anew when somebody turns it on again.

    ``member`` names this process among the group's, the same at every start: one that was killed
    goes on at once, where otherwise its partitions wait until its session is over (10 s). One that
    leaves for good is waited for as long.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        database: str,
        queue: str,
        group: str,
        *,
        member: str | None = None,
    ) -> None:
        self._cluster = cluster
        self._where = (instance, database, queue)
        self._topic = cluster.topics.queue(instance, database, queue)
        self._settings = QueueSettings(cluster, *self._where)
        self._partitions: dict[int, _Partition] = {}
        self._broken: list[MalformedError] = []
        self._bereft = False
        named: dict[str, Any] = {} if member is None else {"group_instance_id": member}
        self._consumer = cluster.consumer(group, auto_offset_reset="earliest", **named)
        self._consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._gone, on_lost=self._gone
        )

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the group; what was received and not committed comes again."""
        self._settings.close()
        self._consumer.close()

    def receive(
        self,
        timeout: float,
        top: int = 500,
        *,
        conversation: Conversation | None = None,
        group: uuid.UUID | None = None,
    ) -> tuple[Received, ...]:
        """Return up to ``top`` messages of one conversation group, the most urgent one's.

        ``conversation`` and ``group`` stand for WHERE; they look at what is read ahead. Waits up to
        ``timeout`` seconds where nothing is there. Raises StatementError where the queue is off
        (9617), and MalformedError on a record that is no queue message (nobody but the endpoint
        worker writes a queue): that record counts as received.
        """
        deadline, left = time.monotonic() + timeout, 0.0
        while True:
            self._read(left)
            found = self._choose(top, conversation, group)
            if found:
                return found
            if self._broken:
                raise self._broken.pop(0)
            left = deadline - time.monotonic()
            if left <= 0:
                return ()

    def commit(self, through: Through | None = None) -> None:
        """Commit what was received: it does not come again.

        Raises SurroundingsError where that cannot be said, because Kafka does not answer or has
        given the queue to another member of the group: what was received comes again, to somebody.
        ``through`` commits the offsets (and the group's member, in whose name) in another way, all
        of them or, where it raises, none.
        """
        if self._bereft:
            raise AbortedError(
                f"{self._topic}: another member of the group has what was received.",
                "Roll back: it comes again, here or there.",
            )
        if through is not None:
            self._commit_through(through)
            return
        for partition in self._partitions.values():
            partition.queue.commit(_HOLDER)
        self._store()

    def rollback(self, *, counts: bool = True) -> None:
        """Return what was received to its place; the fifth time in a row turns the queue off.

        One that does not count is for what failed for no reason that is in the messages.
        """
        self._bereft = False
        for partition in self._partitions.values():
            partition.queue.rollback(_HOLDER, counts=counts)
        self._store()
        if not all(partition.queue.on for partition in self._partitions.values()):
            self._settings.disable()

    # --- choosing --------------------------------------------------------------------------------

    def _choose(
        self, top: int, conversation: Conversation | None, group: uuid.UUID | None
    ) -> tuple[Received, ...]:
        self._follow_settings()
        side = None if conversation is None else (conversation.id, conversation.is_initiator)
        urgent = {n: p.queue.urgency(_HOLDER) for n, p in self._partitions.items()}
        ranked = sorted((u, n) for n, u in urgent.items() if u is not None)
        for _, number in ranked:
            partition = self._partitions[number]
            rows = partition.queue.receive(_HOLDER, top, conversation=side, group=group)
            if rows and not isinstance(rows, Number):
                return tuple(self._received(number, partition, row) for row in rows)
        return ()

    def _follow_settings(self) -> None:
        self._settings.look()
        on = self._settings.status
        for partition in self._partitions.values():
            partition.queue.poison_handling = self._settings.poison_handling
            if not on:
                partition.queue.on = False
            elif not partition.queue.on:
                partition.queue.turn_on()
        if not on:
            raise StatementError(Number.QUEUE_DISABLED)

    def _received(self, number: int, partition: _Partition, row: Row) -> Received:
        instance, database, _ = self._where
        side = Conversation(instance, database, row.side[0], is_initiator=row.side[1])
        return Received(side, partition.frames[row.order], number, row.order)

    # --- reading ---------------------------------------------------------------------------------

    def _read(self, timeout: float) -> None:
        """Read ahead; waits for the first record only."""
        self._pace()
        first = self._consumer.poll(timeout)
        while first is not None:
            # Before more is read: a rebalance, which any read may bring, takes it back with the
            # rest of its partition.
            self._take(first)
            for message in self._consumer.consume(READ_AHEAD, 0):
                self._take(message)
            self._pace()
            first = self._consumer.poll(0)

    def _pace(self) -> None:
        """Read no more of a partition than is needed to choose well."""
        for number, partition in self._partitions.items():
            full = len(partition.queue) >= READ_AHEAD
            if full != partition.paused:
                what = [TopicPartition(self._topic, number)]
                (self._consumer.pause if full else self._consumer.resume)(what)
                partition.paused = full

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            self._failed(error)
            return
        number, order = message.partition(), message.offset()
        assert number is not None and order is not None
        partition = self._partitions.get(number)
        if partition is None:  # another member of the group has it by now
            return
        headers = headers_of(message)
        try:
            frame = read_queued(message.value(), headers)
            group = uuid.UUID((message.key() or b"").decode("ascii"))
        except (MalformedError, ValueError) as error:
            told = MalformedError(f"{self._topic}/{number}@{order}: {error}")
            self._broken.append(told)
            partition.queue.skip(order)
            return
        side = (frame.conversation, not frame.parties.from_initiator)
        partition.frames[order] = frame
        partition.queue.put(Row(order, group, side, frame.header.type, priority_of(headers)))

    def _store(self) -> None:
        """Tell Kafka what was received for good."""
        behind = {
            number: partition.queue.progress
            for number, partition in self._partitions.items()
            if partition.queue.progress != partition.stored
        }
        if not behind:
            return
        try:
            done = self._consumer.commit(offsets=self._offsets(behind), asynchronous=False)
            failed = [p.error for p in done or () if p.error is not None]
        except KafkaException as error:
            failed = [error.args[0]]
        if failed:
            raise SurroundingsError(
                f"{self._topic}: what was received was not committed: {failed[0].str()}.",
                "It may come again.",
            )
        self._stored(behind)

    def _commit_through(self, through: Through) -> None:
        """Commit on copies: where it raises, nothing was received for good."""
        queues = {number: partition.queue.copy() for number, partition in self._partitions.items()}
        progress = {number: queue.commit(_HOLDER) for number, queue in queues.items()}
        behind = {n: p for n, p in progress.items() if p != self._partitions[n].stored}
        through(self._offsets(behind), self._consumer.consumer_group_metadata())
        for number, queue in queues.items():
            self._partitions[number].queue = queue
        self._stored(behind)

    def _offsets(self, progress: Mapping[int, Progress]) -> list[TopicPartition]:
        return [TopicPartition(self._topic, n, p.next, p.encode()) for n, p in progress.items()]

    def _stored(self, progress: Mapping[int, Progress]) -> None:
        for number, stored in progress.items():
            partition = self._partitions[number]
            partition.stored = stored
            for order in [o for o in partition.frames if stored.has(o)]:
                del partition.frames[order]

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for known in consumer.committed(partitions, timeout=30):
            stored = Progress.decode(max(known.offset, 0), known.metadata)
            queue = Queue(stored)
            if stored.rollbacks >= POISON:  # it was turned off by that, and is on again
                queue.turn_on()
            self._partitions[known.partition] = _Partition(queue, stored)

    def _gone(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Forget what was read of partitions that another member reads again."""
        for partition in partitions:
            gone = self._partitions.pop(partition.partition, None)
            self._bereft = self._bereft or (gone is not None and gone.queue.holds(_HOLDER))

    def _failed(self, error: KafkaError) -> None:
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise SurroundingsError(
                f"Queue topic {self._topic} does not exist.", "Run 'hopline apply TOPOLOGY'."
            )
        if error.fatal():
            raise SurroundingsError(f"{self._topic}: {error.str()}")
