"""The endpoints of an instance, from its current state records."""

from __future__ import annotations

from collections.abc import Iterator

from streams.kafka import Cluster, partitions_of, read_live
from streams.protocol import Dialog, DialogKey
from streams.wire.state import decode_dialog
from streams.wire.state_keys import endpoint_of


def read_dialogs(cluster: Cluster, instance: str) -> Iterator[tuple[DialogKey, Dialog]]:
    """Yield the endpoints of an instance, without the positions of waiting messages."""
    topic = cluster.topics.dialog(instance)
    for partition in partitions_of(cluster, topic):
        for raw, value in read_live(cluster, topic, partition).items():
            about = endpoint_of(raw)
            if about is not None:
                yield about.dialog, decode_dialog(value, about.conversation)
