"""Remove an object from a topology: the what-if of TA-40 (reference 8.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streams.analysis.places import find_within, unknown
from streams.errors import UsageError
from streams.topology import Database, Instance, Route, Topology

LINK = "--"
"""The separator of the two instances of a link."""


def remove(topology: Topology, name: str) -> Topology:
    """Return the topology without an instance, a database, a route or a link.

    The name is ``Instance``, ``Instance/Database``, ``Instance/Database/Route`` (also of msdb) or
    ``InstanceA--InstanceB``. Addresses of a removed instance lead nowhere. There is no failover:
    the mirror of a pair stays a mirror. Raises UsageError for an unknown name.
    """
    ends = _link(topology, name)
    if ends is not None:
        return replace(topology, cuts=topology.cuts | {ends})
    instance, database, rest = find_within(topology, name)
    if database is None:
        kept = {n: i for n, i in topology.instances.items() if n != instance.name}
        return replace(topology, instances=kept)
    if rest is not None:
        route = _route(f"{instance.name}/{database.name}", database, rest)
        changed = _changed(instance, database, lambda d: _without_route(d, route))
    else:
        changed = _without_database(instance, database)
    return replace(topology, instances={**topology.instances, instance.name: changed})


def _link(topology: Topology, name: str) -> frozenset[str] | None:
    """Return the ends of a link; ``None`` for another object, whose name may contain ``--``."""
    if topology.instance(name) is not None:
        return None
    at = name.find(LINK)
    while at >= 0:
        one, other = topology.instance(name[:at]), topology.instance(name[at + len(LINK) :])
        if one is not None and other is not None and one is not other:
            return frozenset((one.name, other.name))
        at = name.find(LINK, at + 1)
    return None


def _route(at: str, database: Database, name: str) -> Route:
    exact = next((r for r in database.routes if r.name == name), None)
    folded = name.casefold()
    found = exact or next((r for r in database.routes if r.name.casefold() == folded), None)
    if found is None:
        raise unknown("route", name, (r.name for r in database.routes), at)
    return found


def _without_route(database: Database, route: Route) -> Database:
    return replace(database, routes=tuple(r for r in database.routes if r is not route))


def _without_database(instance: Instance, database: Database) -> Instance:
    if database is instance.msdb:
        raise UsageError(
            f"msdb cannot be removed from {instance.name}.",
            f"Choose one of its routes, {instance.name}/{database.name}/ROUTE, or all of "
            f"{instance.name}.",
        )
    kept = {n: d for n, d in instance.databases.items() if d is not database}
    return replace(instance, databases=kept)


def _changed(
    instance: Instance, database: Database, change: Callable[[Database], Database]
) -> Instance:
    if database is instance.msdb:
        return replace(instance, msdb=change(database))
    databases = {n: change(d) if d is database else d for n, d in instance.databases.items()}
    return replace(instance, databases=databases)
