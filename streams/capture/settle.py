"""Follow the outcome of a replay until every message has arrived or nothing new arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from streams.capture.arrivals import Found, read_arrivals
from streams.kafka import (
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    first_since,
    headers_of,
    read_begins,
    read_highs,
    take,
)
from streams.kafka.listing import topic_names
from streams.wire import MalformedError
from streams.wire.place import place_of

__all__ = ["has_queues", "settle", "trimmed"]

_SLICE = 0.2  # seconds per call of the client library, so that signals are handled
_EARLIER = 60_000
"""Milliseconds by which a worker's clock may be behind the clock of this process."""


def has_queues(cluster: Cluster) -> bool:
    """Return whether messages can arrive in this cluster at all."""
    return any(kind == "queue" for _, kind in _topics(cluster))


def trimmed(cluster: Cluster, began: int) -> tuple[str, ...]:
    """Return the queues that may have been trimmed since ``began``."""
    begins = read_begins(cluster, [topic for topic, kind in _topics(cluster) if kind == "queue"])
    shorter = {place: begin for place, begin in begins.items() if begin > 0}
    since = first_since(cluster, shorter, began - _EARLIER)
    return tuple(sorted({p[0] for p in shorter if since.get(p, shorter[p]) <= shorter[p]}))


def settle(
    cluster: Cluster,
    began: int,
    take: Callable[[Found], None],
    complete: Callable[[], bool],
    *,
    quiet: float,
    stopped: Callable[[], bool],
    report: Callable[[], None],
) -> bool:
    """Call ``take`` with each arrival and event since ``began`` (epoch milliseconds).

    Ends when the outcome is ``complete``, when nothing new has arrived for ``quiet`` seconds, or
    when ``stopped``; returns whether it was complete. ``report`` is called about once a second.
    """
    consumer = _reader(cluster, began)
    last = reported_at = time.monotonic()
    try:
        while not stopped():
            found = [one for message in _read(consumer) for one in _arrivals_of(message, cluster)]
            for one in found:
                take(one)
            now = time.monotonic()
            last = now if found else last
            if not found and complete():
                return True
            if now - last > quiet:
                return False
            if now - reported_at >= 1:
                reported_at = now
                report()
        return False
    finally:
        consumer.close()


def _topics(cluster: Cluster) -> Iterator[tuple[str, str]]:
    try:
        found = topic_names(cluster)
    except KafkaException as error:
        raise cluster.unreachable(error, 30) from error
    for topic in found:
        place = place_of(topic, cluster.topics)
        if place is not None and place.kind in ("queue", "event"):
            yield topic, place.kind


def _reader(cluster: Cluster, began: int) -> Consumer:
    ends = read_highs(cluster, [topic for topic, _ in _topics(cluster)])
    # In this order, one of the two calls finds records that are written between the calls.
    since = ends | first_since(cluster, ends, began - _EARLIER)
    consumer = cluster.consumer(f"{cluster.topics.prefix}replay", auto_offset_reset="earliest")
    consumer.assign([TopicPartition(*place, offset) for place, offset in since.items()])
    return consumer


def _read(consumer: Consumer) -> Iterator[Message]:
    for message in take(consumer, _SLICE):
        error = message.error()
        if error is None:
            yield message
        elif error.fatal() or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise KafkaException(error)


def _arrivals_of(message: Message, cluster: Cluster) -> Iterator[Found]:
    value = message.value()
    with suppress(MalformedError):
        raw = value.encode() if isinstance(value, str) else value
        yield from read_arrivals(
            message.topic() or "", tuple(headers_of(message)), raw, cluster.topics
        )
