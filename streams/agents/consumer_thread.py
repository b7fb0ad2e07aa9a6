"""The thread in which an agent's consumer talks to Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import CommitFailedError
from aiokafka.structs import OffsetAndMetadata
from faust.transport.drivers import aiokafka
from faust.types import TP

from streams.agents.note import Note
from streams.agents.polls import BoundedPolls
from streams.kafka import closed


class ConsumerThread(BoundedPolls):
    """Read committed records, and commit offsets with notes."""

    _rejoined_in: int | None = None
    """The group's generation in which this member last requested a rebalance."""

    def _create_worker_consumer(self, transport: aiokafka.Transport) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        # Faust has no setting for this; the consumer reads the value when it starts.
        assert consumer._isolation_level == "read_uncommitted"
        consumer._isolation_level = "read_committed"
        commit, notes = consumer.commit, cast(Any, self.consumer).notes

        async def commit_noted(offsets: Mapping[Any, OffsetAndMetadata]) -> None:
            if not offsets:  # Faust has removed unassigned partitions, and handles this error
                raise CommitFailedError("Nothing was committed: the group has already rebalanced")
            await commit(
                {
                    tp: OffsetAndMetadata(at.offset, closed(notes.get(TP(*tp), Note()).encode()))
                    for tp, at in offsets.items()
                }
            )

        consumer.commit = commit_noted
        return consumer

    def join_again(self) -> None:
        """Request a rebalance with current topic metadata; thread-safe.

        Kafka rebalances the group if its leader rejoins, and the leader assigns partitions by its
        own metadata. Otherwise, the client refreshes its metadata only every five minutes.
        """
        asyncio.run_coroutine_threadsafe(self._rejoin(), self.thread_loop)

    def topic_partitions(self, topic: str) -> int | None:
        """Return the number of partitions; ``None`` for a topic unknown at the last rebalance.

        The changelog of a new table may be unknown. Faust would then return 0, which it treats as a
        wrong number, so each change of the table would fail. A rebalance is requested, because
        otherwise the metadata may stay the same for five minutes.
        """
        count = super().topic_partitions(topic)
        if count == 0:
            generation = self._ensure_consumer()._coordinator.generation
            if generation != self._rejoined_in:
                self._rejoined_in = generation
                self.join_again()
        return count or None

    async def _rejoin(self) -> None:
        consumer = self._ensure_consumer()
        await consumer._client.force_metadata_update()
        consumer._coordinator.request_rejoin()
