"""The health and the readiness of a process, as sentences for HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from streams.kafka import KafkaException
from streams.workers.process import Process


class Health:
    """The health of a process; Kafka must respond within ``within`` seconds."""

    def __init__(self, process: Process, within: float) -> None:
        self._process = process
        self._within = within
        self._admin = process.cluster.admin()
        self._asking = threading.Lock()

    def failures(self) -> Iterator[str]:
        """Yield the failures: a worker, the catalog, Kafka."""
        yield from self._process.failures()
        if not self._answers():
            where = self._process.cluster.bootstrap
            yield f"Kafka at {where} has not responded within {self._within:g} s."

    def missing(self) -> Iterator[str]:
        """Yield the reasons why the process is not ready: parts that have failed or not started."""
        yield from self._process.failures()
        yield from self._process.missing()

    def _answers(self) -> bool:
        if not self._asking.acquire(timeout=self._within):  # one request at a time
            return False
        try:
            self._admin.list_topics(self._process.cluster.topics.catalog, timeout=self._within)
            return True
        except KafkaException:
            return False
        finally:
            self._asking.release()
