"""Produce records while the client's queue may be full."""

from __future__ import annotations

import threading
from typing import Any

from streams.errors import SurroundingsError
from streams.kafka import Producer
from streams.workers.pulse import beat


class Room:
    """An instance's access to a producer; ``stop`` ends the wait if Kafka accepts no records."""

    def __init__(self, producer: Producer, instance: str, stop: threading.Event) -> None:
        self._producer = producer
        self._instance = instance
        self._stop = stop

    def produce(self, topic: str, *record: Any, **named: Any) -> None:
        """Produce a record; wait for space if the local queue is full.

        Raises SurroundingsError if stopped during the wait; the input is then not committed and
        will be read again.
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
