"""Design, rule 1: on brokers that create topics automatically, only `apply` creates topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import pytest
from confluent_kafka import Producer

from streams.embedded import Beside, Broker
from streams.kafka import Cluster, KafkaError, KafkaException, TopicPartition
from streams.kafka.stored_batches import UnknownError
from streams.wire import Topics
from tests.running import DEADLINE, eventually

CREATES = Beside(properties={"auto.create.topics.enable": "true"})
"""This is the default of Kafka, and of most clusters that Hopline has not set up."""
AT_ONCE = {"topic_metadata_propagation_max_ms": 0}
"""A record for an unknown topic fails with the first metadata, instead of after 30 s."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    broker = Broker(tmp_path_factory.mktemp("creates"), beside=CREATES)
    broker.start(tied=True)
    yield Cluster(broker.bootstrap, Topics("x."))
    broker.stop()


def write(producer: Producer, topic: str) -> KafkaError | None:
    """Write a record to a topic; return the error."""
    ends: list[KafkaError | None] = []
    try:
        producer.produce(topic, b"v", on_delivery=lambda error, _: ends.append(error))
    except KafkaException as failed:  # the metadata came during this call
        return cast(KafkaError, failed.args[0])
    eventually(lambda: producer.poll(0.1) >= 0 and ends, "the record is written or fails")
    return ends[0]


def produce(cluster: Cluster, topic: str) -> None:
    error = write(cluster.producer(delivery_report_only_error=False, **AT_ONCE), topic)
    assert error is not None
    assert error.code() in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)


def produce_in_transaction(cluster: Cluster, topic: str) -> None:
    producer = cluster.producer(transactional_id="x.t", delivery_report_only_error=False, **AT_ONCE)
    producer.init_transactions(DEADLINE)
    producer.begin_transaction()
    assert write(producer, topic) is not None
    producer.abort_transaction(DEADLINE)


def assign(cluster: Cluster, topic: str) -> None:
    consumer = cluster.consumer("x.group")
    consumer.assign([TopicPartition(topic, 0, 0)])
    consumer.poll(1)
    assert consumer.list_topics(topic, timeout=DEADLINE).topics[topic].error is not None
    consumer.close()


def list_topic(cluster: Cluster, topic: str) -> None:
    found = cluster.admin().list_topics(topic, timeout=DEADLINE).topics[topic]
    assert found.error is not None


def read_headers(cluster: Cluster, topic: str) -> None:
    found = cluster.stored_batches()
    assert found is not None
    with pytest.raises(UnknownError):
        found.first_with_records((topic, 0), 0, 10)
    found.close()


CALLS = [produce, produce_in_transaction, assign, list_topic, read_headers]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_no_client_creates_a_topic(cluster: Cluster, call: Callable[[Cluster, str], None]) -> None:
    """Another client then creates a topic, so the broker has processed all earlier requests."""
    topic, later = f"x.{call.__name__}", f"x.{call.__name__}.later"
    call(cluster, topic)
    assert write(Producer({"bootstrap.servers": cluster.bootstrap}), later) is None
    topics = cluster.admin().list_topics(timeout=DEADLINE).topics
    assert (later in topics, topic in topics) == (True, False)
