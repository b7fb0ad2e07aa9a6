"""The other Kafka clusters into which a process's forwarders write, and their heartbeats.

Each cluster has its own credentials; the credentials of the local cluster are never sent to
another. Workers read ``presence`` of the other cluster, which also has that cluster's clock and
readable schemas, and write to the topic that a neighbour reads for this cluster.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress

from streams.errors import HoplineError
from streams.kafka import (
    GATHERED,
    Cluster,
    Consumer,
    ConsumerHealth,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    headers_of,
    is_at_end,
    stated_cluster,
    take,
)
from streams.node import CatalogView, FarPresence, KafkaClock
from streams.protocol import Claim
from streams.settings import Credentials
from streams.topology import Cluster as Stated
from streams.wire import Topics
from streams.wire.evolution import ADMITS, ANNOUNCED, read_admission, read_announcement
from streams.wire.heartbeats import HeartbeatReader
from streams.wire.records import header_of
from streams.workers.control.heartbeats import appended, log_skipped

log = logging.getLogger("hopline.control")

_END = -1
_AWAY = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)
_GATHER = 0.1
"""Seconds for which heartbeats of another cluster are batched."""
_RECEIVED = 128 << 10
"""Maximum bytes of a response of another cluster, where any codec is allowed: gzip inflates up to
1,032 times. Heartbeats have some hundred bytes, and are written in batches of at most 32 kB."""
_EVERY = 60.0
"""Seconds between log lines about batches that are too large."""
_AGAIN, _LONGEST = 1.0, 8.0
"""Seconds until a topic without data is queried again: the initial and the maximum value."""


class RemoteClusters:
    """The clusters of a process's neighbours, each watched by its own thread.

    ``follow`` is for the thread that reads the catalog; all other methods are thread-safe.
    ``catalog`` is the last version that was followed, ``clock`` the clock of the local cluster.
    """

    def __init__(self, home: Topics, credentials: Credentials, clock: KafkaClock) -> None:
        self._home = home
        self._credentials = credentials
        self._clock = clock
        self.catalog: CatalogView | None = None
        self._watches: dict[str, _Watch] = {}
        self._errors: dict[str, str] = {}

    def follow(self, catalog: CatalogView) -> None:
        """Watch exactly the clusters in which a catalog version has neighbours.

        A wrongly configured cluster is reported and left out; its neighbours are then unreachable,
        but all others are served.
        """
        wanted, errors = self._wanted(catalog)
        for name, watch in list(self._watches.items()):
            if wanted.get(name) != watch.cluster:
                self._watches.pop(name).stop()
        for name, cluster in wanted.items():
            neighbours = {n for n, stated in catalog.neighbours.items() if stated.cluster == name}
            if name in self._watches:
                self._watches[name].neighbours = neighbours
            else:
                self._watches[name] = _Watch(name, cluster, neighbours)
        self._errors, self.catalog = errors, catalog

    def _wanted(self, catalog: CatalogView) -> tuple[dict[str, Cluster], dict[str, str]]:
        wanted: dict[str, Cluster] = {}
        errors: dict[str, str] = {}
        for name in {n.cluster for n in catalog.neighbours.values()}:
            stated = catalog.clusters.get(name) or Stated(name)
            try:
                wanted[name] = stated_cluster(stated, self._home, self._credentials)
                wanted[name].admin()  # rejects properties that librdkafka does not support
            except HoplineError as error:
                errors[name] = f"{error.message} {error.remedy}".strip()
            except KafkaException as error:
                errors[name] = f"Cluster {name}: {error.args[0].str()}."
            if name in errors:
                wanted.pop(name, None)
                log.error("%s Messages for that cluster wait.", errors[name])
        return wanted, errors

    def failures(self) -> Iterator[str]:
        """Yield each unusable cluster with the reason why it is unusable."""
        yield from self._errors.values()

    def cluster_of(self, neighbour: str) -> Cluster | None:
        """Return the cluster of a neighbour; ``None`` if it is not configured."""
        watch = self._watch(neighbour)
        return None if watch is None else watch.cluster

    def knows(self, cluster: Cluster) -> bool:
        """Return whether the newest catalog has a neighbour in the given cluster."""
        return any(watch.cluster is cluster for watch in list(self._watches.values()))

    def beat(self, at: float, period: float = 1.0) -> None:
        """Record that the local ``presence`` has advanced at this monotonic time in seconds."""
        for watch in list(self._watches.values()):
            watch.presence.beat(at, period)

    def reachable(self, neighbour: str) -> bool:
        """Return whether a neighbour is reachable."""
        watch = self._watch(neighbour)
        return watch is not None and watch.presence.reachable(neighbour, time.monotonic())

    def claims(self, neighbour: str) -> tuple[Claim, ...] | None:
        """Return the last ownership claims of a neighbour; ``None`` if no heartbeat was read."""
        watch = self._watch(neighbour)
        return None if watch is None else watch.claims.get(neighbour)

    def ahead(self, neighbour: str) -> int:
        """Return by how many milliseconds the clock of a neighbour's cluster is ahead of ours.

        0 while one of the clocks is unknown.
        """
        watch = self._watch(neighbour)
        return 0 if watch is None else watch.clock.ahead_of(self._clock)

    def announced(self, neighbour: str) -> frozenset[bytes] | None:
        """Return the prefixes of the schemas that a neighbour's cluster can read, if known."""
        watch = self._watch(neighbour)
        return None if watch is None else watch.announced.get(neighbour)

    def admitted(self, neighbour: str) -> str | None:
        """Return the name under which a neighbour reads a topic of this cluster, if it does.

        An older version reads only ``txq``, and so does a neighbour whose catalog has no route from
        here.
        """
        watch, catalog = self._watch(neighbour), self.catalog
        if watch is None or catalog is None:
            return None
        return catalog.cluster if catalog.cluster in watch.admits.get(neighbour, ()) else None

    def differences(self) -> Iterator[tuple[str, float]]:
        """Yield each other cluster, and by how many seconds its clock is ahead of ours."""
        for name, watch in list(self._watches.items()):
            yield name, watch.clock.ahead_of(self._clock) / 1000

    def stop(self) -> None:
        """Stop watching all clusters."""
        for watch in self._watches.values():
            watch.stop()

    def _watch(self, neighbour: str) -> _Watch | None:
        found = self.catalog.neighbours.get(neighbour) if self.catalog else None
        return None if found is None else self._watches.get(found.cluster)


