"""Faust's driver for Kafka (aiokafka), made to keep what an agent on a queue promises.

Four things are different. Only what is committed is read: Faust 0.15.3 reads aborted transactions
too unless it commits in transactions itself, which fails on rebalance. Commands go through an
idempotent producer. A message of a queue counts as done when its agent says so: Faust counts as
done what it skips in a rebalance and what an agent was cancelled in, and would commit past it. And
with the offset of a queue a :class:`~streams.agents.note.Note` is committed.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import OffsetAndMetadata
from faust.transport.drivers import aiokafka
from faust.types import TP, Message

from streams.agents.note import Note
from streams.kafka import read_notes, topic_id

if TYPE_CHECKING:
    from streams.agents.application import HoplineApp


class ConsumerThread(aiokafka.AIOKafkaConsumerThread):
    """Reads what is committed, and commits notes beside offsets."""

    def _create_worker_consumer(self, transport: aiokafka.Transport) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        # Faust has no setting for it; the consumer looks at it when it starts.
        assert consumer._isolation_level == "read_uncommitted"
        consumer._isolation_level = "read_committed"
        commit, notes = consumer.commit, cast(Consumer, self.consumer).notes

        async def commit_noted(offsets: Mapping[Any, OffsetAndMetadata]) -> None:
            await commit(
                {
                    tp: OffsetAndMetadata(at.offset, notes.get(TP(*tp), Note()).encode())
                    for tp, at in offsets.items()
                }
            )

        consumer.commit = commit_noted
        return consumer


class Consumer(aiokafka.Consumer):
    """Commits messages of ``queues`` behind :meth:`finish` only; others as Faust does.

    ``topics`` are the ids of the queues' topics, as of the last assignment.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.queues: set[str] = set()
        self.notes: dict[TP, Note] = {}
        self.topics: dict[str, uuid.UUID] = {}
        self._finished: dict[TP, int] = {}
        self._rollbacks: dict[TP, int] = {}
        super().__init__(*args, **options)

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def finish(self, message: Message) -> None:
        """Tell that a message of a queue is done, with everything that it has caused.

        One message of a partition comes after the other, so all before it are done as well.
        """
        self._finished[message.tp] = message.offset + 1
        self.notes[message.tp] = Note(self.topics[message.topic])
        self._rollbacks.pop(message.tp, None)

    def rollbacks(self, message: Message) -> int:
        """Return how often the next message of a queue was rolled back before it was assigned."""
        return self._rollbacks.get(message.tp, 0)

    async def roll_back(self, message: Message, count: int) -> None:
        """Commit that a message is still to be done, and was rolled back so often."""
        self.notes[message.tp] = Note(self.topics[message.topic], count)
        await self._commit({message.tp: message.offset})

    async def perform_seek(self) -> None:
        """Go to what is committed; to the beginning where that was of another topic."""
        await super().perform_seek()
        if self.queues:
            self.topics, notes = await asyncio.to_thread(self._ask)
        for tp in (tp for tp in self.assignment() if tp.topic in self.queues):
            note = Note.decode(notes.get((tp.topic, tp.partition), (0, ""))[1])
            self._rollbacks[tp] = note.rollbacks
            if note.topic not in (None, self.topics[tp.topic]):
                self._rollbacks[tp] = 0
                self._committed_offset[tp] = None
                await self.seek(tp, 0)

    def _ask(self) -> tuple[dict[str, uuid.UUID], Mapping[tuple[str, int], tuple[int, str]]]:
        app = cast("HoplineApp", self.app)
        ids = {topic: topic_id(app.cluster, topic) for topic in self.queues}
        return ids, read_notes(app.cluster, app.conf.id)

    def _new_offset(self, tp: TP) -> int | None:
        """Return the position to commit; ``None``: as it is."""
        if tp.topic not in self.queues:
            return super()._new_offset(tp)
        self._acked[tp].clear()  # which nobody else empties
        self._acked_index[tp].clear()
        return self._finished.get(tp)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Forget what is somebody else's by now."""
        for tp in revoked:
            self._finished.pop(tp, None)
        await super().on_partitions_revoked(revoked)


class Producer(aiokafka.Producer):
    """Writes each record once, in order."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}


class Transport(aiokafka.Transport):
    """The driver, in the place of Faust's own."""

    Consumer = Consumer
    Producer = Producer
