"""One Kafka cluster: its address, its topic names, and correctly configured clients."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from streams.errors import SurroundingsError, UsageError
from streams.kafka.access import UnsupportedError
from streams.kafka.checked_consumer import CheckedConsumer
from streams.kafka.failure import is_silence, worded
from streams.kafka.outage import Outage
from streams.kafka.statistics import ReadStatistics, StatisticsReader
from streams.kafka.stored_batches import StoredBatches
from streams.settings import Replication, demand_safe
from streams.wire import Topics

log = logging.getLogger("hopline.kafka")

UNCOMPRESSED: Mapping[str, Any] = {"compression_type": "none"}
"""Configuration of a producer for topics that are stored uncompressed (``streams.wire.specs``).

If the producer compressed its batches, the broker would have to decompress them.
"""
STATISTICS_EVERY = 5_000
"""Milliseconds between statistics reports of a client."""
TRANSACTION_TIMEOUT_MS = 15_000
"""Transaction timeout of our producers in milliseconds: how long an abandoned transaction blocks
read_committed consumers."""
_FETCHED = {
    "queued.min.messages": 1,
    "fetch.queue.backoff.ms": 1,
    "fetch.max.bytes": 1 << 20,
}
"""The client's read-ahead: one fetch of 1 MB from each broker, unless a single batch is larger. The
client checks every millisecond whether the application has taken all records; if so, it fetches
again. The client's limits in bytes do not include headers, and decompression may expand a fetch by
a factor of 255 (lz4) or 1,032 (gzip). Kafka always returns whole batches, so only
``receive.message.max.bytes`` limits the data that is decompressed.

