"""RECEIVE: read messages of a queue.

``ReadAhead.read`` polls (:mod:`streams.client.ahead`) and puts every record into the
:class:`~streams.node.queue.ReadyQueue` of its partition, which chooses the next message. Received
but uncommitted messages are redelivered.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from streams.client.ahead import ReadAhead
from streams.client.begin import Begin, Beginning
from streams.client.conversation import Conversation, StatementError
from streams.client.partition_ahead import HOLDER, Ahead
from streams.client.queues import QueueSettings
from streams.errors import Number
from streams.kafka import AbortedError, Cluster, TopicPartition
from streams.node import ReadyRow
from streams.node.queue import Side
from streams.protocol import END_DIALOG, ERROR
from streams.protocol import Message as Frame

Through = Callable[[list[TopicPartition], Any], None]
Found = TypeVar("Found")


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
        """Return whether the initiator is known to be locked to this side.

        If there are several targets, only one of them gets a message that confirms the lock. So an
        application that acts only on such messages acts once (three-way handshake).
        """
        return self.frame.parties.locked

    @property
    def ends_dialog(self) -> bool:
        """Return whether the other side has ended the dialog, so that this side must END."""
        return self.type in (END_DIALOG, ERROR)


class Receiver:
    """Receive from one queue as a member of an application's group; a context manager.

    A receiver has one transaction at a time, so each thread needs its own receiver. Call
    :meth:`receive` any number of times, then :meth:`commit` or :meth:`rollback`. Five rollbacks in
    a row disable the queue (event 143); the count restarts when the queue is enabled.

    ``member`` is this process's stable name in the group. With a name, a killed process resumes as
    soon as it restarts; without a name, its partitions wait for the session timeout (10 s).
    Partitions also wait that long for a named member that never returns. A second member with the
    same name fences the first (FencedError), and so does a lost session; in both cases, create a
    new receiver.

    ``begin`` is the start position in partitions without an offset: "beginning", "end" or an
    offset; for several partitions, give one offset each (``{0: 4711}``). Without ``begin``, a new
    group starts at the beginning, and a group whose offsets Kafka has lost is rejected
    (PositionLostError), because it would receive all messages again.
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
        begin: Begin | None = None,
    ) -> None:
        self._where = (instance, database, queue)
        self._settings = QueueSettings(cluster, *self._where)
        topic = cluster.topics.queue(*self._where)
        beginning = Beginning(cluster, instance, topic, group, begin)
        self._ahead = ReadAhead(cluster, topic, group, member, beginning)

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the group; uncommitted messages are redelivered."""
        self._settings.close()
        self._ahead.close()

    def receive(
        self,
        timeout: float | None,
        top: int = 500,
        *,
        conversation: Conversation | None = None,
        group: uuid.UUID | None = None,
    ) -> tuple[Received, ...]:
        """Return up to ``top`` messages of the conversation group with the most urgent message.

        ``conversation`` and ``group`` are the WHERE clause; they search the read-ahead. Waits up to
        ``timeout`` seconds for a message; with ``None``, until all committed messages are read.
        Raises StatementError if the queue is disabled (9617), and MalformedError if a record is not
        a queue message; such a record counts as received. (Only the endpoint worker writes to a
        queue.)
        """
        side = None if conversation is None else (conversation.id, conversation.is_initiator)
        return self._awaited(timeout, lambda: self._choose(top, side, group))

    def get_conversation_group(self, timeout: float | None) -> uuid.UUID | None:
        """GET CONVERSATION GROUP: lock the most urgent group that has messages, without receiving.

        Each call locks another group until the transaction ends; then :meth:`receive` from it.
        Waits and raises errors like :meth:`receive`; returns ``None`` if there is no group.
        """
        return self._awaited(timeout, self._lock_next)

    def commit(self, through: Through | None = None) -> None:
        """Commit the received messages.

        Raises SurroundingsError if the outcome is unknown, because Kafka does not respond or has
        reassigned the queue; the messages are then redelivered to some member. ``through`` is
        another function that commits the offsets (with the member's metadata). It commits all
        offsets, or none if it raises an error.
        """
        if self._ahead.bereft:
            raise AbortedError(
                f"{self._ahead.topic}: the received messages were reassigned to another member of "
                "the group.",
                "Roll back; they are then redelivered to either member.",
            )
        if through is not None:
            self._commit_through(through)
            return
        for partition in self._ahead.partitions.values():
            partition.queue.commit(HOLDER)
        self._ahead.store()

    def rollback(self, *, counts: bool = True) -> None:
        """Make the received messages available again; the fifth time in a row disables the queue.

        Pass ``counts=False`` for failures that the messages did not cause.
        """
        self._ahead.bereft = False
        for partition in self._ahead.partitions.values():
            partition.queue.rollback(HOLDER, counts=counts)
        self._ahead.store()
        if not all(partition.queue.on for partition in self._ahead.partitions.values()):
            self._settings.disable()

    def _commit_through(self, through: Through) -> None:
        """Commit with copies of the queues, so that no message counts as received if that fails."""
        ahead = self._ahead
        queues = {number: partition.queue.copy() for number, partition in ahead.partitions.items()}
        progress = {number: queue.commit(HOLDER) for number, queue in queues.items()}
        behind = {n: p for n, p in progress.items() if p != ahead.partitions[n].stored}
        ahead.note(behind)
        through(ahead.offsets(behind), ahead.member)
        for number, queue in queues.items():
            ahead.partitions[number].queue = queue
        ahead.stored(behind)

    # --- choosing --------------------------------------------------------------------------------

    def _awaited(self, timeout: float | None, look: Callable[[], Found]) -> Found:
        """Read ahead until a lookup succeeds, the time is up, or the whole queue has been read."""
        deadline = inf if timeout is None else time.monotonic() + timeout
        left = 0.0
        while True:
            self._ahead.read(left)
            self._follow_settings()
            found = look()
            if found:
                return found
            if self._ahead.broken:
                raise self._ahead.broken.pop(0)
            left = deadline - time.monotonic()
            if left <= 0 or (timeout is None and self._ahead.is_complete):
                return found

    def _choose(self, top: int, side: Side | None, group: uuid.UUID | None) -> tuple[Received, ...]:
        for number in self._ranked():
            partition = self._ahead.partitions[number]
            rows = partition.queue.receive(HOLDER, top, conversation=side, group=group)
            if rows and not isinstance(rows, Number):
                return tuple(self._received(number, partition, row) for row in rows)
        return ()

    def _lock_next(self) -> uuid.UUID | None:
        number = next(self._ranked(new=True), None)
        if number is None:
            return None
        return self._ahead.partitions[number].queue.get_conversation_group(HOLDER)

    def _ranked(self, *, new: bool = False) -> Iterator[int]:
        """Yield partitions, beginning with the partition with the most urgent group."""
        partitions = self._ahead.partitions.items()
        urgent = ((p.queue.urgency(HOLDER, new=new), number) for number, p in partitions)
        yield from (number for _, number in sorted((u, n) for u, n in urgent if u is not None))

    def _follow_settings(self) -> None:
        self._settings.look()
        on = self._settings.status
        for partition in self._ahead.partitions.values():
            partition.queue.poison_handling = self._settings.poison_handling
            if not on:
                partition.queue.on = False
            elif not partition.queue.on:
                partition.queue.turn_on()
        if not on:
            raise StatementError(Number.QUEUE_DISABLED)

    def _received(self, number: int, partition: Ahead, row: ReadyRow) -> Received:
        instance, database, _ = self._where
        side = Conversation(instance, database, row.side[0], is_initiator=row.side[1])
        return Received(side, partition.frames[row.order], number, row.order)
