"""Faust's driver for Kafka (aiokafka), made to keep what an agent on a queue promises.

Three things are different. Only what is committed is read: Faust 0.15.3 reads aborted transactions
too unless it commits in transactions itself, which fails on rebalance. Commands go through an
idempotent producer. And a message of a queue counts as done when its agent says so: Faust counts as
done what it skips in a rebalance and what an agent was cancelled in, and would commit past it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer
from faust.transport.drivers import aiokafka
from faust.types import TP, Message


class ConsumerThread(aiokafka.AIOKafkaConsumerThread):
    """Reads what is committed."""

    def _create_worker_consumer(self, transport: aiokafka.Transport) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        # Faust has no setting for it; the consumer looks at it when it starts.
        assert consumer._isolation_level == "read_uncommitted"
        consumer._isolation_level = "read_committed"
        return consumer


class Consumer(aiokafka.Consumer):
    """Commits messages of ``queues`` behind :meth:`finish` only; others as Faust does."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.queues: set[str] = set()
        self._finished: dict[TP, int] = {}

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def finish(self, message: Message) -> None:
        """Tell that a message of a queue is done, with everything that it has caused.

        One message of a partition comes after the other, so all before it are done as well.
        """
        self._finished[message.tp] = message.offset + 1

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
