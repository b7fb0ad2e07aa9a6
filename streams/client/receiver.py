"""RECEIVE: an application reads its queue.

A queue topic is keyed by conversation group, so owning a partition of it is holding the group's
lock. Messages arrive in order and exactly once; what was received and not committed comes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.client.client import Conversation
from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaError, Message, TopicPartition
from streams.protocol import END_DIALOG, ERROR
from streams.protocol import Message as Frame
from streams.wire.records import read_queued

_BEGINNING = -2


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
        self._consumer.subscribe([self._topic])
        self._next: dict[int, int] = {}

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def receive(self, timeout: float, limit: int = 500) -> Iterator[Received]:
        """Yield what is there, waiting up to ``timeout`` seconds for the first message.

        Raises MalformedError on a record that is no queue message: nobody but the endpoint worker
        writes a queue.
        """
        first = self._consumer.poll(timeout)
        if first is None:
            return
        for message in [first, *self._consumer.consume(limit - 1, 0)]:
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
        frame = read_queued(message.value(), message.headers())  # type: ignore[arg-type]
        side = Conversation(
            self._instance,
            self._database,
            frame.conversation,
            is_initiator=not frame.parties.from_initiator,
        )
        return Received(side, frame, partition, offset)

    def _failed(self, error: KafkaError) -> None:
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise SurroundingsError(
                f"Queue topic {self._topic} does not exist.", "Run 'hopline apply TOPOLOGY'."
            )
        if error.fatal():
            raise SurroundingsError(f"{self._topic}: {error.str()}")
