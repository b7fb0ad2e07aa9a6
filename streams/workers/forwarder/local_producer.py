"""Write a forwarder's output; Kafka confirms each record, or the reason is reported (11292).

A permanently rejected record blocks nothing, because the sender's dialog keeps its message. A
transient failure is retried; until Kafka has the record, no offset after it is committed.
"""

from __future__ import annotations

import logging
import threading
import time
from functools import partial

from streams.errors import Event, EventKind, Number
from streams.kafka import (
    Cluster,
    Headers,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    headers_of,
    is_passing,
)
from streams.node import event
from streams.wire import encode_event
from streams.workers.event_counts import EventCounts, Traffic
from streams.workers.record_errors import Causes, more
from streams.workers.room import Room

log = logging.getLogger("hopline.forwarder")

_LONGEST_KEY = 64
_LINGER_MS = 100
"""Milliseconds to wait for more records of a batch; the flush after the batch ends the wait."""

Source = tuple[str, int, int | None]
"""The source of a record that is written: topic, partition and offset."""
Report = partial[None]
"""Delivery callback, called with an error and the record; its one bound argument is the source."""


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
        self._event_counts = event_counts
        self._instance = instance
        self._events = cluster.topics.event
        # Infinite: otherwise an outage of five minutes would look like a rejection, and younger
        # copies of a dialog would overtake older copies.
        self._producer = cluster.producer(
            linger_ms=_LINGER_MS, message_timeout_ms=0, stats=traffic.writer
        )
        self._room = Room(self._producer, instance, stop)
        self._failed: list[tuple[KafkaError, Message, Source]] = []
        self._causes = Causes()

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

        Only failures are reported, to a callback that knows the source.
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
        try:
            self._room.produce(
                topic,
                key=key,
                value=value,
                headers=headers,
                timestamp=timestamp,
                on_delivery=report,
            )
        except KafkaException as error:  # too large: no later attempt would succeed
            self.refused_by_kafka(error.args[0], topic, key, report.args[0])

    def emit(
        self, source: Source, key: bytes | None, event: Event, value: bytes | None = None
    ) -> None:
        """Write an event; ``value``: its bytes, if it was encoded with other similar events."""
        self._event_counts.one(event)
        self.produce(source, self._events, key, value or encode_event(event))

    @property
    def producer(self) -> Producer:
        """Return the underlying client."""
        return self._producer

    def has_written(self, timeout: float) -> bool:
        """Send all records, and return whether Kafka has them within ``timeout`` seconds.

        The next batch is read after that. While an unconfirmed request of a partition is followed
        by other records, the client does not sleep (``endpoint/rounds.py``). Without this wait,
        forwarders on a slow broker's machine took the CPU time that the broker needed.
        """
        return not len(self._producer) or self._producer.flush(timeout) == 0

    def serve(self) -> None:
        """Serve delivery callbacks."""
        self._producer.poll(0)

    def confirm(self, timeout: float) -> bool:
        """Wait until all records are finished, at most twice ``timeout``; return whether they are.

        A record is finished when Kafka has it, or when its permanent rejection has been reported.
        """
        if self._producer.flush(timeout) > 0:
            log.info("%s: some records are unconfirmed; no offsets are committed", self._instance)
            return False
        failed, self._failed = self._failed, []
        for error, message, source in failed:
            if is_passing(error) and not error.fatal():
                self._again(message, source)
            else:
                self.refused_by_kafka(error, message.topic() or "", message.key(), source)
        return not failed or self._producer.flush(timeout) == 0

    def _again(self, message: Message, source: Source) -> None:
        """Produce records that failed for a transient reason again."""
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
        if error.fatal():
            log.error("%s: %s (%s)", self._instance, error.str(), topic)
            raise KafkaException(error)
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
        omitted = self._causes.due(why)  # each of these records is reported by an event anyway
        if omitted is not None:
            log.error("%s: %s%s", self._instance, dropped["detail"], more(omitted))
        if topic != self._events:  # an event about an event cannot be written either
            self.emit(source, about, dropped)
