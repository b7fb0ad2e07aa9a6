"""Records that mean nothing, on every topic that is not state, while the system runs."""

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
"""Bytes of a record that Kafka takes as it is, and that are written compressed."""
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


class Written(NamedTuple):
    """A record and where it goes: any partition, and now, where nothing else is said."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int = 0
    partition: int = -1


class Writer:
    """A thread that writes ``rate`` of some records a second, ``after`` so many; a context manager.

    Kafka may refuse some of them: that is none of its business. What is larger than Kafka takes is
    written compressed: its limit is for what it sees.
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
        """Write no more."""
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
    """Yield records that mean nothing, drawn from a seed."""
    chance = Chance(seed)
    while True:
        topic, record = chance.pick(topics), chance.pick(rubbish())
        if fits(topic, record):
            yield Written(topic, *record)


def fits(topic: str, record: Raw) -> bool:
    """Tell whether the record may be there: a statement in an unknown schema must be held back."""
    key, _, headers = record
    if any(topic.endswith(kind) for kind in _AS_STATE):
        return key is not None
    return ".cmd." not in topic or not any((v or b"").startswith(UNKNOWN[:10]) for _, v in headers)
