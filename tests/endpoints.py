"""The endpoints of an instance, from its current state records."""

from __future__ import annotations

from collections.abc import Iterator

from streams.kafka import Cluster, partitions_of
from streams.protocol import Dialog, DialogKey
from streams.workers.endpoint import restore


def read_dialogs(cluster: Cluster, instance: str) -> Iterator[tuple[DialogKey, Dialog]]:
    """Yield the endpoints of all partitions of an instance."""
    topic = cluster.topics.dialog(instance)
    for partition in partitions_of(cluster, topic):
        yield from restore.read_dialogs(cluster, topic, partition).items()
