"""A mutable instance: statements change it, and ``build`` returns it as frozen values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from streams.system_names import is_current_database
from streams.topology.findings import NOWHERE, Finding, Skipped, Source
from streams.topology.model import MSDB, Instance, empty_database
from streams.topology.objects import (
    Binding,
    Contract,
    Database,
    MessageType,
    Priority,
    Queue,
    Route,
    Service,
)
from streams.topology.procedures import BeginDialog, Procedure
from streams.topology.security import Certificate, Grant
from streams.topology.tsql.lexer import Remark
from streams.topology.tsql.modules import Body

_D = TypeVar("_D")


@dataclass(slots=True)
class Notes:
    """Notes about scripts, in order.

    ``understood`` counts (instance, kind); ``encodings``: the encoding of each as-found script.
    """

    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    understood: Counter[tuple[str, str]] = field(default_factory=Counter)
    encodings: dict[str, str] = field(default_factory=dict)


Use = tuple[str, str | None]
"""A used object: its kind, as in DROP, and its name; queues have case-folded names."""


def _nothing(_: object) -> tuple[Use, ...]:
    return ()


class Objects(dict[str, _D]):
    """Objects with case-sensitive names, and an index of what they use.

    ``uses`` returns what an object uses. Without the index, each DROP would examine every object
    of the database.
    """

    def __init__(
        self, objects: Mapping[str, _D], uses: Callable[[_D], Iterable[Use]] = _nothing
    ) -> None:
        super().__init__()
        self._uses = uses
        self._users: dict[Use, set[str]] = {}
        self._order: dict[str, int] = {}
        self._numbers = count()
        for name, found in objects.items():
            self[name] = found

    def __setitem__(self, name: str, found: _D) -> None:
        if name in self:
            self._forget(name)
        self._order.setdefault(name, next(self._numbers))
        super().__setitem__(name, found)
        for used in self._uses(found):
            self._users.setdefault(used, set()).add(name)

    def __delitem__(self, name: str) -> None:
        self._forget(name)
        del self._order[name]
        super().__delitem__(name)

    def _forget(self, name: str) -> None:
        for used in self._uses(self[name]):
            self._users[used].discard(name)

    def users(self, kind: str, name: str) -> tuple[str, ...]:
        """Return the names of the objects that use an object, in order."""
        return tuple(sorted(self._users.get((kind, name), ()), key=self._order.__getitem__))


def last_part(name: str) -> str:
    """Return a name without database and schema, case-folded."""
    return name.rpartition(".")[2].casefold()


class Sysnames(Objects[_D]):
    """Objects with case-insensitive names, like all names of type sysname (U-01).

    ``ever``: the last parts of all names so far, case-folded, including those of removed objects.
    """

    def __init__(
        self, objects: Mapping[str, _D], uses: Callable[[_D], Iterable[Use]] = _nothing
    ) -> None:
        self._keys: dict[str, str] = {}
        self.ever: set[str] = set()
        super().__init__(objects, uses)

    def __setitem__(self, name: str, found: _D) -> None:
        super().__setitem__(name, found)
        self._keys.setdefault(name.casefold(), name)
        self.ever.add(last_part(name))

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        if self._keys.get(name.casefold()) == name:
            del self._keys[name.casefold()]

    def find(self, name: str) -> _D | None:
        """Return the object with a name."""
        key = self._keys.get(name.casefold())
        return None if key is None else self.get(key)


def _uses_of_contract(contract: Contract) -> Iterator[Use]:
    return (("message type", name) for name in contract.messages)


def _uses_of_service(service: Service) -> Iterator[Use]:
    yield "queue", service.queue.casefold()
    yield from (("contract", name) for name in service.contracts)


def _uses_of_priority(priority: Priority) -> tuple[Use, ...]:
    return ("contract", priority.contract), ("service", priority.local_service)


def _uses_of_binding(binding: Binding) -> tuple[Use, ...]:
    return (("service", binding.service),)


class DatabaseDraft:
    """A mutable database; routes are found by case-insensitive name (U-01).

    ``created``: the scripts create the database, so they contain all its objects.
    """

    def __init__(self, base: Database) -> None:
        self.base = base
        self.created = False
        self.message_types: dict[str, MessageType] = dict(base.message_types)
        self.contracts = Objects(base.contracts, _uses_of_contract)
        self.queues: Sysnames[Queue] = Sysnames(base.queues)
        self.services = Objects(base.services, _uses_of_service)
        self.schemas: Sysnames[str] = Sysnames(base.schemas)
        self.priorities = Sysnames({p.name: p for p in base.priorities}, _uses_of_priority)
        self.bindings = Sysnames({b.name: b for b in base.bindings}, _uses_of_binding)
        self.certificates: Sysnames[Certificate] = Sysnames(base.certificates)
        self.procedures: Sysnames[Procedure] = Sysnames(base.procedures)
        self.grants: list[Grant] = list(base.grants)
        self._loose: dict[str, tuple[Body, Source]] = {}
        self._routes = {route.route_id: route for route in base.routes}
        self._ids: dict[str, list[int]] = {}
        self._next_id = max(self._routes, default=0) + 1
        for route in base.routes:
            self._ids.setdefault(route.name.casefold(), []).append(route.route_id)

    def queue(self, name: str) -> Queue | None:
        """Return a queue by its name; a queue that only a service uses has default settings."""
        declared = self.queues.find(name)
        if declared is not None:
            return declared
        users = self.services.users("queue", name.casefold())
        return Queue(self.services[users[0]].queue) if users else None

    def route(self, name: str) -> Route | None:
        """Return the route with a name."""
        ids = self._ids.get(name.casefold())
        return self._routes[ids[0]] if ids else None

    def add_route(self, route: Route) -> None:
        """Add a route after all other routes."""
        added = replace(route, route_id=self._next_id)
        self._next_id += 1
        self._routes[added.route_id] = added
        self._ids.setdefault(added.name.casefold(), []).append(added.route_id)

    def change_route(self, route: Route) -> None:
        """Replace the route with the same id."""
        self._routes[route.route_id] = route

    def drop_route(self, route: Route) -> None:
        """Remove a route."""
        del self._routes[route.route_id]
        self._ids[route.name.casefold()].remove(route.route_id)

    def body_of(self, script: str, source: Source) -> Body:
        """Return the body of a script's loose statements, to be extended."""
        return self._loose.setdefault(script, (Body(), source))[0]

    def drop_service(self, service: Service) -> None:
        """Drop a service, which ends the dialogs that loose statements have begun from it."""
        del self.services[service.name]
        for body, _ in self._loose.values():
            body.drop_service(service.name)

    def code(self) -> dict[str, Procedure]:
        """Return the procedures, and the loose statements of each script as a procedure."""
        loose = {
            name: body.build(name, source, self.services)
            for name, (body, source) in self._loose.items()
        }
        return {**self.procedures, **loose}

    def build(self) -> Database:
        """Return the current database."""
        return replace(
            self.base,
            message_types=self.message_types,
            contracts=dict(self.contracts),
            queues=dict(self.queues),
            services=dict(self.services),
            schemas=dict(self.schemas),
            priorities=tuple(self.priorities.values()),
            bindings=tuple(self.bindings.values()),
            certificates=dict(self.certificates),
            grants=tuple(self.grants),
            procedures={name: self._located(p) for name, p in self.code().items()},
            routes=tuple(self._routes[key] for key in sorted(self._routes)),
        )

    def _located(self, procedure: Procedure) -> Procedure:
        """Return a procedure with CURRENT DATABASE replaced by this broker's id."""

        def located(begin: BeginDialog) -> BeginDialog:
            here = is_current_database(begin.broker)
            return replace(begin, broker=self.base.broker_id) if here else begin

        return replace(procedure, begins=tuple(located(begin) for begin in procedure.begins))


