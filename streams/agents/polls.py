"""Limit the size of an agent's read-ahead, because each message may be as large as a megabyte.

Faust buffers 4,096 events of an agent, and whole fetches. A fetch has a megabyte as stored in
Kafka, which may grow by a factor of 255 when lz4 is decompressed. Without a limit, the senders
would determine the memory use.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from faust.transport.consumer import RecordMap
from faust.transport.drivers import aiokafka
from faust.types import TP

BUFFERED = 24
"""Maximum number of messages of a queue that wait for their handler."""
POLLED = 12
"""Maximum number of messages of queues that are fetched together.

This is half the buffer, so that the messages fit: Faust needs four tasks for a message that does
not fit.
"""


class BoundedPolls(aiokafka.AIOKafkaConsumerThread):
    """Limit the number of queue records fetched at a time; changelogs have no limit."""

    async def getmany(self, active_partitions: set[TP] | None, timeout: float) -> RecordMap:
        """Return fetched records, as Faust does."""
        consumer = self._ensure_consumer()
        most, queues = consumer._max_poll_records, self.consumer.queues  # type: ignore[attr-defined]
        if active_partitions and any(tp.topic in queues for tp in active_partitions):
            most = min(most or POLLED, POLLED)
        found: RecordMap = await self.call_thread(
            self._fetch_records, consumer, active_partitions, timeout=timeout, max_records=most
        )
        return found


class WokenConsumer(aiokafka.Consumer):
    """Resume immediately when a buffer has room again, because Faust would sleep for a second."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._has_room = asyncio.Event()
        super().__init__(*args, **options)

    def on_buffer_drop(self, tp: TP) -> None:
        """Read a partition again."""
        super().on_buffer_drop(tp)
        self._has_room.set()

    async def _wait_next_records(self, timeout: float) -> tuple[RecordMap | None, set[TP] | None]:
        """Wait for room if every partition waits for room."""
        if self.flow_active and self._buffered_partitions and not self._get_active_partitions():
            self._has_room.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_room.wait(), timeout)
            if not self._get_active_partitions():
                return {}, set()
        return await super()._wait_next_records(timeout)
