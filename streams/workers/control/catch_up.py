"""Track how far a topic has been read, and wait for its current end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streams.errors import SurroundingsError
from streams.kafka import Cluster, Consumer, StuckError, in_time, watermarks
from streams.workers.control.control_thread import END_WITHIN


class CatchUp:
    """One thread reads and reports its position; other threads wait for a position.

    A thread waits at most ``timeout`` seconds. ``awaited`` is set while a thread waits, so that the
    reader does not pause. ``wake`` is called once after each wait starts, to interrupt a pause of
    the reader.
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
        """Report that the topic has been read up to an offset."""
        with self._moved:
            self._position = position
            self._moved.notify_all()

    def end(self) -> None:
        """Report that reading has ended, so that waiting threads fail."""
        with self._moved:
            self._ended = True
            self._moved.notify_all()

    def wait(self, since: float) -> None:
        """Return when the topic has been read to its end as of some moment after ``since``.

        ``since`` is monotonic time. Raises SurroundingsError on a timeout or if reading has ended.
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

    def close(self) -> bool:
        """Close the client that requested the end; return whether it has closed in time."""
        try:
            if self._consumer is not None:
                in_time(self._consumer.close, END_WITHIN)
        except StuckError:
            return False
        return True

    def _end(self) -> int:
        if self._consumer is None:
            self._consumer = self._cluster.consumer(f"{self._cluster.topics.prefix}control")
        return watermarks(self._consumer, self._topic, 0)[1]
