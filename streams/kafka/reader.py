"""Read a topic's partitions without a group, to their ends."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka.checked_consumer import CheckedConsumer
from streams.kafka.cluster import Cluster, Message
from streams.kafka.consumer_health import ConsumerHealth
from streams.kafka.failure import NO_LEADER

_PASSING = NO_LEADER | {
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
}
"""Errors of the broker or the client about a topic that was just created."""


def partitions_of(cluster: Cluster, topic: str, *, timeout: float = 30) -> list[int]:
    """Return a topic's partitions; raise SurroundingsError if it does not exist."""
    # List all topics, because a request by name may create the topic on the broker.
    try:
        metadata = cluster.admin().list_topics(timeout=timeout).topics.get(topic)
    except KafkaException as error:
        raise cluster.unreachable(error, timeout) from error
    if metadata is None or metadata.error is not None:
        raise SurroundingsError(
            f"Topic {topic} does not exist.",
            cluster.remedy("Run 'hopline apply TOPOLOGY' to create it."),
        )
    return sorted(metadata.partitions)


def watermarks(
    consumer: Consumer, topic: str, partition: int, *, timeout: float = 30
) -> tuple[int, int]:
    """Return the start and end offset of a partition; wait for the leader of a new topic.

    Raises KafkaException if there is no leader within ``timeout`` seconds. The end is the last
    stable offset for a read_committed consumer, and the high watermark for other consumers.
    """
    where, deadline = TopicPartition(topic, partition), time.monotonic() + timeout
    while True:
        try:
            return consumer.get_watermark_offsets(where, timeout=min(timeout, 10))
        except KafkaException as error:
            if time.monotonic() > deadline or error.args[0].code() not in _PASSING:
                raise
            consumer.poll(0.5)  # a pause that still serves the client's callbacks


PATIENCE = 30.0
"""Seconds that a reader waits for a record before it checks whether Kafka is available."""
_STILL = 4
"""Maximum number of consecutive waits of a reader while Kafka responds but returns no records."""
_CHECK = 1.0
"""Seconds between two checks of a consumer's health."""


def next_of(
    consumer: CheckedConsumer, topic: str, partition: int, health: ConsumerHealth | None = None
) -> Message:
    """Return the next message of a consumer: a record, the end of a partition, or an error.

    Waits for slow responses; raises SurroundingsError after 30 s without any response, or after two
    minutes without a record or partition end. ``partition`` has not been read to its end yet. With
    ``health``, records that the client cannot read are skipped after about a minute.
    """
    for _ in range(_STILL):
        message = _poll(consumer, health)
        if message is not None:
            return message
        try:  # watermarks() would poll, and lose a record
            consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE)
        except KafkaException as error:
            raise SurroundingsError(
                f"Topic {topic} cannot be read: no answer for {PATIENCE:.0f} s."
            ) from error
    raise SurroundingsError(
        f"Topic {topic} cannot be read: Kafka responds, but has returned no records for "
        f"{_STILL * PATIENCE:.0f} s.",
        "A transaction may be open; retry after its timeout. `kafka-transactions.sh "
        "find-hanging` finds transactions that never time out.",
    )


def _poll(consumer: CheckedConsumer, health: ConsumerHealth | None) -> Message | None:
    """Return the next message, or ``None`` after PATIENCE seconds."""
    if health is None:
        return consumer.poll(PATIENCE)
    until = time.monotonic() + PATIENCE
    while (left := until - time.monotonic()) > 0:
        message = consumer.poll(min(left, _CHECK))
        if message is not None:
            return message
        health.look(False, consumer)
    return None


def read_all(
    cluster: Cluster,
    topic: str,
    partition: int | None = None,
    *,
    to_high: bool = False,
    skips: bool = False,
) -> Iterator[Message]:
    """Yield a topic's committed records in order, from the start to the current end.

    The end is the last stable offset, so an open transaction does not block the reader. With
    ``to_high``, the end is the high watermark, and the reader waits until open transactions have
    ended. With ``skips``, records that the client cannot read are skipped after about a minute;
    otherwise reading fails. Use it only for topics whose records may be lost.
    """
    wanted = [partition] if partition is not None else partitions_of(cluster, topic)
    places = [TopicPartition(topic, p, OFFSET_BEGINNING) for p in wanted]
    return read_from(cluster, places, to_high=to_high, skips=skips)


def read_from(
    cluster: Cluster,
    places: Sequence[TopicPartition],
    *,
    to_high: bool = False,
    skips: bool = False,
) -> Iterator[Message]:
    """Yield the records of one topic from the given offsets on, like :func:`read_all`.

    The end is determined at the first record, and does not move when records are appended. The
    client would report the end of a partition only after an empty fetch, which may never occur on a
    busy topic.
    """
    topic, wanted = places[0].topic, [place.partition for place in places]
    health = ConsumerHealth(cluster) if skips else None
    consumer = cluster.consumer(
        f"{cluster.topics.prefix}reader",
        auto_offset_reset="earliest",
        enable_partition_eof=True,
        stats=None if health is None else health.report,
    )
    try:
        # during this call, a new topic may get its leader
        ends = {p: watermarks(consumer, topic, p)[1] for p in wanted}
        if to_high:
            ends = _ends(cluster, topic, wanted)
        consumer.assign(list(places))
        left = set(wanted)
        while left:
            message = next_of(consumer, topic, min(left), health)
            error, p = message.error(), message.partition() or 0
            offset = message.offset() or 0
            if error is None and p in left and offset < ends[p]:
                yield message
                offset += 1  # the next record; only transaction markers may follow it
            elif error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if offset >= ends[p] or (error is not None and not to_high):
                left.discard(p)
    finally:
        consumer.close()


def read_live(
    cluster: Cluster,
    topic: str,
    partition: int | None = None,
    *,
    to_high: bool = False,
    only: Container[bytes] | None = None,
) -> dict[bytes, bytes]:
    """Return the content of a compacted topic: the latest value of each key.

    With ``only``, the result contains only these keys, because the values of all keys may not fit
    into memory.
    """
    live: dict[bytes, bytes] = {}
    for message in read_all(cluster, topic, partition, to_high=to_high):
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        if only is not None and key not in only:
            continue
        if value is None:
            live.pop(key, None)
        else:
            live[key] = value
    return live


def _ends(cluster: Cluster, topic: str, partitions: list[int]) -> dict[int, int]:
    """Return the high watermarks; a read_committed consumer would get the last stable offsets."""
    consumer = cluster.consumer(
        f"{cluster.topics.prefix}reader", isolation_level="read_uncommitted"
    )
    try:
        return {p: watermarks(consumer, topic, p)[1] for p in partitions}
    finally:
        consumer.close()
