"""Kafka's topic ids. A recreated topic with the same name has a new id."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection

from streams.kafka.cluster import Cluster

_TIMEOUT = 30.0
NO_TOPIC = uuid.UUID(int=0)
"""The id of a missing topic."""


def topic_id(cluster: Cluster, topic: str) -> uuid.UUID:
    """Return Kafka's id of a topic; raise KafkaException if it does not exist."""
    return topic_ids(cluster, [topic])[topic]


def find_topic_id(cluster: Cluster, topic: str) -> uuid.UUID:
    """Return a topic's id, or NO_TOPIC; raise KafkaException if Kafka does not respond."""
    try:
        return topic_id(cluster, topic)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise
        return NO_TOPIC


def topic_ids(cluster: Cluster, topics: Sequence[str]) -> dict[str, uuid.UUID]:
    """Return the id of each topic, like :func:`topic_id`."""
    admin = cluster.admin()
    found = admin.describe_topics(TopicCollection(list(topics)), request_timeout=_TIMEOUT)
    return {topic: _guid(future.result().topic_id) for topic, future in found.items()}


def _guid(known: Any) -> uuid.UUID:
    high, low = known.get_most_significant_bits(), known.get_least_significant_bits()
    return uuid.UUID(int=(high % 2**64 << 64) + low % 2**64)
