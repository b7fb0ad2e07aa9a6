"""List topics."""

from __future__ import annotations

from typing import Any

from streams.kafka.cluster import Cluster


def topic_names(cluster: Cluster, timeout: float = 30) -> dict[str, int]:
    """Return the names of all topics with their numbers of partitions; creates no topic."""
    return names_known(cluster.admin(), timeout)


def names_known(client: Any, timeout: float) -> dict[str, int]:
    """List topics like :func:`topic_names`, with an existing client."""
    metadata = client.list_topics(timeout=timeout).topics
    return {name: len(topic.partitions) for name, topic in metadata.items() if topic.error is None}