class _Watch:
    """A thread that reads the heartbeats of ``neighbours`` in another cluster.

    Heartbeats of others are dropped, because anyone there may use any number of names.
    """

    def __init__(self, name: str, cluster: Cluster, neighbours: Collection[str]) -> None:
        self.cluster, self.neighbours = cluster, neighbours
        self.presence = FarPresence()
        self.claims: dict[str, tuple[Claim, ...]] = {}
        self.clock = KafkaClock()
        self.announced: dict[str, frozenset[bytes]] = {}
        self.admits: dict[str, frozenset[str]] = {}
        self._name = name
        self._reader = HeartbeatReader()
        self._health = ConsumerHealth(cluster, topic=cluster.topics.presence)
        self._logged, self._log_at = "", 0.0
        self._skips = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"remote-{name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Request the end; the thread may take a moment if the cluster does not respond."""
        self._stop.set()
        self._thread.join(1)

    def _run(self) -> None:
        consumer = self._listening()
        again, pause = 0.0, _AGAIN / 2
        try:
            while not self._stop.is_set():
                if self._skips or time.monotonic() >= again:
                    self._ask(consumer)
                    pause = min(2 * pause, _LONGEST)
                    again = time.monotonic() + pause
                messages = take(consumer, 0.2)
                if self._health.finds(bool(messages), consumer):
                    consumer.close()
                    consumer, again = self._listening(), 0.0
                    continue
                for message in messages:
                    error = message.error()
                    if error is None or error.code() == KafkaError._PARTITION_EOF:
                        again, pause = float("inf"), _AGAIN / 2
                        self._read(message, consumer)
                    else:
                        self._log(error)
                        again = min(again, time.monotonic() + pause)
                if messages:
                    self._stop.wait(_GATHER)
        except Exception:  # the neighbours then count as silent, and their messages are buffered
            log.exception("the cluster %s is no longer watched", self._name)
        finally:
            consumer.close()

    def _listening(self) -> Consumer:
        # The consumer joins no group, but needs a group id.
        return self.cluster.consumer(
            f"{self.cluster.topics.prefix}control",
            auto_offset_reset="latest",
            enable_partition_eof=True,
            stats=self._health.report,
            within=_RECEIVED,
            errors=self._cannot_receive,
            fetch_wait_max_ms=500,  # an idle cluster is polled less often; a record ends the wait
            **GATHERED,
        )

    def _ask(self, consumer: Consumer) -> None:
        """Start reading at the end. The client reports a missing topic only once."""
        topic = self.cluster.topics.presence
        if not self._skips:
            with suppress(KafkaException):  # look up the topic again; it may be unavailable
                consumer.list_topics(topic, timeout=1)
        self._skips = False
        consumer.assign([TopicPartition(topic, 0, _END)])

    def _cannot_receive(self, error: KafkaError) -> None:
        """Skip a batch that is too large, because the client would request the batch forever."""
        if error.code() != KafkaError._BAD_MSG:
            return
        self._skips, now = True, time.monotonic()
        if now < self._log_at:
            return
        self._log_at = now + _EVERY
        log.warning(
            "the cluster %s: a batch in %s has more than %d kB and is skipped, with the heartbeats "
            "before the end of the topic. Only Hopline's workers should write this topic: check "
            "its ACLs there ('hopline acl')",
            self._name,
            self.cluster.topics.presence,
            _RECEIVED >> 10,
        )

    def _read(self, message: Message, consumer: Consumer) -> None:
        now, position = time.monotonic(), message.offset() or 0
        if message.error() is not None:
            self.clock.end_read(now)
            return
        self.clock.seen(appended(message), now)
        if is_at_end(consumer, self.cluster.topics.presence, position + 1):
            self.clock.end_read(now)  # with many writers, no fetch is empty
        try:
            self._note(message)
        except Exception as error:  # no record may end the thread
            log_skipped(f"presence of the cluster {self._name}", position, error)

    def _note(self, message: Message) -> None:
        seen = self._reader.read(message.key(), message.value())
        if seen.instance not in self.neighbours:
            return
        headers = headers_of(message)
        announced = header_of(headers, ANNOUNCED)
        admits = read_admission(header_of(headers, ADMITS))
        self.claims[seen.instance] = seen.claims
        if announced is not None:  # the worker has not read its catalog yet
            self.announced[seen.instance] = read_announcement(announced)
            self.admits[seen.instance] = admits
        self.presence.seen(seen.instance, seen.replica, seen.number, seen.period)

    def _log(self, error: KafkaError) -> None:
        """Log new errors; an unreachable broker is in the client's own log."""
        if error.str() != self._logged and error.code() not in _AWAY:
            log.warning("the cluster %s: %s", self._name, error.str())
        self._logged = error.str()
