"""Whether a process is well, and whether it works: asked over HTTP, answered in a sentence."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from streams.kafka import KafkaException
from streams.workers.process import Process


class Health:
    """The health of a process; ``within`` are the seconds in which Kafka must answer."""

    def __init__(self, process: Process, within: float) -> None:
        self._process = process
        self._within = within
        self._admin = process.cluster.admin()
        self._asking = threading.Lock()

    def failures(self) -> Iterator[str]:
        """Yield what is broken: a worker, the catalog, Kafka."""
        yield from self._process.failures()
        if not self._answers():
            where = self._process.cluster.bootstrap
            yield f"Kafka at {where} has not responded within {self._within:g} s."

    def missing(self) -> Iterator[str]:
        """Yield what keeps the process from working: what is broken, or not there yet."""
        yield from self._process.failures()
        yield from self._process.missing()

    def _answers(self) -> bool:
        if not self._asking.acquire(timeout=self._within):  # one question at a time
            return False
        try:
            self._admin.list_topics(self._process.cluster.topics.catalog, timeout=self._within)
            return True
        except KafkaException:
            return False
        finally:
            self._asking.release()
