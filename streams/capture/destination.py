"""Check the cluster to which a replay writes."""

from __future__ import annotations

from collections.abc import Iterable

from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaException

__all__ = ["demand_topics"]


def demand_topics(cluster: Cluster, topics: Iterable[str], timeout: float) -> None:
    """Raise SurroundingsError unless all topics exist; do not create any topic."""
    try:
        existing = cluster.admin().list_topics(timeout=timeout).topics
    except KafkaException as error:
        raise SurroundingsError(
            f"Kafka at {cluster.bootstrap} does not list its topics: {error.args[0]}.",
            "Retry; if it persists, check the broker's log.",
        ) from error
    missing = [topic for topic in topics if topic not in existing]
    if missing:
        others = f" ({len(missing) - 1} more like this)" if len(missing) > 1 else ""
        raise SurroundingsError(
            f"Topic {missing[0]} does not exist at {cluster.bootstrap}{others}.",
            "Run 'hopline apply TOPOLOGY' to create it, or give its prefix with --prefix.",
        )
