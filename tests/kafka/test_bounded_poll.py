"""Records are taken from the client a few at a time, until they need enough memory."""

from __future__ import annotations

import pytest

from streams.kafka import Consumer, TopicPartition, headers_of, size_of, take, take_more
from streams.wire import MalformedError
from tests.kafka.a_topic import made, write
from tests.workers.raw_produce import produce_raw

_MANY = 99_000
"""Almost as many headers as the client accepts; the records below are a few kilobytes on disk."""


def reading(kafka: str, unique: str, headers: int, count: int) -> Consumer:
    """Return a consumer at the start of a topic with such records."""
    cluster, topic = made(kafka, unique)
    producer = cluster.producer()
    for _ in range(count):
        producer.produce(topic, key=b"k", value=b"v", headers=[("h", None)] * headers)
    assert producer.flush(30) == 0
    consumer = cluster.consumer(f"{unique}reader")
    consumer.assign([TopicPartition(topic, 0, 0)])
    return consumer


def test_ordinary_records_are_taken_together(kafka: str, unique: str) -> None:
    consumer = reading(kafka, unique, 8, 50)
    first = take_more(consumer, 30, 30.0)
    assert [message.offset() for message in first] == [*range(30)]
    assert size_of(first[0]) == 9
    rest = take(consumer, 30.0)
    while len(rest) < 20:
        rest += take(consumer, 30.0)
    assert [message.offset() for message in rest] == [*range(30, 50)]
    assert take_more(consumer, 10) == []
    consumer.close()


def test_records_with_very_many_headers_are_not(kafka: str, unique: str) -> None:
    """A thousand of them would take ten gigabytes."""
    consumer = reading(kafka, unique, _MANY, 20)
    taken = [take_more(consumer, 20, 30.0) for _ in range(2)]
    assert [len(group) for group in taken] == [8, 8]
    assert size_of(taken[0][0]) > 12_000_000, "what it takes in memory"
    consumer.close()


@pytest.mark.long
def test_headers_that_cannot_be_read_are_dropped_at_once(kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 1)
    for _ in range(20):
        produce_raw(kafka, topic, b"k", b"v", [(b"h", b"1")] * 1_000 + [(b"\xff", b"1")])
    consumer = cluster.consumer(f"{unique}reader")
    consumer.assign([TopicPartition(topic, 0, 0)])
    taken = take_more(consumer, 21, 30.0)
    assert len(taken) == 21
    for message in taken[1:]:
        assert size_of(message) == 1
        with pytest.raises(MalformedError):
            headers_of(message)
    consumer.close()
