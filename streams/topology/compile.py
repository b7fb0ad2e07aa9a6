"""Compile a topology for the routing decision, and resolve addresses."""

from __future__ import annotations

from collections.abc import Mapping

from streams import routing
from streams.routing import Address, AddressKind, RoutingTable, parse_address
from streams.system_names import SYSTEM_SERVICES
from streams.topology.model import MSDB, Instance, Topology
from streams.topology.objects import Database, Role, Route

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Hosts that refer to the machine of the instance that uses them."""


def routing_instances(topology: Topology) -> dict[str, routing.Instance]:
    """Compile every instance for :mod:`streams.routing`; expired routes are kept."""
    leads = directory(topology)
    return {i.name: _leading(i, leads) for i in topology.instances.values()}


def routing_instance_of(topology: Topology, name: str) -> routing.Instance:
    """Compile one instance in the context of its topology."""
    return _leading(topology.instances[name], directory(topology))


def _leading(instance: Instance, leads: Mapping[tuple[str, int], str]) -> routing.Instance:
    here = (a for a in _addresses(instance.listeners) if leads.get(_key(a)) == instance.name)
    return routing_instance(instance, tuple(here))


def routing_instance(
    instance: Instance, listeners: tuple[Address, ...] | None = None
) -> routing.Instance:
    """Compile one instance; ``listeners`` lead to it, by default all its own listeners."""
    address = instance.address
    if listeners is None:
        listeners = _addresses(instance.listeners)
    hosts = {alias.casefold() for alias in instance.aliases} | LOOPBACK
    hosts |= {a.host.casefold() for a in listeners if a.port == address.port}
    # msdb is an ordinary database for messages that are sent from it or to a service in it.
    every = (*instance.databases.values(), instance.msdb)
    databases = {d.name: _database(d) for d in every}
    return routing.Instance(
        instance.name,
        address,
        frozenset(hosts),
        databases,
        databases[MSDB].routes,
        forwarding=instance.endpoint.forwarding,
        started=instance.started,
        msdb_enabled=instance.msdb.delivers,
    )


def _database(database: Database) -> routing.Database:
    mirror = database.mirror is not None and database.mirror.role is Role.MIRROR
    return routing.Database(
        database.name,
        database.broker_id,
        SYSTEM_SERVICES.union(database.services),
        enabled=database.delivers and not mirror,
        routes=RoutingTable(_route(route) for route in database.routes),
        is_mirror=mirror,
    )


def _route(route: Route) -> routing.Route:
    mirror = None if route.mirror is None else _address(route.mirror)
    return routing.Route(
        route.name, route.service, route.broker, _address(route.address), mirror,
        route.expires, route.route_id,
    )  # fmt: skip


def _address(text: str) -> Address:
    """Return an address; for an invalid text (kept by C-06), an address that no instance has."""
    return parse_address(text) or Address(AddressKind.NETWORK, text, 0)


def _addresses(texts: tuple[str, ...]) -> tuple[Address, ...]:
    return tuple(a for a in map(parse_address, texts) if a is not None)


# --- Resolving addresses ----------------------------------------------------------------------


def instance_at(topology: Topology, address: Address, seen_from: str | None = None) -> str | None:
    """Return the instance at an address, or ``None`` if no instance has the address.

    An instance's own address takes precedence over aliases, and aliases take precedence over
    listeners. A loopback address leads to the instance that uses it, ``seen_from``, or by its port
    to another instance of the same machine.
    """
    if address.kind is not AddressKind.NETWORK:
        return None
    at = None if seen_from is None else topology.instances.get(seen_from)
    if at is not None and is_loopback(address) and at.address.port == address.port:
        return at.name
    own = None if at is None else at.address
    return found_at(directory(topology), address, own)


def is_loopback(address: Address) -> bool:
    """Return whether the host of an address is the machine that uses it."""
    return address.host.casefold() in LOOPBACK


def found_at(
    leads: Mapping[tuple[str, int], str], address: Address, own: Address | None
) -> str | None:
    """Return the instance in a directory at an address that the instance at ``own`` uses.

    Instances of one machine have the same host, or ``localhost`` among their aliases.
    """
    if own is not None and is_loopback(address):
        beside = leads.get((own.host.casefold(), address.port))
        if beside is not None:
            return beside
    return leads.get(_key(address))


def directory(topology: Topology) -> Mapping[tuple[str, int], str]:
    """Return a mapping from (host, port) to instance for all addresses; computed once."""
    found: dict[tuple[str, int], str] = {}
    instances = tuple(topology.instances.values())
    for instance in instances:
        found.setdefault(_key(instance.address), instance.name)
    for instance in instances:
        port = instance.address.port
        for host in (instance.name, *instance.aliases):
            found.setdefault((host.casefold(), port), instance.name)
    replicas: dict[tuple[str, int], list[Instance]] = {}
    for instance in instances:
        for listener in _addresses(instance.listeners):
            replicas.setdefault(_key(listener), []).append(instance)
    for key, named in replicas.items():
        found.setdefault(key, _primary(named).name)
    return found


def _primary(replicas: list[Instance]) -> Instance:
    """Return the instance to which a listener leads, among the instances that have it.

    All replicas of a group have its listener, and may also be in other groups; the listener belongs
    to the group that they share. Without roles, the result is the first instance.
    """
    roles = [_roles(i) for i in replicas]
    common = set(roles[0]).intersection(*roles)
    primary = (n for n, held in enumerate(roles) if any(held[p] is Role.PRINCIPAL for p in common))
    return replicas[next(primary, 0)]


def _roles(instance: Instance) -> dict[str, Role]:
    mirrors = (d.mirror for d in instance.databases.values())
    return {m.pair: m.role for m in mirrors if m is not None}


def _key(address: Address) -> tuple[str, int]:
    return address.host.casefold(), address.port
