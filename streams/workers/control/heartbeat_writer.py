"""Write a process's heartbeats into ``presence``, and update Kafka's clock from the responses."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial

from streams.errors import SurroundingsError
from streams.kafka import (
    UNCOMPRESSED,
    WITHOUT_ID,
    Cluster,
    KafkaError,
    KafkaException,
    Message,
    Producer,
)
from streams.node import CatalogView, KafkaClock, claims_of
from streams.protocol import Claim
from streams.wire import encode_presence
from streams.wire.evolution import ADMITS, admission, clusters_that_fit
from streams.wire.heartbeats import claims_that_fit
from streams.workers.control.heartbeats import appended

log = logging.getLogger("hopline.control")

_ACKNOWLEDGED = 0.05
"""Seconds to wait for Kafka's acknowledgement of a heartbeat, which contains Kafka's time."""
_LOOK = 0.02
"""Seconds between checks whether a heartbeat was acknowledged."""
_BATCH = 32 << 10
"""Maximum size of a batch in bytes. Processes of other clusters skip batches above 128 kB, and
without this limit, a process with a thousand instances would write all its heartbeats in one
batch."""


class HeartbeatWriter:
    """Write the heartbeats of the process with this ``replica``; ``clock`` is Kafka's clock."""

    def __init__(self, cluster: Cluster, replica: str, clock: KafkaClock) -> None:
        self._topic, self._replica, self._clock = cluster.topics.presence, replica, clock
        self._warned: set[tuple[str, str]] = set()
        self._acknowledged = float("-inf")  # when the last acknowledged heartbeat was written
        self.producer: Producer = cluster.producer(
            linger_ms=0,
            batch_size=_BATCH,
            message_timeout_ms=3000,
            delivery_report_only_error=False,
            **UNCOMPRESSED,
            **WITHOUT_ID,  # readers ignore a heartbeat that is written twice
        )

    def write(
        self,
        name: str,
        count: int,
        period: float,
        catalog: CatalogView | None,
        announced: dict[str, str | bytes | None],
    ) -> None:
        """Write one heartbeat, without claims and admissions if there is no ``catalog``.

        The number and size of the catalog's entries are not limited, so entries that do not fit
        into a heartbeat are left out.
        """
        headers, claims = {**announced}, claims_of(catalog, name)
        entrances = catalog.ingress.get(name) if catalog is not None else None
        if entrances:
            named = clusters_that_fit(entrances)
            headers[ADMITS] = admission(named)
            if len(named) < len(entrances):
                self._warn(name, "it has no room for the names of all clusters that it reads from")
        fitting = claims_that_fit(claims)
        if len(fitting) < len(claims):
            self._warn(name, "it has no room for all ownership claims")
        if not self._produce(name, count, period, fitting, headers):
            self._warn(name, "Kafka's client refuses its size, so claims and headers are left out")
            self._produce(name, count, period, (), {})

    def _produce(
        self,
        name: str,
        count: int,
        period: float,
        claims: Sequence[Claim],
        headers: Mapping[str, str | bytes | None],
    ) -> bool:
        """Write a heartbeat; return whether the client accepts its size."""
        written = time.monotonic()
        now = self._clock.now(written)
        try:
            self.producer.produce(
                self._topic,
                key=name,
                value=encode_presence(name, self._replica, count, now, claims, period),
                headers=dict(headers),
                on_delivery=partial(self._delivered, written),
            )
        except KafkaException as error:
            if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            return False
        return True

    def _warn(self, name: str, reason: str) -> None:
        """Log a warning, but not for every heartbeat."""
        if (name, reason) not in self._warned:
            self._warned.add((name, reason))
            log.warning("the heartbeat of %s: %s", name, reason)

    def take_answers(self, *, wait: bool) -> None:
        """Process Kafka's responses so far; with ``wait``, wait briefly for the first response."""
        if wait:
            self.producer.poll(_ACKNOWLEDGED)
        self.producer.poll(0)

    def demand_acknowledged(self, since: float, within: float, stop: threading.Event) -> None:
        """Wait until a heartbeat that was written after ``since`` is acknowledged.

        Must not be called in the writing thread. Raises SurroundingsError after ``within`` seconds.
        """
        while self._acknowledged < since:
            if time.monotonic() - since > within or stop.wait(_LOOK):
                raise SurroundingsError(
                    f"Kafka's time is unknown: it has acknowledged no heartbeat in {self._topic}."
                )

    def close(self) -> None:
        """Wait up to one second for unacknowledged heartbeats."""
        self.producer.flush(1)

    def _delivered(self, written: float, error: KafkaError | None, message: Message) -> None:
        """Update Kafka's clock from the append time, known before the heartbeat is read."""
        if error is None:
            now = time.monotonic()
            self._clock.end_read(now)
            self._clock.seen(appended(message), now)
            self._acknowledged = written
