"""Produce into another Kafka cluster, and return the copies that did not arrive.

Nothing waits for that cluster, because it may be unavailable for hours, and other next hops must
not be affected. Copies that the cluster has not confirmed within two seconds are returned, to be
buffered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Generic, TypeVar

from streams.kafka import Cluster, Headers, KafkaError, KafkaException, Message, Producer
from streams.node import forward_size

Item = TypeVar("Item")

PATIENCE = 2.0
"""Seconds after which an unconfirmed copy is returned."""
_SILENT = 15.0
"""Seconds without a delivery after which a new client is tried (`streams.kafka.lost_brokers`)."""
_SLICE = 0.1


class RemoteProducer(Generic[Item]):
    """One producer; ``limit`` is MESSAGE_FORWARD_SIZE, for the copies in flight (``size``)."""

    def __init__(
        self, cluster: Cluster, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.cluster = cluster
        self._clock = clock
        self._silent_since: float | None = None
        self.limit = limit
        self.size = 0
        self._producer = self._made()
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

        ``size`` is the number of bytes counted for the item; the headers of the copy are added.
        """
        size = forward_size(size, headers)
        if self.size and self.size + size > self.limit and not self._room(size):
            return False
        self._tickets += 1
        if self._silent_since is None:
            self._silent_since = self._clock()
        report = partial(self._ended, self._tickets)
        try:
            # positional arguments: topic, value, key, partition, callback, on_delivery, timestamp,
            # headers
            self._producer.produce(topic, value, key, -1, report, None, timestamp, headers)  # type: ignore[arg-type]
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
        self._producer.poll(0)
        if self._broken or self._is_silent():  # only a new client may help
            self._producer.purge()
            self._producer.flush(_SLICE)
            self._producer, self._broken, self._silent_since = self._made(), False, None
        back, self._back = self._back, []
        return back

    def settle(self) -> None:
        """Wait until nothing is in flight."""
        end = time.monotonic() + 2 * PATIENCE
        while self._in_flight and time.monotonic() < end:
            self._producer.poll(_SLICE)

    def _is_silent(self) -> bool:
        return self._silent_since is not None and self._clock() >= self._silent_since + _SILENT

    def _made(self) -> Producer:
        return self.cluster.producer(
            linger_ms=1,
            message_timeout_ms=int(PATIENCE * 1000),
            delivery_report_only_error=False,
        )

    def _room(self, size: int) -> bool:
        """Wait for space, but only as long as copies are being confirmed."""
        end = time.monotonic() + PATIENCE
        while not self._stuck and self.size + size > self.limit:
            before = self._arrived
            self._producer.poll(_SLICE)
            self._stuck = self._arrived == before
            if time.monotonic() > end:
                return False
        return not self._stuck

    def _ended(self, ticket: int, error: KafkaError | None, _: Message) -> None:
        item, size = self._in_flight.pop(ticket)
        self.size -= size
        if error is None:
            self._arrived += 1
            self._stuck, self._silent_since = False, None
        else:
            self._broken |= error.fatal()
            self._back.append((item, error))
