"""Deploy a topology to a cluster: first its topics, then its catalog in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streams.kafka.brokers import find_long_transactions
from streams.kafka.catalog import CatalogState, Change, change_for, publish, read_catalog
from streams.kafka.cluster import Cluster
from streams.kafka.compare_topics import Mismatch, broker_count, compare
from streams.kafka.create_topics import settle
from streams.topology import Topology, pairs_of, queues_of, with_history
from streams.wire import Topics
from streams.wire.specs import TopicSpec, cluster_specs, home_specs, instance_specs


@dataclass(frozen=True, slots=True)
class Deployment:
    """The changes made or planned: topics and catalog objects; ``version`` is the catalog version.

    ``findings`` are problems with topics and brokers that only an operator can solve; ``warning``
    is the reason why the cluster is too small to be safe, or "".
    """

    topics: tuple[str, ...]
    change: Change
    version: int
    findings: tuple[str, ...] = ()
    warning: str = ""


def specs_of(topology: Topology, topics: Topics) -> list[TopicSpec]:
    """Return every topic that a topology needs."""
    specs = list(cluster_specs(topics))
    for name, instance in topology.instances.items():
        own = [d for d in instance.databases.values() if d.mirror is None]
        queues = [(d.name, q.name, q.partitions) for d in own for q in queues_of(d)]
        writers = [each.cluster for each in topology.ingress if each.gateway == name]
        specs += instance_specs(topics, name, queues, instance.partitions, writers)
    for pair in pairs_of(topology).values():
        specs += home_specs(topics, pair.name, pair.queues, pair.partitions)
    return specs


def preview(cluster: Cluster, topology: Topology, *, prune: bool = False) -> Deployment:
    """Return the changes that :func:`deploy` would make; change nothing."""
    mismatches = compare(cluster, specs_of(topology, cluster.topics))
    done = tuple(f"{m.topic} {m.what}" for m in mismatches if not _is_finding(m))
    new = any(m.missing and m.topic == cluster.topics.catalog for m in mismatches)
    state = CatalogState() if new else read_catalog(cluster)
    change = change_for(state, _wanted(topology, state), prune=prune)
    findings = find_beyond_apply(cluster, mismatches)
    return Deployment(done, change, change.base, findings, warn(cluster))


def deploy(cluster: Cluster, topology: Topology, *, prune: bool = False) -> Deployment:
    """Create and correct topics, then publish the changed objects; running workers adopt them.

    Objects are removed from the catalog only with ``prune``.
    """
    specs = specs_of(topology, cluster.topics)
    mismatches = compare(cluster, specs)
    done = settle(cluster, specs, mismatches)
    state = read_catalog(cluster)
    wanted = _wanted(topology, state)
    change = change_for(state, wanted, prune=prune)
    version = publish(cluster, wanted, change) if change else change.base
    findings = find_beyond_apply(cluster, mismatches)
    return Deployment(tuple(done), change, version, findings, warn(cluster))


def find_beyond_apply(cluster: Cluster, mismatches: Iterable[Mismatch]) -> tuple[str, ...]:
    """Return sentences about the problems that only an operator can solve."""
    return (*_find_too_few(mismatches), *find_long_transactions(cluster))


def _find_too_few(mismatches: Iterable[Mismatch]) -> tuple[str, ...]:
    """Return a sentence about topics with too few replicas: first topic, count and remedy."""
    found = [m for m in mismatches if _is_finding(m)]
    if not found:
        return ()
    more = f" ({len(found) - 1} more like this)" if len(found) > 1 else ""
    first = found[0]
    return (f"Topic {first.topic}: {first.what}{more}; workers refuse to start. {first.remedy}",)


def warn(cluster: Cluster) -> str:
    """Return why a cluster is too small to keep acknowledged records; "" if it is large enough."""
    return cluster.replication.warning(broker_count(cluster))


def _is_finding(mismatch: Mismatch) -> bool:
    return bool(mismatch.remedy) and not mismatch.is_fatal


def _wanted(topology: Topology, state: CatalogState) -> Topology:
    return topology if state.topology is None else with_history(topology, state.topology)
