"""Look up the route of a decision quickly."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams import routing
from streams.analysis.answers import decided
from streams.analysis.paths.network import State, Step
from streams.routing import broker_key, parse_address
from streams.topology import MSDB, Database, Instance, Route, Topology

Alike = tuple[str, str, str | None, str | None, object, object]


@dataclass(frozen=True, slots=True)
class At:
    """A route with its table."""

    instance: Instance
    database: Database
    route: Route

    def __str__(self) -> str:
        return f"{self.instance.name}/{self.database.name}/{self.route.name}"


@dataclass(slots=True)
class RouteIndex:
    """Every route of a topology by its place and name, and the number of its equivalents."""

    topology: Topology
    now: float
    _found: dict[tuple[str, str, str], At] = field(default_factory=dict)
    _several: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        alike: dict[Alike, list[str]] = {}
        for instance in self.topology.instances.values():
            for database in (*instance.databases.values(), instance.msdb):
                for route in database.routes:
                    at = At(instance, database, route)
                    self._found.setdefault((instance.name, database.name, route.name), at)
                    if route.expires is None or route.expires > self.now:
                        alike.setdefault(_alike(at), []).append(str(at))
        groups = (names for names in alike.values() if len(names) > 1)
        self._several = frozenset(name for names in groups for name in names)

    def every(self) -> tuple[At, ...]:
        """Return all routes; of routes with the same name in the same table, only the first."""
        return tuple(self._found.values())

    def behind(self, state: State, step: Step) -> At | None:
        """Return the route of a step, or ``None`` for steps without a route (REPLY, M6)."""
        return self.named(state, step, decided(step))

    def named(self, state: State, step: Step, name: str) -> At | None:
        """Return the route with the given name in the table of a step."""
        outside = state.database is None or step.decision.looped_back
        table = MSDB if outside or state.database is None else state.database
        return self._found.get((state.instance, table, name))

    def looped(self, here: routing.Instance, state: State, service: str) -> tuple[At, ...]:
        """Return the routes by which a message loops back (R9).

        The next decision, which msdb makes, does not name these routes.
        """
        table = self.topology.instances[state.instance].database(state.database or "")
        if table is None:
            return ()
        return tuple(
            self._found[state.instance, table.name, route.name]
            for route in table.routes
            if route.service in (service, None) and _leads_to(here, route)
        )

    def alone(self, at: At) -> bool:
        """Return whether no other route is equivalent."""
        return str(at) not in self._several


def _leads_to(here: routing.Instance, route: Route) -> bool:
    address = parse_address(route.address)
    return address is not None and here.is_here(address)


def _alike(at: At) -> Alike:
    r = at.route
    broker = None if r.broker is None else broker_key(r.broker)
    address, mirror = (a and parse_address(a) for a in (r.address, r.mirror))
    return (
        at.instance.name, at.database.name, r.service, broker,
        address.key if address else r.address, mirror.key if mirror else r.mirror,
    )  # fmt: skip
