"""Headers as the client library hands them over, and those that it cannot hand over."""

from __future__ import annotations

import pytest

from streams.kafka import Cluster, create, headers_of, read_all, size_of
from streams.wire import MalformedError, Topics
from streams.wire.specs import TopicSpec
from tests.workers.raw_produce import produce_raw

COUNT, ROUNDS = 50, 10  # enough for the interpreter to take its fast way


@pytest.mark.long
def test_a_name_that_is_no_text_is_malformed_every_time(kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.result("S")
    create(cluster, [TopicSpec(topic, "result", 1, {})])
    for number in range(COUNT):
        bad = [(b"\xff", b"2")] if number % 2 else []
        produce_raw(kafka, topic, b"k", b"v", [(b"fine", b"1"), *bad])
    messages = list(read_all(cluster, topic))
    assert len(messages) == COUNT
    for _ in range(ROUNDS):
        for number, message in enumerate(messages):
            assert size_of(message) == (1 if number % 2 else 6), "it hides nothing from the next"
            if number % 2:
                with pytest.raises(MalformedError, match="the name of a header is not UTF-8"):
                    headers_of(message)
            else:
                assert headers_of(message) == [("fine", b"1")]
            assert (message.topic(), message.offset()) == (topic, number)


def test_no_headers_are_an_empty_list(kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.result("S")
    create(cluster, [TopicSpec(topic, "result", 1, {})])
    producer = cluster.producer()
    producer.produce(topic, value=b"v")
    producer.produce(topic, value=b"v", headers=[("a", None), ("a", b"")])
    producer.flush()
    assert [headers_of(m) for m in read_all(cluster, topic)] == [[], [("a", None), ("a", b"")]]
