"""The partitions that are assigned to the members of consumer groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupState

from streams.kafka.cluster import Cluster

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Assigned:
    """The assignment of a group, by topic and partition.

    ``settled``: no rebalance is in progress. A member that was killed keeps its partitions until
    its session times out.
    """

    places: frozenset[tuple[str, int]]
    settled: bool


def read_assigned(cluster: Cluster, beginnings: Sequence[str]) -> dict[str, Assigned]:
    """Return the assignments of groups with these name prefixes, if this user may list them."""
    admin = cluster.admin()
    listed = admin.list_consumer_groups(request_timeout=_TIMEOUT).result()
    names = sorted(g.group_id for g in listed.valid if g.group_id.startswith(tuple(beginnings)))
    if not names:
        return {}
    asked = admin.describe_consumer_groups(names, request_timeout=_TIMEOUT)
    found = {}
    for name, future in asked.items():
        group = future.result()
        places = frozenset(
            (p.topic, p.partition) for m in group.members for p in m.assignment.topic_partitions
        )
        found[name] = Assigned(places, group.state == ConsumerGroupState.STABLE)
    return found
