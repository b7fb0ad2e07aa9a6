"""Read the heartbeats of neighbours in another Kafka cluster."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from contextlib import suppress

from streams.kafka import (
    RECEIVED,
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    headers_of,
    is_at_end,
    take,
)
from streams.node import FarPresence, KafkaClock
from streams.protocol import Claim
from streams.wire.evolution import ADMITS, ANNOUNCED, read_admission, read_announcement
from streams.wire.heartbeats import HeartbeatReader
from streams.wire.records import header_of
from streams.workers.control.heartbeats import appended
from streams.workers.control.remote_clients import remote_consumer
from streams.workers.pulse import beat, rest
from streams.workers.record_errors import Skips

log = logging.getLogger("hopline.control")

_END = -1
_AWAY = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE)
_GATHER = 0.1
"""Seconds for which heartbeats of another cluster are batched."""
_EVERY = 60.0
"""Seconds between log lines about oversized batches and about implausible times."""
_AGAIN, _LONGEST = 1.0, 8.0
"""Seconds until a topic without data is queried again: the initial and the maximum value."""
_SILENT = 15.0
"""Seconds without a record after which a new client is tried, because the client may have lost all
brokers (`streams.kafka.lost_brokers`) or may no longer fetch (`streams.kafka.stalled_fetch`)."""
_RETRY = 5.0
"""Seconds until a watch that has failed starts again."""


class RemoteWatch:
    """A thread that reads the heartbeats of ``neighbours`` in another cluster.

    All other heartbeats are dropped, because any client there can use any number of names.
    ``failure``: a sentence that explains why nothing is read at present; empty if no error has
    occurred since the last record. While nothing is read, the neighbours count as unreachable, and
    messages for them are buffered. ``home``: the clock of the local cluster; times that differ from
    it by more than a day are not used.
    """

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        neighbours: Collection[str],
        home: KafkaClock | None = None,
    ) -> None:
        self.cluster, self.neighbours = cluster, neighbours
        self._home, self._time_log_at = home, 0.0
        self.presence = FarPresence()
        self.claims: dict[str, tuple[Claim, ...]] = {}
        self.clock = KafkaClock()
        self.announced: dict[str, frozenset[bytes]] = {}
        self.admits: dict[str, frozenset[str]] = {}
        self.failure = ""
        self._name = name
        self._reader = HeartbeatReader()
        self._skipped = Skips(f"presence of the cluster {name}")
        self._logged, self._log_at = "", 0.0
        self._skips = False
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"remote-{name}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Request the thread's end, which may take a moment if the cluster does not respond."""
        self._stop.set()
        self.thread.join(1)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._watch()
            except Exception as error:
                self.failure = f"The cluster {self._name} cannot be watched: {error!r}."
                if self.failure != self._logged:
                    log.exception("the cluster %s cannot be watched; retrying", self._name)
                self._logged = self.failure
                self._stop.wait(_RETRY)
        rest()

    def _watch(self) -> None:
        consumer = self._listening()
        again, pause = 0.0, _AGAIN / 2
        silent_at = time.monotonic() + _SILENT
        try:
            while not self._stop.is_set():
                beat()
                if self._skips or time.monotonic() >= again:
                    self._ask(consumer)
                    pause = min(2 * pause, _LONGEST)
                    again = time.monotonic() + pause
                messages = take(consumer, 0.2)
                if messages:
                    silent_at = time.monotonic() + _SILENT
                elif time.monotonic() >= silent_at:  # a new client may help
                    consumer.close()
                    consumer, again = self._listening(), 0.0
                    silent_at = time.monotonic() + _SILENT
                    continue
                for message in messages:
                    error = message.error()
                    if error is None or error.code() == KafkaError._PARTITION_EOF:
                        again, pause = float("inf"), _AGAIN / 2
                        self._read(message, consumer)
                        self.failure = ""
                    else:
                        self._log(error)
                        again = min(again, time.monotonic() + pause)
                if messages:
                    self._stop.wait(_GATHER)
        finally:
            consumer.close()

    def _listening(self) -> Consumer:
        return remote_consumer(self.cluster, self._cannot_receive)

    def _ask(self, consumer: Consumer) -> None:
        """Start reading at the end of the topic. The client reports a missing topic only once."""
        topic = self.cluster.topics.presence
        if not self._skips:
            with suppress(KafkaException):  # look up the topic again; it may be unavailable
                consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=1)
        self._skips = False
        consumer.assign([TopicPartition(topic, 0, _END)])

    def _cannot_receive(self, error: KafkaError) -> None:
        """Skip a batch that is too large, because the client would request it forever."""
        if error.code() != KafkaError._BAD_MSG:
            return
        self._skips, now = True, time.monotonic()
        if now < self._log_at:
            return
        self._log_at = now + _EVERY
        log.warning(
            "the cluster %s: a batch in %s is larger than %d kB and is skipped, together with all "
            "heartbeats up to the end of the topic. Only Hopline's workers should write to this "
            "topic: check its ACLs there ('hopline acl')",
            self._name,
            self.cluster.topics.presence,
            RECEIVED >> 10,
        )

    def _read(self, message: Message, consumer: Consumer) -> None:
        now, position = time.monotonic(), message.offset() or 0
        if message.error() is not None:
            self.clock.end_read(now)
            return
        self._adjust(appended(message), now)
        if is_at_end(consumer, self.cluster.topics.presence, position + 1):
            self.clock.end_read(now)  # with many writers, fetches are never empty
        try:
            self._note(message)
        except Exception as error:  # no record may end the thread
            self._skipped.log(log, position, error)

    def _adjust(self, stamp: int, now: float) -> None:
        if self._home is None or self._home.is_plausible(stamp, now):
            self.clock.seen(stamp, now)
        elif now >= self._time_log_at:
            self._time_log_at = now + _EVERY
            log.warning(
                "the cluster %s: a heartbeat in %s has the time %d (epoch milliseconds), more than "
                "a day from the local cluster's clock, and is not used to compare the clocks. "
                "Check the clocks of both clusters, and that message.timestamp.type of this topic "
                "is LogAppendTime",
                self._name,
                self.cluster.topics.presence,
                stamp,
            )

    def _note(self, message: Message) -> None:
        seen = self._reader.read(message.key(), message.value())
        if seen.instance not in self.neighbours:
            return
        headers = headers_of(message)
        announced = header_of(headers, ANNOUNCED)
        schemas = None if announced is None else read_announcement(announced)
        admits = read_admission(header_of(headers, ADMITS))
        self.claims[seen.instance] = seen.claims
        if schemas is not None:  # otherwise, the worker has not read its catalog yet
            # A forwarder's thread writes as soon as it finds the schemas, so they are set last.
            self.admits[seen.instance] = admits
            self.announced[seen.instance] = schemas
        self.presence.seen(seen.instance, seen.replica, seen.number, seen.period)

    def _log(self, error: KafkaError) -> None:
        """Log new errors, except unreachable brokers, which the client logs itself."""
        if error.str() != self._logged and error.code() not in _AWAY:
            log.warning("the cluster %s: %s", self._name, error.str())
        self._logged = error.str()
