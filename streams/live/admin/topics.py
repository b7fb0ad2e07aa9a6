"""Compare a topology's topics with those of a live cluster."""

from __future__ import annotations

from dataclasses import dataclass

from streams.kafka import (
    Cluster,
    Mismatch,
    broker_count,
    compare,
    find_beyond_apply,
)
from streams.kafka.listing import topic_names
from streams.wire.specs import TopicSpec


@dataclass(frozen=True, slots=True)
class Comparison:
    """Missing and differing topics of a cluster, and unneeded topics of the prefix.

    ``findings``: problems that only an operator can solve, including a cluster that is too small.
    """

    mismatches: tuple[Mismatch, ...]
    spare: tuple[str, ...]
    findings: tuple[str, ...] = ()
    brokers: int = 0


def compare_topics(cluster: Cluster, specs: list[TopicSpec]) -> Comparison:
    """Compare the topics of a cluster with the required topics."""
    needed = {spec.name for spec in specs}
    prefix = cluster.topics.prefix
    there = (name for name in topic_names(cluster) if name.startswith(prefix))
    spare = tuple(sorted(name for name in there if name not in needed)) if prefix else ()
    found, brokers = tuple(compare(cluster, specs)), broker_count(cluster)
    warning = cluster.replication.warning(brokers)
    findings = (*find_beyond_apply(cluster, found), *filter(None, [warning]))
    return Comparison(found, spare, findings, brokers)
