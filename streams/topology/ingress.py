"""The ingress topics of a cluster's gateways, and the senders allowed in each.

A gateway has a separate topic for each other cluster that writes to it. So the gateway knows which
cluster wrote a frame, and can check the sender in the frame.

The allowed senders follow from the routes of the topology. A database of another cluster is allowed
in a topic if its routes, and the routes of gateways on its path, lead to that topic. Broker ids of
routes and route precedence are ignored. So every path of the topology works, but more senders are
allowed than actually send. A path that leaves the cluster and returns does not count, because other
clusters may not name a local sender unless the topology allows this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from streams.routing import (
    SYSTEM_SERVICE,
    AddressKind,
    address_from_name,
    broker_key,
    parse_address,
)
from streams.topology.compile import directory, instance_at
from streams.topology.model import Claims, Ingress, Instance, Topology
from streams.topology.objects import Database, Route

Entrance = tuple[str, str]
"""A gateway, and the other cluster that writes to it."""
_ANY_OTHER = ""
"""Represents all services that no route names."""
_UNSTATED = Claims()


class _Source(NamedTuple):
    """A database with a route; ``passes_on``: it is msdb, which also forwards."""

    instance: str
    database: Database
    passes_on: bool


_Back = Mapping[str, list[_Source]]
"""The databases whose routes lead to an instance, by the name of that instance."""


def ingress_of(topology: Topology, cluster: str) -> tuple[Ingress, ...]:
    """Return the ingress topics of a cluster's gateways, with the allowed senders.

    If the topology has no route by which another cluster answers, that cluster may write to each
    gateway that leads to it. ``claims`` in the topology replace the senders derived from routes.
    """
    border = _Border(topology, cluster)
    senders = border.senders()
    known = {other for _, other in senders}
    for instance, other in border.exits():
        if other not in known:
            senders.setdefault((instance, other), {})
    return tuple(
        border.ingress(entrance, databases) for entrance, databases in sorted(senders.items())
    )


class _Border:
    """The instances on either side of a cluster's border."""

    def __init__(self, topology: Topology, cluster: str) -> None:
        self._topology = topology
        self._leads = directory(topology)
        self._own = {n: i for n, i in topology.instances.items() if i.cluster == cluster}
        self._far = {n: i for n, i in topology.instances.items() if n not in self._own}
        self._back: dict[str | None, defaultdict[str, list[_Source]]] = {}
        """Databases with a route, by the route's service (``None``: any), then by its target."""
        self._by_name: list[_Source] = []
        """Instances with a TRANSPORT route: the service name is the address."""
        self._outbound = tuple(self._read_outbound())
        """The outbound routes, each with its instance and the cluster to which it leads."""
        own, far = self._own.values(), self._far.values()
        self._only_here = _services(own) - _services(far)
        self._brokers_here = {broker_key(d.broker_id) for i in own for d in _databases(i)}

    def senders(self) -> dict[Entrance, dict[tuple[str, str], Database]]:
        """Return, for each topic, the databases whose frames may arrive, by instance and name."""
        self._read_routes()
        found: dict[Entrance, dict[tuple[str, str], Database]] = defaultdict(dict)
        for service in self._services():
            for entrance, source in self._arrivals(service):
                found[entrance][source.instance, source.database.name] = source.database
        return found

    def exits(self) -> Iterator[Entrance]:
        """Yield each local instance whose routes lead to another cluster, with that cluster."""
        yield from ((name, other) for name, _, other in self._outbound)

    def ingress(self, entrance: Entrance, databases: dict[tuple[str, str], Database]) -> Ingress:
        """Return a topic with its senders, from ``claims`` or else from databases and routes."""
        gateway, other = entrance
        expected = [route for _, route, to in self._outbound if to == other]
        services = {name for d in databases.values() for name in d.services}
        # Errors of a removed remote service must still arrive, and stubs of instances have no
        # services.
        services |= {r.service for r in expected if r.service is not None} - self._only_here
        brokers = {d.broker_id for d in databases.values()}
        brokers |= {r.broker for r in expected if r.broker is not None}
        stated = self._topology.clusters.get(other)
        claims = (stated.claims if stated is not None else None) or _UNSTATED
        return Ingress(
            gateway,
            other,
            _sorted({*services, SYSTEM_SERVICE} if claims.services is None else claims.services),
            _sorted(b for b in brokers if broker_key(b) not in self._brokers_here)
            if claims.broker_ids is None
            else _sorted(claims.broker_ids),
        )

    # --- routes of other clusters ----------------------------------------------------------------

    def _read_routes(self) -> None:
        for name, instance in self._far.items():
            for database in _databases(instance):
                source = _Source(name, database, passes_on=database is instance.msdb)
                for route in database.routes:
                    address = parse_address(route.address)
                    if address is not None and address.kind is AddressKind.TRANSPORT:
                        self._by_name.append(source)
                    for target in self._targets(instance, route):
                        back = self._back.setdefault(route.service, defaultdict(list))
                        back[target].append(source)

    def _services(self) -> Iterator[str]:
        """Yield the services that may have different paths, and one value for all others."""
        named = {name for name in self._back if name is not None}
        if self._by_name:
            every = (d for i in self._topology.instances.values() for d in _databases(i))
            named |= {s for d in every for s in d.services if address_from_name(s) is not None}
        yield from (_ANY_OTHER, *sorted(named))

    def _arrivals(self, service: str) -> Iterator[tuple[Entrance, _Source]]:
        """Yield (topic, sender) for each sender whose messages to a service may arrive there."""
        backs: list[_Back] = [self._back.get(service, {}), self._back.get(None, {})]
        address = address_from_name(service) if service and self._by_name else None
        named_after = None if address is None else self._at(address.host, address.port)
        if named_after is not None:
            backs.append({named_after: self._by_name})
        for gateway in self._own:
            first = [source for back in backs for source in back.get(gateway, ())]
            for other in dict.fromkeys(self._cluster_of(source.instance) for source in first):
                last = [s for s in first if self._cluster_of(s.instance) == other]
                yield from (((gateway, other), source) for source in _behind(last, backs))

    def _targets(self, instance: Instance, route: Route) -> Iterator[str]:
        """Yield the targets of a route's addresses."""
        for text in (route.address, route.mirror):
            address = parse_address(text) if text is not None else None
            if address is None or address.kind is not AddressKind.NETWORK:
                continue
            target = instance_at(self._topology, address, instance.name)
            if target is not None:
                yield target

    def _at(self, host: str, port: int) -> str | None:
        return self._leads.get((host.casefold(), port))

    # --- routes of this cluster -------------------------------------------------------------

    def _read_outbound(self) -> Iterator[tuple[str, Route, str]]:
        for name, instance in self._own.items():
            for database in _databases(instance):
                for route in database.routes:
                    for target in self._targets(instance, route):
                        if target in self._far:
                            yield name, route, self._cluster_of(target)

    def _cluster_of(self, instance: str) -> str:
        return self._topology.instances[instance].cluster or ""


def _behind(last: Iterable[_Source], backs: Sequence[_Back]) -> Iterator[_Source]:
    """Yield all senders at these instances, and all senders whose routes lead to them."""
    waiting, met = list(last), set[str]()
    while waiting:
        source = waiting.pop()
        yield source
        if source.passes_on and source.instance not in met:
            met.add(source.instance)
            waiting += (s for back in backs for s in back.get(source.instance, ()))


def _databases(instance: Instance) -> tuple[Database, ...]:
    return (*instance.databases.values(), instance.msdb)


def _services(instances: Iterable[Instance]) -> set[str]:
    return {name for i in instances for d in i.databases.values() for name in d.services}


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
