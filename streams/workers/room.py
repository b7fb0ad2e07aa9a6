"""Handing records to Kafka's client while it may have no room for them."""

from __future__ import annotations

import threading
from typing import Any

from streams.errors import SurroundingsError
from streams.kafka import Producer
from streams.workers.pulse import beat


class Room:
    """An instance's way into a producer; ``stop`` ends the wait where Kafka takes nothing."""

    def __init__(self, producer: Producer, instance: str, stop: threading.Event) -> None:
        self._producer = producer
        self._instance = instance
        self._stop = stop

    def produce(self, topic: str, *record: Any, **named: Any) -> None:
        """Hand a record over, and lose nothing: wait for room where the local queue is full.

        Raises SurroundingsError where it is stopped while there is none; what was read for it is
        not committed then, and read again.
        """
        while True:
            try:
                self._producer.produce(topic, *record, **named)
                return
            except BufferError:
                beat()
                self._producer.poll(0.1)
                if self._stop.is_set():
                    raise SurroundingsError(
                        f"{self._instance} was stopped while Kafka accepted no records."
                    ) from None
