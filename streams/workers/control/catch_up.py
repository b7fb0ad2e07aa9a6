"""Track how far a topic has been read, and wait for its current end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Consumer,
    KafkaException,
    StuckError,
    TopicPartition,
    in_time,
    watermarks,
)
from streams.workers.control.control_thread import END_WITHIN

log = logging.getLogger("hopline.control")

SOON = 0.5
"""Maximum number of seconds for which a worker waits for the end of a topic because of a record.

A longer wait would look like a suspension, after which a pair's worker confirms its role.
"""
SKIPPED_WITHIN = 75.0
"""Seconds after which a consumer has skipped an unreadable batch: it searches for such a batch
after about 50 s without a record (streams/kafka/consumer_health.py)."""
_LOOK = 0.2
"""Seconds between the checks of a wait whether to stop."""
PAUSE = 10.0
"""Seconds after a failed wait in which no other wait starts; any writer may cause such waits."""


class CatchUp:
    """One thread reads the topic and reports its position; other threads wait for a position.

    A thread waits at most ``timeout`` seconds. ``awaited`` is set while a thread waits, so that the
    reader does not pause. ``wake`` is called once at the start of each wait, to interrupt a pause
    of the reader.
    """

    def __init__(
        self, cluster: Cluster, topic: str, timeout: float, wake: Callable[[], object] = bool
    ) -> None:
        self._cluster, self._topic, self._timeout, self._wake = cluster, topic, timeout, wake
        self.awaited = threading.Event()
        self._asking = threading.Lock()
        self._consumer: Consumer | None = None
        self._through = self._again_at = float("-inf")
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

    def wait(self, since: float, stop: threading.Event | None = None) -> None:
        """Wait until the topic has been read to an end that it had after ``since``.

        ``since`` is monotonic time. Also returns when ``stop`` is set. Raises SurroundingsError on
        a timeout or if reading has ended.
        """
        with self._asking:
            if self._through < since:
                now = time.monotonic()
                end = watermarks(self._client(), self._topic, 0)[1]
                if self._wait_for(end, self._timeout, stop):
                    self._through = now

    def try_wait(self, since: float) -> bool:
        """Wait as ``wait`` does, for at most :data:`SOON` seconds; return whether it succeeded.

        After a failure, this method does not wait again for :data:`PAUSE` seconds.
        """
        until = time.monotonic() + SOON
        if self._may_try(since):
            if self._asking.acquire(timeout=SOON):
                try:
                    if self._may_try(since):  # another thread may have tried in the meantime
                        self._try(until)
                finally:
                    self._asking.release()
            else:
                self._again_at = until + PAUSE
        return self._through >= since

    def _may_try(self, since: float) -> bool:
        return self._through < since and time.monotonic() >= self._again_at

    def _try(self, until: float) -> None:
        now, where = time.monotonic(), TopicPartition(self._topic, 0)
        self._again_at = now + PAUSE
        try:
            # watermarks() would wait for a leader
            _, end = self._client().get_watermark_offsets(where, timeout=max(0.0, until - now))
            self._wait_for(end, until - time.monotonic())
        except (KafkaException, SurroundingsError) as error:
            log.warning("the end of %s is unknown: %s", self._topic, error)
        else:
            self._through, self._again_at = now, now

    def _wait_for(self, end: int, timeout: float, stop: threading.Event | None = None) -> bool:
        """Wait until the topic was read up to ``end``; return ``False`` if ``stop`` is set."""
        pause, stops = (timeout, False) if stop is None else (_LOOK, stop.is_set())
        self.awaited.set()
        self._wake()
        with self._moved:
            while timeout > 0 and not stops:
                if self._moved.wait_for(lambda: self._position >= end or self._ended, pause):
                    break
                timeout -= pause
                stops = stop is not None and stop.is_set()
            position = self._position
        self.awaited.clear()
        if position >= end or stops:
            return position >= end
        raise SurroundingsError(
            f"{self._topic} was read up to {position} of {end}.",
            "Retry when Kafka responds faster.",
        )

    def close(self) -> bool:
        """Close the client that queries the topic's end; return whether it closed in time."""
        try:
            if self._consumer is not None:
                in_time(self._consumer.close, END_WITHIN)
        except StuckError:
            return False
        return True

    def _client(self) -> Consumer:
        if self._consumer is None:
            self._consumer = self._cluster.consumer(f"{self._cluster.topics.prefix}control")
        return self._consumer
