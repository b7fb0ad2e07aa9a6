"""Other clients that disturb a worker: in its group, with its transactional id, on its topics.

A worker is named by role and instance, such as ``endpoint/ServerA``.
"""

from __future__ import annotations

import time

from streams.kafka import Cluster, partitions_of

_JOINS = 3


def group_of(cluster: Cluster, worker: str) -> str:
    """Return the consumer group of a worker."""
    return cluster.topics.prefix + worker.replace("/", ".")


def transactional_id(cluster: Cluster, worker: str) -> str:
    """Return the transactional id of an endpoint worker in slot 0."""
    return f"{group_of(cluster, worker)}.0"


def fence(cluster: Cluster, worker: str) -> None:
    """Take over the worker's transactional id, like a second worker with its slot."""
    producer = cluster.producer(transactional_id=transactional_id(cluster, worker))
    producer.init_transactions(30)


def abandon(cluster: Cluster, worker: str) -> None:
    """Leave a transaction open on all topics that the worker reads and writes.

    The producer is dropped as if it had been killed. Kafka ends the transaction after 15 s, and
    until then no consumer reads past its records.
    """
    instance, names = worker.partition("/")[2], cluster.topics
    producer = cluster.producer(transactional_id=f"{names.prefix}dead.{time.time_ns()}")
    producer.init_transactions(30)
    producer.begin_transaction()
    for kind in ("cmd", "out", "in", "ack", "dialog"):
        topic = names.name(kind, instance)
        for partition in partitions_of(cluster, topic):
            producer.produce(topic, key=b"nobody", value=b"never", partition=partition)
    assert producer.flush(30) == 0


def crowd(cluster: Cluster, worker: str) -> None:
    """Let other members join the worker's group, take partitions and leave, one by one."""
    (role, _, instance), names = worker.partition("/"), cluster.topics
    kinds = ("cmd", "in", "ack") if role == "endpoint" else ("out", "txq")
    for _ in range(_JOINS):
        stranger = cluster.consumer(
            group_of(cluster, worker), partition_assignment_strategy="range"
        )
        stranger.subscribe([names.name(kind, instance) for kind in kinds])
        until = time.monotonic() + 3
        while time.monotonic() < until and not stranger.assignment():
            stranger.poll(0.1)
        stranger.close()
