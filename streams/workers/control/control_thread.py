"""The thread of ``control``, which reports its failure before it closes its clients.

A call of Kafka's client may never return, including the call that closes it. So the thread counts
its turns as a worker's thread does, and may be abandoned at the end.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack

from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaException
from streams.workers.pulse import rest

log = logging.getLogger("hopline.control")

END_WITHIN = 5.0
"""Seconds allowed for the thread to end, and for each client to close."""


class ControlThread(threading.Thread):
    """Run ``work`` once, then close the clients that it has registered on the stack.

    ``error`` is the first error of these two steps. ``failed`` is called as soon as an error
    occurs, because workers must not continue without heartbeats and the catalog.
    """

    def __init__(
        self, cluster: Cluster, work: Callable[[ExitStack], None], failed: Callable[[], None]
    ) -> None:
        super().__init__(name="control", daemon=True)
        self._cluster, self._work, self._failed = cluster, work, failed
        self.error: Exception | None = None

    def run(self) -> None:
        """Run the work; called in the thread."""
        clients = ExitStack()
        self._attempt(lambda: self._work(clients))
        self._attempt(clients.close)
        rest()

    def _attempt(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            known = isinstance(error, (KafkaException, SurroundingsError))
            log.error("the control thread failed: %s", error, exc_info=not known)
            self.error = self.error or error
            self._failed()

    @property
    def failure(self) -> SurroundingsError | None:
        """Return the error that ended reading catalog and presence, if any."""
        if self.error is None or isinstance(self.error, SurroundingsError):
            return self.error
        if isinstance(self.error, KafkaException):
            return self._cluster.unreachable(self.error)
        return SurroundingsError(f"The catalog is no longer read: {self.error!r}.")

    def end(self) -> bool:
        """Wait for the thread; return whether it has ended in time, or was never started."""
        if self.is_alive():
            self.join(END_WITHIN)
        return not self.is_alive()
