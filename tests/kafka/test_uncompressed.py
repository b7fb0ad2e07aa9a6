"""Topics that applications and other clusters write are stored uncompressed (decision 47)."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, TopicPartition

from streams.kafka import Cluster, create, read_all
from streams.wire import Topics
from streams.wire.specs import TopicSpec, spec
from tests.kafka.raw_batch import LZ4, append, ask, batch, disguised, record
from tests.kafka.raw_fetch import codecs
from tests.running import eventually

SMALLEST = b"\x0a\x00\x00\x00\x01\x01"
"""A record as librdkafka reads it: without a key, a value or headers. The broker requires a number
of headers."""
MANY = 20
UNTRUSTED = ("cmd", "ingress", "reading", "presence", "catalog")


def inflating() -> bytes:
    """Return a record for the broker; librdkafka reads it, and :data:`MANY` records in a header.

    The length that the record states ends before the content of its header.
    """
    content = SMALLEST * MANY
    whole = record(0, value=b"first", headers=[(b"h", content)])
    size = len(whole) - 2 - len(content)  # its length takes two bytes
    return record(0, value=b"first", headers=[(b"h", content)], length=size)


def topic_of(kafka: str, prefix: str, made: TopicSpec) -> tuple[Cluster, str]:
    cluster = Cluster(kafka, Topics(prefix))
    create(cluster, [made])
    append(kafka, made.name, batch(record(0, value=b"before"), codec=LZ4))
    return cluster, made.name


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_a_record_that_is_many_for_the_client_is_refused(
    kafka: str, unique: str, kind: str
) -> None:
    cluster, topic = topic_of(kafka, unique, spec(f"{unique}{kind}", kind))
    assert ask(kafka, topic, batch(inflating(), codec=LZ4)) == KafkaError.INVALID_RECORD
    assert [message.value() for message in read_all(cluster, topic)] == [b"before"]


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_records_that_the_broker_has_not_counted_are_refused(
    kafka: str, unique: str, kind: str
) -> None:
    """The client would read them at the offsets of later records, without a gap."""
    _, topic = topic_of(kafka, unique, spec(f"{unique}{kind}", kind))
    uncounted = batch(*disguised(4, b"lie", record(2), record(3)), codec=LZ4)
    assert ask(kafka, topic, uncounted) == KafkaError.INVALID_RECORD


def test_a_topic_with_the_codec_of_a_batch_stores_such_a_record(kafka: str, unique: str) -> None:
    """Therefore only workers may write to topics that are stored as lz4."""
    cluster, topic = topic_of(kafka, unique, spec(f"{unique}in", "in"))
    append(kafka, topic, batch(inflating(), codec=LZ4))
    consumer = cluster.consumer(unique)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = list[bytes | None]()

    def reads_all() -> bool:
        found.extend(message.value() for message in consumer.consume(100, 0.1))
        return len(found) >= 2 + MANY

    eventually(reads_all, "the records of both batches")
    consumer.close()
    assert found == [b"before", b"first", *[None] * MANY]


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_offsets_of_compressed_batches_are_rebuilt(kafka: str, unique: str, kind: str) -> None:
    cluster, topic = topic_of(kafka, unique, spec(f"{unique}{kind}", kind))
    far = batch(record(0, value=b"one"), record(1, value=b"two", far=True), codec=LZ4)
    append(kafka, topic, far)
    found = [(message.offset(), message.value()) for message in read_all(cluster, topic)]
    assert found == [(0, b"before"), (1, b"one"), (2, b"two")]
    assert codecs(kafka, topic) == {0}
