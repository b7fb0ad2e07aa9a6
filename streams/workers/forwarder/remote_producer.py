"""Produce into another Kafka cluster, and return the copies that did not arrive.

The forwarder never waits for that cluster, which may be unavailable for hours: other next hops must
not be affected. Copies that the cluster has not confirmed within two seconds are returned, to be
buffered. Exceptions of the client, which its brokers may cause, also affect only that cluster.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Generic, TypeVar

from streams.kafka import Cluster, Headers, KafkaError, KafkaException, Message, Producer
from streams.node import forward_size
from streams.workers.control.remote_clients import PATIENCE, remote_producer
from streams.workers.record_errors import Tracebacks

Item = TypeVar("Item")

log = logging.getLogger("hopline.forwarder")

_SILENT = 15.0
"""Seconds without a delivery after which a new client is tried (`streams.kafka.lost_brokers`)."""
_AGAIN = 1.0
"""Seconds after an exception of a client until the next client is tried."""
_SLICE = 0.1
_WAITING = 0.5
"""Maximum number of seconds for which the copies of one batch wait for space. If a cluster can
confirm as many bytes as the limit within :data:`PATIENCE`, it confirms a quarter of them in this
time."""
_GIVEN_UP = KafkaError(KafkaError._PURGE_INFLIGHT)


class RemoteProducer(Generic[Item]):
    """The producer for one cluster; at most ``limit`` (MESSAGE_FORWARD_SIZE) bytes in flight."""

    def __init__(
        self, cluster: Cluster, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.cluster = cluster
        self._clock = clock
        self._silent_since: float | None = None
        self.limit = limit
        self.size = 0
        self._producer: Producer | None = None
        self._again_at = 0.0
        self._leaving: threading.Thread | None = None
        self._errors = Tracebacks()
        self._waited = 0.0
        self._tickets = 0
        self._in_flight: dict[int, tuple[Item, int]] = {}
        self._back: list[tuple[Item, KafkaError]] = []
        self._arrived = 0
        self._stuck = self._broken = False

    def __len__(self) -> int:
        return len(self._in_flight)

    def in_flight(self) -> Iterator[Item]:
        """Yield copies that are neither confirmed nor returned."""
        return (item for item, _ in self._in_flight.values())

    def take(
        self,
        item: Item,
        size: int,
        topic: str,
        key: bytes | str | None,
        value: bytes | str | None,
        headers: Headers,
        timestamp: int,
    ) -> bool:
        """Produce a copy; return whether there was space for it.

        ``size`` is the number of bytes counted for the item; the headers of the copy are added to
        it.
        """
        size = forward_size(size, headers)
        if self.size and self.size + size > self.limit and not self._room(size):
            return False
        producer = self._client()
        if producer is None:
            return False
        self._tickets += 1
        if self._silent_since is None:
            self._silent_since = self._clock()
        report = partial(self._ended, self._tickets)
        try:
            # positional arguments: topic, value, key, partition, callback, on_delivery, timestamp,
            # headers
            producer.produce(topic, value, key, -1, report, None, timestamp, headers)  # type: ignore[arg-type]
        except BufferError:
            return False
        except KafkaException as error:
            self._broken |= error.args[0].fatal()
            self._back.append((item, error.args[0]))
            return True
        self._in_flight[self._tickets] = item, size
        self.size += size
        return True

    def come_back(self) -> list[tuple[Item, KafkaError]]:
        """Return the copies that failed since the last call, with the reason."""
        self._poll(0)
        self._waited = 0.0
        if self._broken or self._is_silent():  # a new client may help
            self.close()
        back, self._back = self._back, []
        return back

    def settle(self) -> None:
        """Wait until nothing is in flight."""
        end = self._clock() + 2 * PATIENCE
        while self._in_flight and not self._broken and self._clock() < end:
            self._poll(_SLICE)

    def close(self) -> None:
        """Give up the client; the next :meth:`come_back` returns the copies in flight."""
        leaving, self._producer = [self._producer], None
        try:
            if leaving[0] is not None:
                leaving[0].purge()
                leaving[0].flush(_SLICE)
        except Exception as error:
            self._failed(error)
        self._back += ((item, _GIVEN_UP) for item, _ in self._in_flight.values())
        self._in_flight.clear()
        self.size, self._broken, self._silent_since = 0, False, None
        # Destroying a client may take half a minute, until a broker's name is resolved.
        self._leaving = threading.Thread(target=leaving.clear, name="leaving", daemon=True)
        try:
            self._leaving.start()
        except RuntimeError:  # no thread is available; destroying the client frees some
            leaving.clear()

    def _client(self) -> Producer | None:
        """Return the client; ``None`` if it is too early to create the next one.

        A new client is created only after the previous one has been destroyed, so there are never
        more than two.
        """
        if self._producer is not None:
            return self._producer
        if self._clock() < self._again_at or (self._leaving and self._leaving.is_alive()):
            return None
        try:
            self._producer = remote_producer(self.cluster)
        except Exception as error:
            self._failed(error)
        return self._producer

    def _poll(self, seconds: float) -> None:
        try:
            if self._producer is not None:
                self._producer.poll(seconds)
        except Exception as error:
            self._broken = True
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._again_at = self._clock() + _AGAIN
        omitted = self._errors.due(error)
        if omitted is not None:
            more = f"; {omitted} more such errors" if omitted else ""
            log.error(
                "the client for Kafka at %s has failed and is replaced%s",
                self.cluster.bootstrap,
                more,
                exc_info=error,
            )

    def _is_silent(self) -> bool:
        return self._silent_since is not None and self._clock() >= self._silent_since + _SILENT

    def _room(self, size: int) -> bool:
        """Wait for space, but only as long as copies are being confirmed."""
        if size > self.limit:
            return False  # the copy needs an empty producer
        while not self._stuck and self.size + size > self.limit:
            if self._waited >= _WAITING:
                return False
            began, before = self._clock(), self._arrived
            self._poll(_SLICE)
            self._waited += self._clock() - began
            self._stuck = self._broken or self._arrived == before
        return not self._stuck

    def _ended(self, ticket: int, error: KafkaError | None, _: Message) -> None:
        if ticket not in self._in_flight:
            return  # a late report from a client that was given up
        item, size = self._in_flight.pop(ticket)
        self.size -= size
        if error is None:
            self._arrived += 1
            self._stuck, self._silent_since = False, None
        else:
            self._broken |= error.fatal()
            self._back.append((item, error))
