"""Meaningless records on every topic except state topics, while the system runs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from confluent_kafka import KafkaException

from streams.chance import Chance
from streams.kafka import Cluster
from streams.wire.records import Headers
from tests.workers.rubbish import UNKNOWN, Raw, rubbish

_LIMIT, _LARGEST_BOMB = 1_045_000, 64_000_000
"""The size in bytes of a record that Kafka accepts uncompressed, and of one that is compressed."""
KINDS = ("cmd", "out", "txq", "in", "ack", "result")
_AS_STATE = ("catalog", "presence")
"""Compacted topics, for which Kafka accepts no record without a key."""


def topics_for_junk(cluster: Cluster, instances: list[str], queues: list[str]) -> tuple[str, ...]:
    """Return the topics for meaningless records.

    These are all except `dialog`, which has the endpoints' state: an unreadable record there stops
    its partition on purpose (``tests/workers/test_schemas.py``).
    """
    names = cluster.topics
    own = [names.name(kind, instance) for instance in instances for kind in KINDS]
    return (*own, *queues, names.event, names.catalog, names.presence)


class Written(NamedTuple):
    """A record and its destination; by default any partition, and the current time."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int = 0
    partition: int = -1


class Writer:
    """A thread that writes ``rate`` records per second, ``after`` a number; a context manager.

    Kafka may reject some of them, which is ignored. Records above Kafka's size limit are written
    compressed, because the limit applies to the compressed size.
    """

    def __init__(
        self, cluster: Cluster, records: Iterable[Written], rate: float, after: float = 0.0
    ) -> None:
        self._cluster, self._records, self._rate, self._after = cluster, records, rate, after
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="junk", daemon=True)
        self.written = self.bombs = 0

    def __enter__(self) -> Writer:
        if self._rate:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop writing."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        if self._stop.wait(self._after):
            return
        producer = self._cluster.producer(enable_idempotence=False, message_max_bytes=_LIMIT)
        bombs = [
            self._cluster.producer(
                enable_idempotence=False, message_max_bytes=_LARGEST_BOMB, compression_type=codec,
                batch_num_messages=1,
            )
            for codec in ("zstd", "gzip")
        ]  # fmt: skip
        for topic, key, value, headers, at, partition in self._records:
            is_bomb = len(value or b"") > _LIMIT
            by = bombs[self.bombs % 2] if is_bomb else producer
            with suppress(KafkaException, BufferError):
                by.produce(topic, value, key, partition, None, None, at, headers)
                self.written += 1
                self.bombs += is_bomb
            by.poll(0)
            if self._stop.wait(1 / self._rate):
                break
        for each in (producer, *bombs):
            each.flush(30)


def junk(topics: tuple[str, ...], seed: int) -> Iterator[Written]:
    """Yield meaningless records, drawn from a seed."""
    chance = Chance(seed)
    while True:
        topic, record = chance.pick(topics), chance.pick(rubbish())
        if fits(topic, record):
            yield Written(topic, *record)


def fits(topic: str, record: Raw) -> bool:
    """Return whether a record may be written; not a statement in an unknown schema."""
    key, _, headers = record
    if any(topic.endswith(kind) for kind in _AS_STATE):
        return key is not None
    return ".cmd." not in topic or not any((v or b"").startswith(UNKNOWN[:10]) for _, v in headers)
