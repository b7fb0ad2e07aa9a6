"""Read the recent records of a one-partition topic with a few fetches, and detect its end.

As long as the application has not taken a partition's records, the client does not fetch that
partition, and checks it every ``fetch.queue.backoff.ms``. A consumer that processes records as they
arrive should use :data:`GATHERED`, which checks less often, or :data:`PROMPT` if a caller waits for
each record. A consumer that pauses between reads should use :func:`pausing`, which also fetches
less often.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from streams.kafka.reader import watermarks

log = logging.getLogger("hopline.kafka")

GATHERED: dict[str, Any] = {"fetch_queue_backoff_ms": 10}
"""Configuration of a consumer that gathers records while it processes others."""
PROMPT: dict[str, Any] = {"fetch_queue_backoff_ms": 2, "queued_min_messages": 16}
"""Configuration of a consumer of messages.

With a backoff of 10 ms, a forwarder reads 114,000 messages per second instead of 166,000. At a rate
of 1,000 messages per second, one hop takes 7.5 ms instead of 3.4 ms.

All partitions of a consumer share a queue in the client. If the queue is full
(``queued.min.messages``) when the client checks a partition, the next fetch omits this partition.
New records of the partition then wait until another partition has a record, or for
``fetch.wait.max.ms``. So the queue counts as full only above 15 entries (records and partition
ends), which is few enough for the client's memory, however large they become when decompressed
(decisions 27, 34).
"""
_LONGEST_CHECK = 1.0
"""Maximum of ``fetch.queue.backoff.ms`` in librdkafka, in seconds."""
_NEWEST_WITHIN = 5.0
"""Maximum number of seconds to wait for the newest record."""
_MOST_RECENT = 10_000
"""Number of last records that count as recent if the newest record cannot be read."""


def pausing(check: float) -> dict[str, Any]:
    """Return the configuration of a consumer that pauses between two reads.

    ``check``: seconds between two checks, and thus the maximum time until the client fetches again
    after a read.
    """
    milliseconds = round(1000 * min(check, _LONGEST_CHECK))
    return {"fetch_queue_backoff_ms": milliseconds, "fetch_wait_max_ms": 500}


def start_before_newest(
    consumer: Consumer, topic: str, seconds: Callable[[Message], float]
) -> tuple[int, int]:
    """Return the offset at which a topic's recent records begin, and the current end.

    Recent records begin ``seconds`` before the newest record, by the broker's clock
    (LogAppendTime); no other clock is used. Compaction never removes the newest record. If the
    client cannot read the newest record, which any writer may have written (decision 46), the last
    10,000 records count as recent.
    """
    where = TopicPartition(topic, 0)
    low, high = watermarks(consumer, topic, 0)
    if high <= low:
        return high, high
    consumer.assign([TopicPartition(topic, 0, high - 1)])
    newest = consumer.poll(_NEWEST_WITHIN)
    if newest is None:
        start = max(low, high - _MOST_RECENT)
        log.warning(
            "%s: Kafka has not returned the newest record, %d, within %.0f s; reading begins at %d",
            topic, high - 1, _NEWEST_WITHIN, start,
        )  # fmt: skip
        return start, high
    error = newest.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            return high, high
        raise KafkaException(error)
    where.offset = max(0, newest.timestamp()[1] - int(1000 * seconds(newest)))
    [found] = consumer.offsets_for_times([where], timeout=30)
    return (found.offset if 0 <= found.offset <= high else low), high


def is_at_end(consumer: Consumer, topic: str, position: int) -> bool:
    """Return whether an offset is the topic's end as of the last fetch, without a request.

    At a rate of hundreds of records per second, fetches are never empty, so the client never
    reports the end of the partition.
    """
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), cached=True)
    return 0 <= high <= position
