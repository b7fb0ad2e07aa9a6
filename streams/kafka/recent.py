"""Reading the recent past of a topic of one partition, in few fetches, and knowing where it ends.

A consumer asks for more as soon as it has something. At hundreds of records a second each of them
would be a fetch of its own, which costs a hundred times what the record does. With :data:`GATHERED`
it asks again only when the application has taken what there was.

While a partition has records that the application has not taken, the client looks every
``fetch.queue.backoff.ms`` whether it has, and fetches the other partitions without it. A consumer
that pauses between two reads is better off with :data:`PAUSING`: it looks and fetches less often.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from streams.kafka.reader import next_of, watermarks

GATHERED: dict[str, Any] = {"queued_min_messages": 1, "fetch_queue_backoff_ms": 10}
"""What a consumer is configured with that fetches only when all that it had was read."""
PAUSING: dict[str, Any] = {
    "queued_min_messages": 1,
    "fetch_queue_backoff_ms": 100,
    "fetch_wait_max_ms": 500,
}
"""What such a consumer is configured with that pauses between two reads, and so reads later."""
BATCH = 1_000
"""How many records are taken from the client's queue at a time."""


def start_before_newest(
    consumer: Consumer, topic: str, seconds: Callable[[Message], float]
) -> tuple[int, int]:
    """Return the offset from which to read a topic's recent past, and where the topic ends now.

    The past begins so many ``seconds`` before the newest record, by the broker's clock
    (LogAppendTime): no other clock is asked. Compaction never removes the newest record.
    """
    where = TopicPartition(topic, 0)
    low, high = watermarks(consumer, topic, 0)
    if high <= low:
        return high, high
    consumer.assign([TopicPartition(topic, 0, high - 1)])
    newest = next_of(consumer, topic, 0)
    error = newest.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            return high, high
        raise KafkaException(error)
    where.offset = max(0, newest.timestamp()[1] - int(1000 * seconds(newest)))
    [found] = consumer.offsets_for_times([where], timeout=30)
    return (found.offset if 0 <= found.offset <= high else low), high


def take(consumer: Consumer, timeout: float) -> list[Message]:
    """Return what there is to read, waiting at most ``timeout`` seconds for the first of it."""
    first = consumer.poll(timeout)
    return [] if first is None else [first, *consumer.consume(BATCH, 0)]


def is_at_end(consumer: Consumer, topic: str, position: int) -> bool:
    """Tell whether a position is the end of a topic as of the last fetch; asks no broker.

    At hundreds of records a second no fetch is empty, and the client reports no end of partition.
    """
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), cached=True)
    return 0 <= high <= position
