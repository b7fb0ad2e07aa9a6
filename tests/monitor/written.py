"""What a system's topics hold, as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streams.capture import CaptureOrigin, CaptureWriter, Metadata, Record, TimestampType
from streams.kafka import Message, headers_of, read_all
from streams.kafka.listing import topic_names
from streams.wire.place import place_of
from tests.running import System

KINDS = ("cmd", "queue", "dialog", "event")
"""What the ledger is made of."""


def topics_of(system: System, *kinds: str) -> Iterator[tuple[str, list[Message]]]:
    """Yield the committed records of every topic of some kinds."""
    cluster = system.cluster
    for topic in topic_names(cluster):
        place = place_of(topic, cluster.topics)
        if place is not None and place.kind in kinds:
            yield topic, list(read_all(cluster, topic, to_high=True))


def captured(system: System, path: Path, *kinds: str) -> Path:
    """Write them into a capture."""
    metadata = Metadata(CaptureOrigin.CAPTURED, system.cluster.topics.prefix, "test", 0)
    with CaptureWriter(path, metadata) as writer:
        for topic, records in topics_of(system, *kinds):
            for r in records:
                key = r.key()
                assert key is None or isinstance(key, bytes)
                writer.write(
                    Record(
                        *(topic, r.partition() or 0, r.offset() or 0, r.timestamp()[1]),
                        *(TimestampType.CREATE_TIME, key, tuple(headers_of(r)), r.value()),
                    )
                )
    return path
