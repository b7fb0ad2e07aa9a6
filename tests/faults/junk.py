"""Records that mean nothing, on every topic that is not state, while the system runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from streams.chance import Chance
from streams.kafka import Cluster
from tests.workers.rubbish import UNKNOWN, Raw, rubbish

KINDS = ("cmd", "out", "txq", "in", "ack", "result")
_AS_STATE = ("catalog", "presence")
"""Compacted: Kafka takes no record without a key."""


def topics_for_junk(cluster: Cluster, instances: list[str], queues: list[str]) -> tuple[str, ...]:
    """Return where rubbish goes.

    All but `dialog`: that is an endpoint's memory, and a record there that cannot be read stops its
    partition on purpose (``tests/workers/test_schemas.py``).
    """
    names = cluster.topics
    own = [names.name(kind, instance) for instance in instances for kind in KINDS]
    return (*own, *queues, names.event, names.catalog, names.presence)


class Junk:
    """A thread that writes ``rate`` such records a second, drawn from a seed; a context manager."""

    def __init__(self, cluster: Cluster, topics: tuple[str, ...], rate: float, seed: int) -> None:
        self._cluster, self._topics, self._rate = cluster, topics, rate
        self._chance = Chance(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="junk", daemon=True)
        self.written = 0

    def __enter__(self) -> Junk:
        if self._rate:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Write no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        producer = self._cluster.producer()
        for topic, (key, value, headers) in self._drawn():
            producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
            producer.poll(0)
            self.written += 1
            if self._stop.wait(1 / self._rate):
                break
        producer.flush(30)

    def _drawn(self) -> Iterator[tuple[str, Raw]]:
        while True:
            topic, record = self._chance.pick(self._topics), self._chance.pick(rubbish())
            if self._fits(topic, record):
                yield topic, record

    def _fits(self, topic: str, record: Raw) -> bool:
        """Tell whether the record may be there: a statement in an unknown schema must stop all."""
        key, _, headers = record
        if any(topic.endswith(kind) for kind in _AS_STATE):
            return key is not None
        return ".cmd." not in topic or UNKNOWN not in [value for _, value in headers]
