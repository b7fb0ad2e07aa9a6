"""RECEIVE: an application reads its queue.

``ReadAhead.read`` polls (:mod:`streams.client.ahead`) and puts every record into the
:class:`~streams.node.queue.ReadyQueue` of its partition, which decides what comes next of what is
there. What was received and not committed comes again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
        """Tell whether this side is known to be the one that the initiator locked.

        With several targets only one of them ever gets a message that says so: who acts on such
        messages alone acts once (the three-way handshake).
        """
        return self.frame.parties.locked

    @property
    def ends_dialog(self) -> bool:
        """Tell whether the other side has ended: it is our turn to END."""
        return self.type in (END_DIALOG, ERROR)


class Receiver:
    """Receive from one queue as a member of an application's group; a context manager.

    For one thread: it is one transaction, as a connection is; each thread has one of its own.

    One transaction at a time: any number of :meth:`receive`, then :meth:`commit` or
    :meth:`rollback`. After five rollbacks in a row the queue is turned off (event 143); the count
    begins anew when somebody turns it on again.

    ``member`` names this process among the group's, the same at every start: one that was killed
    goes on at once, where otherwise its partitions wait until its session is over (10 s). One that
    leaves for good is waited for as long. A second one with the name ends the first, which is told
    by FencedError; so is one that Kafka could not hear for a whole session. Make it anew then.

    ``begin`` says where to begin in partitions where the group has no position: "beginning", "end"
    or an offset, of a queue with several partitions one for each (``{0: 4711}``). Without it a
    group that has never received begins at the beginning, and one whose position Kafka has
    forgotten is refused (PositionLostError), because it would receive everything again.
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
        """Leave the group; what was received and not committed comes again."""
        self._settings.close()
        self._ahead.close()

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
        side = None if conversation is None else (conversation.id, conversation.is_initiator)
        return self._awaited(timeout, lambda: self._choose(top, side, group))

    def get_conversation_group(self, timeout: float) -> uuid.UUID | None:
        """GET CONVERSATION GROUP: lock the most urgent group with messages, and receive nothing.

        Each call locks another one, until the transaction is over; :meth:`receive` from it then.
        Waits and raises as that does; ``None`` where there is none.
        """
        return self._awaited(timeout, self._lock_next)

    def commit(self, through: Through | None = None) -> None:
        """Commit what was received: it does not come again.

        Raises SurroundingsError where that cannot be said, because Kafka does not answer or has
        given the queue to another member of the group: what was received comes again, to somebody.
        ``through`` commits the offsets (and the group's member, in whose name) in another way, all
        of them or, where it raises, none.
        """
        if self._ahead.bereft:
            raise AbortedError(
                f"{self._ahead.topic}: the received messages were reassigned to another member of "
                "the group.",
                "Roll back: they are redelivered to either member.",
            )
        if through is not None:
            self._commit_through(through)
            return
        for partition in self._ahead.partitions.values():
            partition.queue.commit(HOLDER)
        self._ahead.store()

    def rollback(self, *, counts: bool = True) -> None:
        """Return what was received to its place; the fifth time in a row turns the queue off.

        One that does not count is for what failed for no reason that is in the messages.
        """
        self._ahead.bereft = False
        for partition in self._ahead.partitions.values():
            partition.queue.rollback(HOLDER, counts=counts)
        self._ahead.store()
        if not all(partition.queue.on for partition in self._ahead.partitions.values()):
            self._settings.disable()

    def _commit_through(self, through: Through) -> None:
        """Commit on copies: where it raises, nothing was received for good."""
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

    def _awaited(self, timeout: float, look: Callable[[], Found]) -> Found:
        """Read ahead until a look finds something, or the time is over."""
        deadline, left = time.monotonic() + timeout, 0.0
        while True:
            self._ahead.read(left)
            self._follow_settings()
            found = look()
            if found:
                return found
            if self._ahead.broken:
                raise self._ahead.broken.pop(0)
            left = deadline - time.monotonic()
            if left <= 0:
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
        """Yield partitions, the one with the most urgent group first."""
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
