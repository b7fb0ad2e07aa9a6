"""Write a forwarder's output; Kafka confirms each record, or the reason is reported (11292).

A permanently rejected record does not block other records, because the sender's dialog keeps its
message. After a transient failure, the write is retried. No offset after a record is committed
until Kafka has stored it.

Kafka does not check which client uses a producer id. If another client writes a record with this
producer's id, Kafka rejects our records, and a new producer with another id writes them. Many users
may write events, so a separate producer without an id writes our events, which may be repeated.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial
from typing import Any

from streams.causes import Causes, more
from streams.errors import Event, EventKind, Number
from streams.kafka import (
    WITHOUT_ID,
    Cluster,
    Headers,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    headers_of,
    is_displaced,
    is_passing,
)
from streams.node import event
from streams.wire import encode_event
from streams.workers.event_counts import EventCounts, Traffic
from streams.workers.produce_when_full import Room
from streams.workers.pulse import beat

log = logging.getLogger("hopline.forwarder")

_LONGEST_KEY = 64
_LINGER_MS = 100
"""Milliseconds to wait for more records of a request; the flush after a batch ends the wait."""

_PURGED = 30.0
"""Seconds to wait for the delivery reports of records that a replaced producer drops."""

Source = tuple[str, int, int | None]
"""The source of a record that is written: topic, partition and offset."""
Report = partial[None]
"""Delivery callback, called with an error and the record; its bound argument is the source."""


def source_of(message: Message) -> tuple[str, int, int]:
    """Return where a record was read: topic, partition and offset."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None and partition is not None and offset is not None
    return topic, partition, offset


def short(key: bytes | str | None) -> bytes | None:
    """Return a record's key for an event; ``None`` for an invalid key, which may be very large."""
    return key if isinstance(key, bytes) and len(key) <= _LONGEST_KEY else None


