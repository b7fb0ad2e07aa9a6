"""Write a process's heartbeats into ``presence``, and learn Kafka's clock from the responses."""

from __future__ import annotations

import threading
import time
from functools import partial

from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaError, Message, Producer
from streams.node import CatalogView, KafkaClock, claims_of
from streams.wire import encode_presence
from streams.wire.evolution import ADMITS, admission
from streams.workers.control.heartbeats import appended

_ACKNOWLEDGED = 0.05
"""Seconds to wait for Kafka's acknowledgement of a heartbeat, which contains Kafka's time."""
_LOOK = 0.02
"""Seconds between checks whether a heartbeat was acknowledged."""
_BATCH = 32 << 10
"""Maximum bytes of a batch, because processes in other clusters skip batches above 128 kB. Without
it, a process that serves a thousand instances would write all its heartbeats in one batch."""


class HeartbeatWriter:
    """Write the heartbeats of the process with this ``replica``; ``clock`` is Kafka's."""

    def __init__(self, cluster: Cluster, replica: str, clock: KafkaClock) -> None:
        self._topic, self._replica, self._clock = cluster.topics.presence, replica, clock
        self._acknowledged = float("-inf")  # when the last acknowledged heartbeat was written
        self.producer: Producer = cluster.producer(
            linger_ms=0,
            batch_size=_BATCH,
            message_timeout_ms=3000,
            delivery_report_only_error=False,
            compression_type="none",  # compression would cost readers more CPU than it saves
        )

    def write(
        self,
        name: str,
        count: int,
        period: float,
        catalog: CatalogView | None,
        announced: dict[str, str | bytes | None],
    ) -> None:
        """Write one heartbeat, without claims and admissions if there is no ``catalog``."""
        entrances = catalog.ingress.get(name) if catalog is not None else None
        headers = {**announced, ADMITS: admission(entrances)} if entrances else announced
        written, claims = time.monotonic(), claims_of(catalog, name)
        now = self._clock.now(written)
        self.producer.produce(
            self._topic,
            key=name,
            value=encode_presence(name, self._replica, count, now, claims, period),
            headers=headers,
            on_delivery=partial(self._delivered, written),
        )

    def take_answers(self, *, wait: bool) -> None:
        """Process Kafka's responses so far; ``wait`` a moment for the first response."""
        if wait:
            self.producer.poll(_ACKNOWLEDGED)
        self.producer.poll(0)

    def demand_acknowledged(self, since: float, within: float, stop: threading.Event) -> None:
        """Return when a heartbeat that was written after ``since`` is acknowledged.

        For other threads than the writing one. Raises SurroundingsError after ``within`` seconds.
        """
        while self._acknowledged < since:
            if time.monotonic() - since > within or stop.wait(_LOOK):
                raise SurroundingsError(
                    f"Kafka's time is unknown: it has acknowledged no heartbeat in {self._topic}."
                )

    def close(self) -> None:
        """Wait a second for unacknowledged heartbeats."""
        self.producer.flush(1)

    def _delivered(self, written: float, error: KafkaError | None, message: Message) -> None:
        """Learn Kafka's clock from the append time, which is known before the heartbeat is read."""
        if error is None:
            now = time.monotonic()
            self._clock.end_read(now)
            self._clock.seen(appended(message), now)
            self._acknowledged = written