Without the limit of 1 MB, a response may reach 50 MB: whenever a response contains no message, the
client doubles the number of bytes that it requests from the partition.
"""
_CONNECT = 0.02
"""Seconds to let a new producer connect. If a record is produced before the producer has connected,
Kafka's client requests the producer id only half a second later."""
_LOOK = 5.0
"""Seconds between log lines that report the wait for a cluster."""
RECEIVED = 128 << 10
"""Maximum size in bytes of a response from a foreign cluster.

Heartbeats are a few hundred bytes long and are written in batches of at most 32 kB, but in any
codec, and gzip can expand data by a factor of up to 1,032. Metadata is requested only for one
topic: a thousand brokers with names of 50 characters and a thousand partitions with three replicas
take 106 kB. The client starts a thread for each broker in the metadata.
"""
_outages: dict[object, Outage] = {}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kafka cluster; ``properties`` are librdkafka properties for every client.

    These properties override the values that this class sets, so UsageError is raised for
    properties on which correctness depends. ``replication`` applies to the creation and comparison
    of topics. ``foreign``: the brokers are not trusted. All clients then accept only small
    responses (:data:`RECEIVED`). Statistics and the lists of brokers and topics must not be
    requested, because the client library crashes if they contain a name that is not UTF-8.
    """

    bootstrap: str
    topics: Topics = field(default_factory=Topics)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)  # with passwords
    replication: Replication = field(default_factory=Replication)
    foreign: bool = False

    def __post_init__(self) -> None:
        demand_safe(self.properties)

    def _common(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.bootstrap,
            # With ``debug``, librdkafka writes its whole log to stderr immediately.
            **({} if "debug" in self.properties else {"logger": self._outage()}),
            "reconnect.backoff.max.ms": 1000,
            # Only `hopline apply` creates topics. The default of producers and administration
            # clients is true, and on many clusters brokers create topics automatically.
            "allow.auto.create.topics": False,
            # Otherwise librdkafka 2.16 restarts from the bootstrap servers when all brokers are
            # down, and never finds the transaction coordinator again.
            "metadata.recovery.strategy": "none",
            **self.properties,
            **({"receive.message.max.bytes": RECEIVED} if self.foreign else {}),
        }

    def _outage(self) -> Outage:
        """Return the logger that the clients of all equal ``Cluster`` objects share."""
        key = (self.bootstrap, frozenset(self.properties.items()), self.foreign)
        return _outages.setdefault(key, Outage(self.bootstrap, self._look))

    def _look(self, timeout: float) -> None:
        """Raise KafkaException if the cluster does not respond."""
        if not self.foreign:
            self.admin().list_topics(timeout=timeout)
            return
        place = TopicPartition(self.topics.presence, 0)
        consumer = self.consumer(f"{self.topics.prefix}control")
        try:
            consumer.get_watermark_offsets(place, timeout=timeout)
        except KafkaException as error:
            if is_silence(error.args[0]):
                raise

    def producer(
        self,
        *,
        transactional_id: str | None = None,
        stats: ReadStatistics | None = None,
        **config: Any,
    ) -> Producer:
        """Create an idempotent producer with Java's partitioner, and success reports on request.

        ``stats`` receives the producer's statistics periodically, while the producer is polled;
        exceptions in ``stats`` are only logged.
        """
        settings: dict[str, Any] = {
            "enable.idempotence": True,
            "acks": "all",
            "partitioner": "murmur2_random",  # the same partition as in every Java client
            "compression.type": "lz4",
            "delivery.report.only.error": True,
            "queue.buffering.max.messages": 500_000,
        }
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
            settings["transaction.timeout.ms"] = TRANSACTION_TIMEOUT_MS
        config = {**settings, **_dotted(config), **_reported(stats), **self._common()}
        producer = Producer(config)
        producer.poll(_CONNECT if config["enable.idempotence"] and not transactional_id else 0)
        return producer

    def consumer(
        self,
        group: str,
        *,
        stats: ReadStatistics | None = None,
        within: int | None = None,
        errors: Callable[[KafkaError], None] | None = None,
        commits: Callable[[KafkaError | None, list[TopicPartition]], None] | None = None,
        exact: Collection[str] = (),
        **config: Any,
    ) -> CheckedConsumer:
        """Create a read_committed consumer that commits only explicitly.

        ``stats`` has the same meaning as in :meth:`producer`. ``within`` is the maximum size of a
        response in bytes, and overrides ``properties``. A larger batch is not read: the client
        retries until it is assigned another offset. ``errors`` receives the client's errors when
        the client is polled, including the error for a larger batch (_BAD_MSG). ``commits``
        receives the results of asynchronous commits, in the same way. ``exact`` is as in
        :class:`CheckedConsumer`.
        """
        settings: dict[str, Any] = {
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "session.timeout.ms": 10_000,
            "fetch.wait.max.ms": 50,
            **_FETCHED,
            **_reported(stats),
            **_dotted(config),
            **self._common(),
            **_limited(within or (RECEIVED if self.foreign else None)),
        }
        settings["message.max.bytes"] = _least(settings, "message.max.bytes", "fetch.max.bytes")
        member = {
            **({} if errors is None else {"error_cb": errors}),
            **({} if commits is None else {"on_commit": commits}),
        }
        config = {**settings, **member}
        return CheckedConsumer(config, lambda: self.stored_batches(exact), exact)

    def stored_batches(self, exact: Collection[str] = ()) -> StoredBatches | None:
        """Create a reader of headers; ``None`` if brokers are not trusted or not supported."""
        try:
            return None if self.foreign else StoredBatches(self.bootstrap, self.properties)
        except (UnsupportedError, UsageError) as error:
            if exact:
                log.warning(
                    "Gaps in %s are not checked, because aiokafka cannot connect (%s). Allow "
                    "only trusted applications to write there.", ", ".join(sorted(exact)), error,
                )  # fmt: skip
            return None

    def admin(self) -> AdminClient:
        """Create an administration client."""
        return AdminClient(self._common())

    def id(self) -> str:
        """Return the cluster's id, which all its brokers report."""
        return str(self.admin().list_topics(timeout=30).cluster_id)

    def wait(self, timeout: float, tell: Callable[[str], None] = log.warning) -> None:
        """Wait until the cluster responds; raise SurroundingsError after ``timeout`` seconds."""
        admin = self.admin()
        waited = 0.0
        while True:
            step = max(0.1, min(timeout - waited, _LOOK))
            try:
                admin.list_topics(timeout=step)
            except KafkaException as error:
                admin.poll(0)  # librdkafka's reason is passed on
                is_first, waited = not waited, waited + step
                if waited >= timeout:
                    raise self.unreachable(error, timeout) from error
                left = f"{timeout - waited:.0f} s more ..."
                if is_first:
                    why = self.unreachable(error)
                    tell(" ".join(filter(None, (why.message, why.remedy, f"Trying for {left}"))))
                else:
                    tell(f"Kafka at {self.bootstrap} does not answer; retrying for {left}")
            else:
                return

    def remedy(self, usual: str) -> str:
        """Return the remedy for a missing topic: Kafka might also hide it from this user."""
        if "security.protocol" not in self.properties:
            return usual
        return (
            f"{usual} Or this user lacks the right to see it; `hopline acl TOPOLOGY` lists the "
            "rights of each role."
        )

    def unreachable(self, error: KafkaException, timeout: float | None = None) -> SurroundingsError:
        """Return the error for an unreachable cluster, with the ``timeout`` in seconds, if any."""
        where = f"Kafka at {self.bootstrap}"
        waited = "" if timeout is None else f" (gave up after {timeout:g} s)"
        if "debug" in self.properties:  # librdkafka then logs everything itself
            return worded(error, where, waited=waited)
        outage = self._outage()
        if outage.refused:
            return SurroundingsError(
                f"{where} rejects the login: {outage.refused}{waited}.",
                "`hopline config show` prints security.protocol, sasl.* and ssl.*, and their "
                "sources.",
            )
        return worded(error, where, outage.reason, waited)


def _dotted(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in config.items()}


def _limited(within: int | None) -> dict[str, Any]:
    if within is None:
        return {}
    sizes = ("message.max.bytes", "fetch.message.max.bytes", "fetch.max.bytes")
    return {"receive.message.max.bytes": within, **dict.fromkeys(sizes, within // 2)}


def _least(settings: Mapping[str, Any], limit: str, other: str) -> str:
    """Return the value of a limit, or that of another limit if that is smaller.

    Only producers use ``message.max.bytes``, but the client refuses to create a consumer if this
    limit is larger than ``fetch.max.bytes``. The client also reports values that are not numbers.
    """
    values = [str(settings.get(limit, 1_000_000)), str(settings[other])]
    return min(values, key=int) if all(value.isdecimal() for value in values) else values[0]


def _reported(stats: ReadStatistics | None) -> dict[str, Any]:
    if stats is None:  # a client that is never polled would collect reports forever
        return {}
    return {"stats_cb": StatisticsReader(stats), "statistics.interval.ms": STATISTICS_EVERY}


__all__ = [
    "OFFSET_BEGINNING",
    "Cluster",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "TopicPartition",
]
