"""An instance while statements are applied to it: dictionaries first, frozen values afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from streams.topology.findings import NOWHERE, Finding, Skipped, Source
from streams.topology.model import MSDB, Instance, empty_database
from streams.topology.objects import (
    Contract,
    Database,
    MessageType,
    Priority,
    Queue,
    Route,
    Service,
)


@dataclass(slots=True)
class Notes:
    """What is to be said about a script, in order."""

    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class DatabaseDraft:
    """A database that can be changed; routes are found by name without case (U-01)."""

    def __init__(self, base: Database) -> None:
        self.base = base
        self.message_types: dict[str, MessageType] = dict(base.message_types)
        self.contracts: dict[str, Contract] = dict(base.contracts)
        self.queues: dict[str, Queue] = dict(base.queues)
        self.services: dict[str, Service] = dict(base.services)
        self.schemas: dict[str, str] = dict(base.schemas)
        self.priorities: dict[str, Priority] = {p.name: p for p in base.priorities}
        self._routes = {route.route_id: route for route in base.routes}
        self._ids: dict[str, list[int]] = {}
        self._next_id = max(self._routes, default=0) + 1
        for route in base.routes:
            self._ids.setdefault(route.name.casefold(), []).append(route.route_id)

    def queue(self, name: str) -> Queue | None:
        """Return a queue by its name; one that only a service names has default settings."""
        named = (*self.queues, *(service.queue for service in self.services.values()))
        found = next((n for n in named if n.casefold() == name.casefold()), None)
        return None if found is None else self.queues.get(found) or Queue(found)

    def priority(self, name: str) -> Priority | None:
        """Return the broker priority of a name, without case like every sysname."""
        folded = name.casefold()
        return next((p for n, p in self.priorities.items() if n.casefold() == folded), None)

    def route(self, name: str) -> Route | None:
        """Return the route of a name."""
        ids = self._ids.get(name.casefold())
        return self._routes[ids[0]] if ids else None

    def add_route(self, route: Route) -> None:
        """Add a route behind all others."""
        added = replace(route, route_id=self._next_id)
        self._next_id += 1
        self._routes[added.route_id] = added
        self._ids.setdefault(added.name.casefold(), []).append(added.route_id)

    def change_route(self, route: Route) -> None:
        """Put a route in the place of the one with its id."""
        self._routes[route.route_id] = route

    def drop_route(self, route: Route) -> None:
        """Remove a route."""
        del self._routes[route.route_id]
        self._ids[route.name.casefold()].remove(route.route_id)

    def build(self) -> Database:
        """Return the database as it is now."""
        return replace(
            self.base,
            message_types=self.message_types,
            contracts=self.contracts,
            queues=self.queues,
            services=self.services,
            schemas=self.schemas,
            priorities=tuple(self.priorities.values()),
            routes=tuple(self._routes[key] for key in sorted(self._routes)),
        )


class InstanceDraft:
    """An instance whose databases can be changed and added; their names compare without case."""

    def __init__(self, base: Instance) -> None:
        self.base = base
        every = (base.msdb, *base.databases.values())
        self._databases = {d.name.casefold(): DatabaseDraft(d) for d in every}

    def database(self, name: str) -> DatabaseDraft | None:
        """Return a database."""
        return self._databases.get(name.casefold())

    def ensure(self, name: str, source: Source = NOWHERE) -> DatabaseDraft:
        """Return a database, created with its defaults where there is none of the name."""
        found = self.database(name)
        if found is None:
            found = DatabaseDraft(empty_database(self.base.name, name, source))
            self._databases[name.casefold()] = found
        return found

    def user_databases(self) -> Iterator[DatabaseDraft]:
        """Yield every database but msdb, in the order of their first mention."""
        return (d for key, d in self._databases.items() if key != MSDB)

    def build(self) -> Instance:
        """Return the instance as it is now."""
        built = {d.base.name: d.build() for d in self.user_databases()}
        return replace(self.base, msdb=self._databases[MSDB].build(), databases=built)
