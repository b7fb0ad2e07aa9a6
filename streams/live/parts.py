"""The parts of a topology, one for each of its Kafka clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streams.errors import UsageError
from streams.kafka import CatalogState, Cluster, stated_cluster
from streams.settings import Credentials
from streams.topology import Cluster as Stated
from streams.topology import Topology, clusters_of, share_of
from streams.wire import Topics


@dataclass(frozen=True, slots=True)
class Part:
    """The share of one cluster; ``name`` is "" if the topology has only one cluster."""

    name: str
    topology: Topology
    stated: Stated


def parts_of(topology: Topology, chosen: str | None = None) -> tuple[Part, ...]:
    """Return all parts, or the ``chosen`` cluster's part; raise UsageError if there is none."""
    names = clusters_of(topology)
    if chosen is not None:
        names = (chosen,)
    if not names:
        return (Part("", topology, Stated("")),)
    return tuple(
        Part(name, share_of(topology, name), topology.clusters.get(name) or Stated(name))
        for name in names
    )


def cluster_of_part(part: Part, home: Topics, credentials: Credentials) -> Cluster:
    """Return the cluster of a part, with its own credentials, not those of another cluster."""
    return stated_cluster(replace(part.stated, credentials=None), home, credentials)


def refuse_another(part: Part, cluster: Cluster, state: CatalogState) -> None:
    """Raise UsageError if the catalog belongs to another cluster of the topology."""
    live = state.topology
    there = {i.cluster for i in live.instances.values()} if live else set()
    if part.name and there and part.name not in there:
        named = ", ".join(sorted(name or "none" for name in there))
        raise UsageError(
            f"The catalog at {cluster.bootstrap} belongs to a cluster other than {part.name}: its "
            f"instances name {named}.",
            "Give this cluster's address, or another prefix.",
        )
