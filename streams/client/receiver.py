"""RECEIVE: an application reads its queue.

A queue topic is keyed by conversation group, so owning a partition of it is holding the group's
lock. Messages arrive in order and exactly once; what was received and not committed comes again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from streams.client.client import Conversation
from streams.errors import SurroundingsError
from streams.kafka import Cluster, Consumer, KafkaError, Message, TopicPartition, headers_of
from streams.protocol import END_DIALOG, ERROR
from streams.protocol import Message as Frame
from streams.wire import MalformedError
from streams.wire.records import read_queued


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
    def ends_dialog(self) -> bool:
        """Tell whether the other side has ended: it is our turn to END."""
        return self.type in (END_DIALOG, ERROR)


class Receiver:
    """Receive from one queue as a member of an application's group; a context manager."""

    def __init__(
        self, cluster: Cluster, instance: str, database: str, queue: str, group: str
    ) -> None:
        self._instance, self._database = instance, database
        self._topic = cluster.topics.queue(instance, database, queue)
        self._consumer = cluster.consumer(group, auto_offset_reset="earliest")
        self._consumer.subscribe([self._topic], on_revoke=self._gone, on_lost=self._gone)
        self._read: deque[Message] = deque()
        self._next: dict[int, int] = {}

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def receive(self, timeout: float, limit: int = 500) -> Iterator[Received]:
        """Yield what is there, waiting up to ``timeout`` seconds for the first message.

        Whoever stops in the middle finds the rest at the next call. Raises MalformedError on a
        record that is no queue message (nobody but the endpoint worker writes a queue); the next
        call goes on behind it.
        """
        if not self._read:
            first = self._consumer.poll(timeout)
            if first is None:
                return
            self._read.extend([first, *self._consumer.consume(limit - 1, 0)])
        for _ in range(min(limit, len(self._read))):
            if not self._read:  # another member of the group has them now
                return
            message = self._read.popleft()
            error = message.error()
            if error is not None:
                self._failed(error)
                continue
            yield self._received(message)

    def commit(self) -> None:
        """Commit what was received: it does not come again."""
        if self._next:
            offsets = [TopicPartition(self._topic, p, o) for p, o in self._next.items()]
            self._consumer.commit(offsets=offsets, asynchronous=False)
            self._next.clear()

    def _received(self, message: Message) -> Received:
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        self._next[partition] = offset + 1
        try:
            frame = read_queued(message.value(), headers_of(message))
        except MalformedError as error:
            raise MalformedError(f"{self._topic}/{partition}@{offset}: {error}") from error
        side = Conversation(
            self._instance,
            self._database,
            frame.conversation,
            is_initiator=not frame.parties.from_initiator,
        )
        return Received(side, frame, partition, offset)

    def _gone(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Forget what was read of partitions that another member reads again."""
        numbers = {p.partition for p in partitions}
        kept = [m for m in self._read if m.error() or m.partition() not in numbers]
        self._read = deque(kept)
        for number in numbers:
            self._next.pop(number, None)

    def _failed(self, error: KafkaError) -> None:
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise SurroundingsError(
                f"Queue topic {self._topic} does not exist.", "Run 'hopline apply TOPOLOGY'."
            )
        if error.fatal():
            raise SurroundingsError(f"{self._topic}: {error.str()}")
