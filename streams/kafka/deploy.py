"""Making a cluster live by a topology: its topics, then its catalog in one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from streams.kafka.catalog import CatalogState, Change, change_for, publish, read_catalog
from streams.kafka.cluster import Cluster
from streams.kafka.topics import compare, create
from streams.topology import Topology, pairs_of, queues_of, with_history
from streams.wire import Topics
from streams.wire.specs import TopicSpec, cluster_specs, home_specs, instance_specs


@dataclass(frozen=True, slots=True)
class Deployment:
    """What was done, or would be: topics and catalog objects; ``version`` is the catalog's now."""

    topics: tuple[str, ...]
    change: Change
    version: int


def specs_of(topology: Topology, topics: Topics) -> list[TopicSpec]:
    """Return every topic that a topology needs."""
    specs = list(cluster_specs(topics))
    for name, instance in topology.instances.items():
        own = [d for d in instance.databases.values() if d.mirror is None]
        queues = [(d.name, q.name, q.partitions) for d in own for q in queues_of(d)]
        specs += instance_specs(topics, name, queues, instance.partitions)
    for pair in pairs_of(topology).values():
        specs += home_specs(topics, pair.name, pair.queues, pair.partitions)
    return specs


def preview(cluster: Cluster, topology: Topology, *, prune: bool = False) -> Deployment:
    """Return what :func:`deploy` would do; changes nothing."""
    mismatches = compare(cluster, specs_of(topology, cluster.topics))
    new = any(m.missing and m.topic == cluster.topics.catalog for m in mismatches)
    state = CatalogState() if new else read_catalog(cluster)
    change = change_for(state, _wanted(topology, state), prune=prune)
    return Deployment(tuple(f"{m.topic} {m.what}" for m in mismatches), change, change.base)


def deploy(cluster: Cluster, topology: Topology, *, prune: bool = False) -> Deployment:
    """Create and correct topics, then publish what differs; running workers switch by themselves.

    Without ``prune`` nothing is removed from the catalog.
    """
    done = create(cluster, specs_of(topology, cluster.topics))
    state = read_catalog(cluster)
    wanted = _wanted(topology, state)
    change = change_for(state, wanted, prune=prune)
    version = publish(cluster, wanted, change) if change else change.base
    return Deployment(tuple(done), change, version)


def _wanted(topology: Topology, state: CatalogState) -> Topology:
    return topology if state.topology is None else with_history(topology, state.topology)