class InstanceDraft:
    """A mutable instance with its databases; their names are case-insensitive.

    ``complete``: the effects of all statements so far are known. If not, a statement that was left
    out may have created, altered or dropped an object. ``knows_schemas``: none of these statements
    creates a schema collection from a variable.
    """

    def __init__(self, base: Instance) -> None:
        self.base = base
        self.complete = self.knows_schemas = True
        every = (base.msdb, *base.databases.values())
        self._databases = {d.name.casefold(): DatabaseDraft(d) for d in every}
        self.grants: list[Grant] = list(base.grants)

    def database(self, name: str) -> DatabaseDraft | None:
        """Return a database."""
        return self._databases.get(name.casefold())

    def ensure(self, name: str, source: Source = NOWHERE) -> DatabaseDraft:
        """Return a database, created with its defaults if it does not exist."""
        found = self.database(name)
        if found is None:
            found = DatabaseDraft(empty_database(self.base.name, name, source))
            self._databases[name.casefold()] = found
        return found

    def drop(self, name: str) -> bool:
        """Remove a user database; return whether it existed."""
        key = name.casefold()
        return key != MSDB and self._databases.pop(key, None) is not None

    def leave_out(self, statement: Skipped) -> None:
        """Record that a statement of the scripts has no effect here."""
        if statement.why and statement.kind != "BEGIN DIALOG":
            self.complete = False
        if statement.kind == "CREATE XML":
            self.knows_schemas = False

    def user_databases(self) -> Iterator[DatabaseDraft]:
        """Yield every database except msdb, in the order of first mention."""
        return (d for key, d in self._databases.items() if key != MSDB)

    def build(self) -> Instance:
        """Return the current instance."""
        built = {d.base.name: d.build() for d in self.user_databases()}
        msdb = self._databases[MSDB].build()
        return replace(self.base, msdb=msdb, databases=built, grants=tuple(self.grants))
