"""How far a topic is read, and waiting until that is its end as of some moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streams.errors import SurroundingsError
from streams.kafka import Cluster, Consumer, watermarks


class CatchUp:
    """One thread reads and says how far it is; others wait for it, seconds at most ``timeout``.

    ``awaited`` is set while somebody waits: the reader is to lose no time then. ``wake`` is called
    once for each wait, behind that: it ends a pause of the reader.
    """

    def __init__(
        self, cluster: Cluster, topic: str, timeout: float, wake: Callable[[], object] = bool
    ) -> None:
        self._cluster, self._topic, self._timeout, self._wake = cluster, topic, timeout, wake
        self.awaited = threading.Event()
        self._asking = threading.Lock()
        self._consumer: Consumer | None = None
        self._through = float("-inf")
        self._moved = threading.Condition()
        self._position = 0
        self._ended = False

    def move(self, position: int) -> None:
        """Say that it is read up to a position."""
        with self._moved:
            self._position = position
            self._moved.notify_all()

    def end(self) -> None:
        """Say that nobody reads any more: whoever waits does so in vain."""
        with self._moved:
            self._ended = True
            self._moved.notify_all()

    def wait(self, since: float) -> None:
        """Return when it was read to its end as of some moment after ``since`` (monotonic time).

        Raises SurroundingsError where that does not come about.
        """
        with self._asking:
            if self._through >= since:
                return
            now, end = time.monotonic(), self._end()
            self.awaited.set()
            self._wake()
            try:
                self._wait_for(end)
            finally:
                self.awaited.clear()
            self._through = now

    def _wait_for(self, end: int) -> None:
        with self._moved:
            self._moved.wait_for(lambda: self._position >= end or self._ended, self._timeout)
            if self._position < end:
                raise SurroundingsError(
                    f"{self._topic} was read up to {self._position} of {end}.",
                    "Retry when Kafka responds faster.",
                )

    def close(self) -> None:
        """Let the connection go by which the end was asked for."""
        if self._consumer is not None:
            self._consumer.close()

    def _end(self) -> int:
        if self._consumer is None:
            self._consumer = self._cluster.consumer(f"{self._cluster.topics.prefix}control")
        return watermarks(self._consumer, self._topic, 0)[1]
