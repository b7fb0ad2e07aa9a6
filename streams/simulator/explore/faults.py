"""Draw the faults of a run: links, crashes, aborts, clocks, and changes to the catalog."""

from __future__ import annotations

from collections.abc import Callable

from streams.protocol import Limits
from streams.simulator.clock import MILLISECOND, Chance
from streams.simulator.explore.mirrors import draw_failovers
from streams.simulator.explore.topologies import NOBODY, DrawnEstate, Home
from streams.simulator.scenario import (
    Abort,
    Action,
    Crash,
    Cut,
    Latency,
    Link,
    Network,
    Part,
    Skew,
    Sql,
    Step,
)
from streams.topology import Route, Topology

_PARTS = (Part.INSTANCE, Part.ENDPOINT, Part.ENDPOINT, Part.FORWARDER, Part.FORWARDER)


def draw_faults(
    estate: DrawnEstate, chance: Chance, busy: int, limits: Limits
) -> tuple[list[Step], dict[str, int]]:
    """Draw faults and changes, each with its end, and draw clock skews."""
    quarter = limits.time_to_live // 4 * MILLISECOND
    steps: list[Step] = []
    for _ in range(2 + chance.pick((1, 1, 2, 3, 5))):
        steps += _fault(estate, chance, busy, quarter)
    for kind, probability in _CHANGES:
        if chance.happens(probability):
            steps += kind(estate, chance, busy)
    steps += draw_failovers(estate, chance, busy)
    skew = {
        name: chance.below(2 * quarter) - quarter
        for name in estate.topology.instances
        if chance.happens(0.15)
    }
    return steps, skew


def draw_network(topology: Topology, chance: Chance, calm: int) -> Network:
    """Draw the behaviour of links up to the end of the faults."""

    def link() -> Link:
        least = (1 + chance.below(20)) * MILLISECOND
        most = least + chance.pick((0, 10, 100)) * MILLISECOND
        heavy = 30 * MILLISECOND if most == least and chance.happens(0.5) else 0
        loss, duplicate, reorder = (
            chance.below(30) / 100 if chance.happens(0.4) else 0.0 for _ in range(3)
        )
        return Link(Latency(least, most, heavy), loss, duplicate, reorder)

    names = sorted(topology.instances)
    links = {
        (a, b): link() for n, a in enumerate(names) for b in names[n + 1 :] if chance.happens(0.1)
    }
    return Network(link(), links, calm)


def _fault(estate: DrawnEstate, chance: Chance, busy: int, quarter: int) -> list[Step]:
    names = sorted(estate.topology.instances)
    name = chance.pick(names)
    start, end = _span(chance, busy)
    match chance.below(10):
        case 0 | 1 | 2 | 3:
            other = chance.pick([n for n in names if n != name])
            ends = (min(name, other), max(name, other))
            return [Step(start, Cut(ends)), Step(end, Cut(ends, up=True))]
        case 4 | 5 | 6 | 7:
            part = chance.pick(_PARTS)
            return [Step(start, Crash(part, name)), Step(end, Crash(part, name, up=True))]
        case 8:
            return [Step(start, Abort(name, 1 + chance.below(4)))]
        case _:
            return [Step(start, Skew(name, chance.below(2 * quarter) - quarter))]


def _span(chance: Chance, busy: int) -> tuple[int, int]:
    start = chance.below(busy // MILLISECOND) * MILLISECOND
    longest = chance.pick((500, 5_000, 20_000, 60_000))
    return start, start + (1 + chance.below(longest)) * MILLISECOND


# --- changes to the catalog ----------------------------------------------------------------------


def _queue_off(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    home = chance.pick(estate.homes)
    start, end = _span(chance, busy)
    alter = f"ALTER QUEUE [{home.service}Queue] WITH STATUS = "
    return [_sql(start, home, alter + "OFF"), _sql(end, home, alter + "ON")]


def _route_dropped(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    home, route = _some_route(estate, chance)
    if route is None:
        return []
    start, end = _span(chance, busy)
    steps = [_sql(start, home, f"DROP ROUTE [{route.name}]")]
    if chance.happens(0.8):
        steps.append(_sql(end, home, _create(route.name, route, route.address)))
    return steps


def _route_added(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    home, route = _some_route(estate, chance)
    if route is None:
        return []
    start, end = _span(chance, busy)
    other = f"tcp://{chance.pick(sorted(estate.topology.instances))}:4022"
    address = other if chance.happens(0.7) else NOBODY
    added = _create("Added", route, address)
    if chance.happens(0.3):
        return [_sql(start, home, f"{added}, LIFETIME = {1 + chance.below(20)}")]
    steps = [_sql(start, home, added)]
    if chance.happens(0.6):
        steps.append(_sql(end, home, "DROP ROUTE Added"))
    return steps


def _broker_off(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    home = chance.pick(estate.homes)
    start, end = _span(chance, busy)
    alter = f"ALTER DATABASE [{home.database}] SET "
    return [_sql(start, home, alter + "DISABLE_BROKER"), _sql(end, home, alter + "ENABLE_BROKER")]


def _broker_errors(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    home = chance.pick(estate.homes)
    what = "NEW_BROKER" if chance.happens(0.4) else "ERROR_BROKER_CONVERSATIONS"
    return [_sql(_span(chance, busy)[0], home, f"ALTER DATABASE [{home.database}] SET {what}")]


def _contract_dropped(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    home, alter = chance.pick(estate.homes), "ALTER SERVICE [{}] ({} CONTRACT [{}])"
    start, end = _span(chance, busy)
    if home.service.startswith("I"):  # initiators accept no contract
        return []
    steps = [_sql(start, home, alter.format(home.service, "DROP", estate.contract))]
    if chance.happens(0.5):
        steps.append(_sql(end, home, alter.format(home.service, "ADD", estate.contract)))
    return steps


_CHANGES: tuple[tuple[Callable[[DrawnEstate, Chance, int], list[Step]], float], ...] = (
    (_queue_off, 0.2),
    (_queue_off, 0.1),
    (_route_dropped, 0.25),
    (_route_added, 0.1),
    (_broker_off, 0.05),
    (_broker_errors, 0.05),
    (_contract_dropped, 0.05),
)


def _some_route(estate: DrawnEstate, chance: Chance) -> tuple[Home, Route | None]:
    home = chance.pick(estate.homes)
    database = estate.topology.instances[home.instance].databases[home.database]
    found = [route for route in database.routes if route.service]
    return home, chance.pick(found) if found else None


def _create(name: str, route: Route, address: str) -> str:
    broker = f"BROKER_INSTANCE = '{route.broker}', " if route.broker else ""
    mirror = f", MIRROR_ADDRESS = '{route.mirror}'" if route.mirror else ""
    return (
        f"CREATE ROUTE [{name}] WITH SERVICE_NAME = '{route.service}', {broker}"
        f"ADDRESS = '{address}'{mirror}"
    )


def _sql(at: int, home: Home, text: str) -> Step:
    action: Action = Sql(home.instance, home.database, text)
    return Step(at, action)
