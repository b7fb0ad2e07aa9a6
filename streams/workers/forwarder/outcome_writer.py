"""Write the outcome of a record: copies, statuses for its sender, and events."""

from __future__ import annotations

import logging
from collections.abc import Callable

from streams.errors import EventKind
from streams.kafka import Headers, Message
from streams.node import Forwarder, Outcome, Place, Record, event
from streams.routing import Origin
from streams.times import plausible
from streams.wire import MalformedError, encode_status
from streams.wire.records import HOP, INSIDE, MESSAGE, ORIGIN, OUTSIDE, ROUTE
from streams.workers.forwarder.local_producer import LocalProducer, short, source_of
from streams.workers.forwarder.offset_tracker import Position
from streams.workers.forwarder.topic_names import TopicNames
from streams.workers.record_errors import Tracebacks, is_caused_by_record

log = logging.getLogger("hopline.forwarder")

WriteRemote = Callable[[Origin, str, Message, Headers, int], None]
"""Writes a copy for an instance of another cluster: origin, target, message, headers, time."""


class OutcomeWriter:
    """Write outcomes of a ``forwarder``; ``now`` is Kafka's time in epoch milliseconds."""

    def __init__(
        self,
        forwarder: Forwarder,
        local_producer: LocalProducer,
        topics: TopicNames,
        write_remote: WriteRemote,
        now: Callable[[], int],
    ) -> None:
        self._forwarder, self._local_producer, self._topics = forwarder, local_producer, topics
        self._write_remote, self._now = write_remote, now
        self._tracebacks = Tracebacks()

    def write(self, message: Message, record: Record, outcome: Outcome) -> None:
        """Write the outcome of a record, which was read as ``message``."""
        source, catalog = source_of(message), self._forwarder.catalog
        stamp = plausible(message.timestamp()[1], self._now())
        for copy in outcome.copies:
            headers: Headers = [(ROUTE, copy.route), (HOP, copy.hop)]
            if record.message is not None:
                headers.insert(1, (MESSAGE, record.message))
            if copy.instance in catalog.neighbours:
                self._write_remote(record.origin, copy.instance, message, headers, stamp)
                continue
            if copy.place is Place.IN:
                headers.append((ORIGIN, INSIDE if copy.inside else OUTSIDE))
            self._local_producer.produce(
                source,
                self._topics.target(catalog, copy.place, copy.instance, copy.database),
                record.key,
                message.value(),
                headers,
                stamp,
            )
        for status in outcome.statuses:
            here = self._forwarder.instance
            topic = self._topics.target(catalog, Place.ACK, here, status.database)
            key = str(status.conversation).encode()
            self._local_producer.produce(source, topic, key, encode_status(status))
        if outcome.event is not None:
            self._local_producer.emit(source, record.key, outcome.event)

    def write_failed(self, message: Message, error: Exception) -> None:
        """Report a record whose processing failed (:meth:`refuse`)."""
        self.refuse(source_of(message), message.key(), error)

    def refuse(self, source: Position, key: bytes | str | None, error: Exception) -> None:
        """Report a record that cannot be processed, with its coordinates (event 161).

        Raises an error that was not caused by the record.
        """
        if not is_caused_by_record(error):
            raise error
        if not isinstance(error, MalformedError):
            what = f"{self._forwarder.instance}: {source} was not forwarded"
            self._tracebacks.log(log, what, error)
            error = MalformedError(f"it cannot be processed: {type(error).__name__}")
        topic, partition, offset = source
        corrupted = event(
            EventKind.CORRUPTED_MESSAGE,
            at=self._now(),
            instance=self._forwarder.instance,
            error=error.number,
            detail=str(error),
            topic=topic,
            partition=partition,
            offset=offset,
        )
        self._local_producer.emit(source, short(key), corrupted)