class LocalProducer:
    """A forwarder's producer; ``stop`` ends the wait for space if Kafka accepts no records."""

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        stop: threading.Event,
        *,
        event_counts: EventCounts,
        traffic: Traffic,
    ) -> None:
        self._event_counts, self._traffic = event_counts, traffic
        self._cluster, self._instance, self._stop = cluster, instance, stop
        self._events = cluster.topics.event
        self._event_producer: Producer | None = None
        self._event_room: Room | None = None
        self._failed: list[tuple[KafkaError, Message, Source]] = []
        self._causes = Causes()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._producer = self._client(stats=self._traffic.writer)
        self._room = Room(self._producer, self._instance, self._stop)

    def _client(self, **config: Any) -> Producer:
        # Without a timeout: otherwise an outage of five minutes would look like a rejection, and
        # newer copies of a dialog would overtake older copies.
        return self._cluster.producer(linger_ms=_LINGER_MS, message_timeout_ms=0, **config)

    def report(self, topic: str, partition: int, offset: int | None = None) -> Report:
        """Return the delivery callback for an input record, or (without offset) its partition."""
        return partial(self._reported, (topic, partition, offset))

    def copy(
        self,
        report: Report,
        topic: str,
        value: bytes | str | None,
        key: bytes,
        timestamp: int,
        headers: Headers,
    ) -> None:
        """Produce a copy like :meth:`produce`, optimized for speed."""
        try:
            # positional arguments: topic, value, key, partition, callback, on_delivery, timestamp,
            # headers
            self._producer.produce(topic, value, key, -1, report, None, timestamp, headers)  # type: ignore[arg-type]
        except (BufferError, KafkaException):
            self._produce(report, topic, key, value, headers, timestamp)

    def produce(
        self,
        source: Source,
        topic: str,
        key: bytes | None,
        value: bytes | str | None,
        headers: Headers | None = None,
        timestamp: int = 0,
    ) -> None:
        """Produce a record; raise SurroundingsError if stopped while there is no space.

        Only failures are reported, to a callback bound to the source.
        """
        self._produce(partial(self._reported, source), topic, key, value, headers, timestamp)

    def _produce(
        self,
        report: Report,
        topic: str,
        key: bytes | None,
        value: bytes | str | None,
        headers: Headers | None,
        timestamp: int,
    ) -> None:
        record = {
            "key": key,
            "value": value,
            "headers": headers,
            "timestamp": timestamp,
            "on_delivery": report,
        }
        try:
            if topic == self._events:
                self._room_of_events().produce(topic, **record)
                return
            try:
                self._room.produce(topic, **record)
            except KafkaException as error:
                if not is_displaced(error.args[0]):
                    raise
                self._replace(error.args[0])
                self._room.produce(topic, **record)
        except KafkaException as error:  # too large: a later attempt would also fail
            self.refused_by_kafka(error.args[0], topic, key, report.args[0])

    def _room_of_events(self) -> Room:
        """Return the ``Room`` of the producer of events, which most forwarders never need."""
        if self._event_room is None:
            self._event_producer = self._client(**WITHOUT_ID)
            self._event_room = Room(self._event_producer, self._instance, self._stop)
        return self._event_room

    def emit(
        self, source: Source, key: bytes | None, event: Event, value: bytes | None = None
    ) -> None:
        """Write an event; ``value``: its bytes, if it was encoded with similar events."""
        self._event_counts.one(event)
        self.produce(source, self._events, key, value or encode_event(event))

    @property
    def producer(self) -> Producer:
        """Return the underlying client."""
        return self._producer

    def has_written(self, timeout: float) -> bool:
        """Send all records; return whether Kafka has stored them within ``timeout`` seconds.

        The next batch is read after this call. While more records wait behind an unconfirmed
        request of a partition, the client does not sleep (``endpoint/rounds.py``). Without this
        call, forwarders on the machine of a slow broker used the CPU time that the broker needed.
        """
        return not any(map(len, self._clients)) or self._flush(timeout)

    @property
    def _clients(self) -> tuple[Producer, ...]:
        events = self._event_producer
        return (self._producer,) if events is None else (self._producer, events)

    def _flush(self, timeout: float) -> bool:
        """Send all records; return whether all are finished within ``timeout`` seconds."""
        end = time.monotonic() + timeout
        left = self._producer.flush(timeout)
        if self._event_producer is not None:
            left += self._event_producer.flush(max(0, end - time.monotonic()))
        return not left

    def serve(self) -> None:
        """Serve delivery callbacks."""
        for one in self._clients:
            one.poll(0)

    def confirm(self, timeout: float) -> bool:
        """Wait up to twice ``timeout`` until all records are finished; return whether they are.

        A record is finished when Kafka has it, or when its permanent rejection has been reported.
        """
        if not self._flush(timeout):
            log.info("%s: some records are unconfirmed; no offsets are committed", self._instance)
            return False
        if not self._failed:
            return True
        displaced = next((error for error, *_ in self._failed if is_displaced(error)), None)
        if displaced is not None:
            self._replace(displaced)
        else:
            self._end_failed()
        return self._flush(timeout) and not self._failed

    def _replace(self, error: KafkaError) -> None:
        """Write all unconfirmed records again, in their order, with a new client."""
        omitted = self._causes.due("displaced")
        if omitted is not None:
            log.warning(
                "%s: another client may have used its producer id; starting a new producer: %s%s",
                self._instance,
                error.str(),
                f"; {omitted} more producers were replaced" if omitted else "",
            )
        self._producer.purge()
        until = time.monotonic() + _PURGED
        while self._producer.flush(1.0) and time.monotonic() < until:
            beat()
        self._begin_anew()
        self._end_failed()

    def _end_failed(self) -> None:
        """Produce records again that failed for a transient reason; report the others."""
        failed, self._failed = self._failed, []
        for error, message, source in failed:
            if is_displaced(error) or is_passing(error):
                self._again(message, source)
            else:
                self.refused_by_kafka(error, message.topic() or "", message.key(), source)

    def _again(self, message: Message, source: Source) -> None:
        _, at = message.timestamp()
        topic, key, value = message.topic() or "", message.key(), message.value()
        report = partial(self._reported, source)
        self._produce(report, topic, key, value, headers_of(message), at)

    def _reported(self, source: Source, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append((error, message, source))

    def refused_by_kafka(
        self, error: KafkaError, topic: str, key: bytes | str | None, source: Source
    ) -> None:
        """Report that Kafka has permanently rejected a record for ``topic``."""
        self.give_up(error.str(), topic, key, source)

    def give_up(self, why: str, topic: str, key: bytes | str | None, source: Source) -> None:
        """Report that a record for ``topic`` will never be written."""
        about = short(key)
        read_from, partition, offset = source
        dropped = event(
            EventKind.FORWARDED_MESSAGE_DROPPED,
            at=time.time_ns() // 1_000_000,
            instance=self._instance,
            conversation=about.decode("utf-8", "replace") if about is not None else None,
            error=Number.TRANSPORT_SEND_ERROR,
            detail=f"{why} ({topic})",
            topic=read_from,
            partition=partition,
            offset=offset,
        )
        omitted = self._causes.due(why)  # every such record is reported by an event anyway
        if omitted is not None:
            log.error("%s: %s%s", self._instance, dropped["detail"], more(omitted))
        if topic != self._events:  # an event about an event cannot be written either
            self.emit(source, about, dropped)
