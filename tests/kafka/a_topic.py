"""A topic with one partition, and records in it."""

from __future__ import annotations

from streams.kafka import Cluster, create
from streams.wire import Topics
from streams.wire.specs import TopicSpec


def made(kafka: str, prefix: str) -> tuple[Cluster, str]:
    cluster = Cluster(kafka, Topics(prefix))
    topic = cluster.topics.dialog("S")
    create(cluster, [TopicSpec(topic, "dialog", 1, {})])
    return cluster, topic


def write(cluster: Cluster, topic: str, count: int) -> None:
    producer = cluster.producer()
    for number in range(count):
        producer.produce(topic, key=b"k%d" % number, value=b"%d" % number)
    assert producer.flush(30) == 0
