"""Which topics a topology needs, and how those of a live cluster differ."""

from __future__ import annotations

from dataclasses import dataclass

from streams.kafka import Cluster, Mismatch, compare
from streams.kafka.listing import topic_names
from streams.wire.specs import TopicSpec


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a cluster lacks or has otherwise, and topics of the prefix that nobody needs."""

    mismatches: tuple[Mismatch, ...]
    spare: tuple[str, ...]


def compare_topics(cluster: Cluster, specs: list[TopicSpec]) -> Comparison:
    """Hold the topics of a cluster against what is needed."""
    needed = {spec.name for spec in specs}
    prefix = cluster.topics.prefix
    there = (name for name in topic_names(cluster) if name.startswith(prefix))
    spare = tuple(sorted(name for name in there if name not in needed)) if prefix else ()
    return Comparison(tuple(compare(cluster, specs)), spare)
