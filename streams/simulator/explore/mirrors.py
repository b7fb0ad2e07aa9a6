"""Draw a mirrored pair in an explored estate: a target gets a partner and fails over.

The partner has the same database in a separate instance; routes that name the target become
mirrored routes. A catch-all route does not fail over. Return paths exist from both partners.
"""

from __future__ import annotations

from dataclasses import replace

from streams.simulator.clock import MILLISECOND, Chance
from streams.simulator.explore.topologies import DrawnEstate, Home
from streams.simulator.scenario import Failover, Step
from streams.topology import (
    MSDB,
    Database,
    Instance,
    Mirror,
    Role,
    Route,
    Topology,
    empty_database,
)

PAIR, PARTNER = "Pair", "Partner"
_LIKELY = 0.25


def draw_pair(estate: DrawnEstate, chance: Chance) -> DrawnEstate:
    """Return the estate, possibly with a mirrored target."""
    sources = {(flow.source.instance, flow.source.database) for flow in estate.flows}
    targets = [home for flow in estate.flows for home in flow.targets]
    able = [home for home in targets if (home.instance, home.database) not in sources]
    if not able or not chance.happens(_LIKELY):
        return estate
    return mirrored(estate, chance.pick(able))


def draw_failovers(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    """Draw which partner becomes the principal of a pair, and when."""
    if not estate.partners:
        return []
    count = chance.pick((0, 1, 1, 2, 3))
    moments = (chance.below(busy // MILLISECOND) * MILLISECOND for _ in range(count))
    return [Step(at, Failover(PAIR, chance.pick(estate.partners))) for at in moments]


def mirrored(estate: DrawnEstate, home: Home) -> DrawnEstate:
    """Return the estate with a partner for the database of a home."""
    instances = {name: _leading(i, home) for name, i in estate.topology.instances.items()}
    first = instances[home.instance]
    database = _reachable(first.databases[home.database], home.instance)
    principal, mirror = (
        replace(database, mirror=Mirror(PAIR, role)) for role in (Role.PRINCIPAL, Role.MIRROR)
    )
    instances[home.instance] = replace(
        first, databases={**first.databases, home.database: principal}
    )
    instances[PARTNER] = Instance(
        PARTNER,
        empty_database(PARTNER, MSDB),
        {home.database: mirror},
        endpoint=first.endpoint,
    )
    return replace(estate, topology=Topology(instances), partners=(home.instance, PARTNER))


def _leading(instance: Instance, home: Home) -> Instance:
    """Return the instance with routes to the home that include the home's partner."""
    addresses = {"LOCAL"} if instance.name == home.instance else set[str]()
    addresses |= {f"tcp://{home.instance}:4022", f"tcp://Listener{home.instance}:4022"}

    def known(database: Database) -> Database:
        routes = tuple(_to_pair(r, home) if r.address in addresses else r for r in database.routes)
        return replace(database, routes=routes)

    databases = {name: known(database) for name, database in instance.databases.items()}
    return replace(instance, msdb=known(instance.msdb), databases=databases)


def _to_pair(route: Route, home: Home) -> Route:
    """Convert a route to the home into a mirrored route with the broker id."""
    if route.service != home.service or route.broker not in (None, home.broker):
        return route
    first, second = f"tcp://{home.instance}:4022", f"tcp://{PARTNER}:4022"
    return replace(route, broker=home.broker, address=first, mirror=second)


def _reachable(database: Database, instance: str) -> Database:
    """Return the database with routes that lead to the same places from another instance."""
    here = f"tcp://{instance}:4022"
    local, *others = database.routes
    moved = [replace(r, address=here) if r.address == "LOCAL" else r for r in others]
    return replace(database, routes=(local, *moved))
