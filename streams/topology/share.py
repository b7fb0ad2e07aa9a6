"""The share of each Kafka cluster in a topology.

The share contains all data of the cluster's own instances. It contains other instances only if its
routes lead to them, and then only their addresses and clusters, because an operator of one trust
domain need not know the routes of another domain. The services and broker ids of other clusters
appear only as allowed senders (:mod:`streams.topology.ingress`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from streams.errors import UsageError
from streams.routing import AddressKind, address_from_name, parse_address
from streams.topology.agents import Agent
from streams.topology.compile import instance_at
from streams.topology.ingress import ingress_of
from streams.topology.model import Instance, Neighbour, Topology
from streams.topology.pairs import pairs_of


def clusters_of(topology: Topology) -> tuple[str, ...]:
    """Return the clusters of the instances in order, or () for a single cluster.

    Raises UsageError if some instances have a cluster and other instances have none.
    """
    named = dict.fromkeys(i.cluster for i in topology.instances.values())
    if len(named) < 2:
        return ()
    if None in named:
        silent = next(i.name for i in topology.instances.values() if i.cluster is None)
        raise UsageError(
            f"{silent} has no cluster, but other instances have one.",
            f"Set its cluster in the topology, such as cluster: {next(n for n in named if n)}.",
        )
    return tuple(n for n in named if n is not None)


def share_of(topology: Topology, cluster: str) -> Topology:
    """Return a cluster's share; raise UsageError if it has no instances."""
    own = {name: i for name, i in topology.instances.items() if i.cluster == cluster}
    if not own:
        there = ", ".join(dict.fromkeys(i.cluster or "none" for i in topology.instances.values()))
        raise UsageError(f"No instance is in the cluster {cluster}.", f"Clusters: {there}.")
    pairs_of(topology)  # rejects partners in different clusters, because they share topics
    neighbours = _neighbours(topology, own.values())
    known = {cluster, *(n.cluster for n in neighbours.values())}
    clusters = {name: c for name, c in topology.clusters.items() if name in known}
    agents = {name: a for name, a in topology.agents.items() if _may_answer(a, own.values())}
    return replace(
        topology,
        instances=own,
        clusters=clusters,
        neighbours=neighbours,
        agents=agents,
        ingress=ingress_of(topology, cluster),
    )


def _may_answer(agent: Agent, own: Iterable[Instance]) -> bool:
    """Return whether an agent may have work in these instances; always true for custom ones."""
    databases = (d for instance in own for d in instance.databases.values())
    return agent.service is None or any(agent.service in d.services for d in databases)


def _neighbours(topology: Topology, own: Iterable[Instance]) -> dict[str, Neighbour]:
    found: dict[str, dict[str, None]] = {}
    for instance in own:
        for text in _next_hops(topology, instance):
            address = parse_address(text)
            leads = instance_at(topology, address, instance.name) if address else None
            if leads is not None and topology.instances[leads].cluster != instance.cluster:
                found.setdefault(leads, {})[text] = None
    return {
        name: Neighbour(name, topology.instances[name].cluster or "", tuple(addresses))
        for name, addresses in found.items()
    }


def next_instances(topology: Topology, instance: Instance) -> tuple[str, ...]:
    """Return the instances in all clusters to which an instance's routes lead."""
    far = {text: n.name for n in topology.neighbours.values() for text in n.addresses}
    found: dict[str, None] = {}
    for text in _next_hops(topology, instance):
        address = parse_address(text)
        leads = instance_at(topology, address, instance.name) if address else None
        leads = leads or far.get(text)
        if leads is not None and leads != instance.name:
            found[leads] = None
    return tuple(found)


def _next_hops(topology: Topology, instance: Instance) -> Iterator[str]:
    """Yield the addresses of an instance's routes; for TRANSPORT, those in service names."""
    for database in (*instance.databases.values(), instance.msdb):
        for route in database.routes:
            address = parse_address(route.address)
            if address is not None and address.kind is AddressKind.TRANSPORT:
                yield from _named_after(topology)
            elif address is not None and address.kind is AddressKind.NETWORK:
                yield str(address)
            if route.mirror is not None:
                yield route.mirror


def _named_after(topology: Topology) -> Iterator[str]:
    for instance in topology.instances.values():
        for database in instance.databases.values():
            for service in database.services:
                address = address_from_name(service)
                if address is not None:
                    yield str(address)
