"""The input of a routing decision: routes, databases, instances, and the query.

All values are immutable, so that a worker can switch to a new catalog by replacing one reference.
Times are seconds since the epoch, UTC. Broker ids are compared as GUIDs if both are GUIDs,
otherwise as written (U-02); only :func:`broker_key` implements this comparison.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from streams.routing.address import LOCAL, Address, AddressKind

AUTO_CREATED_LOCAL = "AutoCreatedLocal"

_LONGEST_GUID = 38
_GUID = re.compile(r"\{?[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\}?")


class Origin(Enum):
    """The origin of a message: this instance, or another instance (reference 2.1)."""

    INSIDE = "inside"
    OUTSIDE = "outside"


def broker_key(broker: str) -> str:
    """Return the comparable form of a broker id (U-02)."""
    return _guid_key(broker) if len(broker) <= _LONGEST_GUID else broker


@lru_cache(maxsize=65536)
def _guid_key(broker: str) -> str:
    return str(uuid.UUID(broker)) if _GUID.fullmatch(broker) else broker


def broker_order(broker: str) -> tuple[int, bytes]:
    """Return the sort key of a broker id: GUIDs by bytes, then other ids by UTF-16LE (U-18)."""
    if _GUID.fullmatch(broker):
        return (0, uuid.UUID(broker).bytes)
    return (1, broker.encode("utf-16-le", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Route:
    """A row of ``sys.routes``. ``None`` means "any" or, for an expiry, "never"."""

    name: str
    service: str | None
    broker: str | None
    address: Address
    mirror: Address | None = None
    expires: float | None = None
    route_id: int = 0


def auto_created_local(route_id: int = 0) -> Route:
    """Return the default route of every database (reference 1.1)."""
    return Route(AUTO_CREATED_LOCAL, None, None, LOCAL, route_id=route_id)


class RoutingTable:
    """The routes of one database, with indexes for lookups by service and broker id."""

    __slots__ = ("_balanced", "_full", "_last_resort", "_named", "routes")

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self.routes = tuple(routes)
        full: dict[tuple[str, str], list[Route]] = {}
        named: dict[str, list[Route]] = {}
        balanced: dict[str, list[Route]] = {}
        last_resort: list[Route] = []
        for route in self.routes:
            if route.service is None:
                # A route with a broker id but no name is invalid (9662); such a record matches
                # nothing.
                if route.broker is None:
                    last_resort.append(route)
            elif route.broker is None:
                named.setdefault(route.service, []).append(route)
            else:
                full.setdefault((route.service, broker_key(route.broker)), []).append(route)
                balanced.setdefault(route.service, []).append(route)
        self._full = {key: tuple(rows) for key, rows in full.items()}
        self._named = {key: tuple(rows) for key, rows in named.items()}
        self._balanced = {key: tuple(rows) for key, rows in balanced.items()}
        self._last_resort = tuple(last_resort)

    def full(self, service: str, broker: str) -> tuple[Route, ...]:
        """Return the routes that name both the service and the broker id."""
        return self._full.get((service, broker_key(broker)), ())

    def named(self, service: str) -> tuple[Route, ...]:
        """Return the routes that name the service without a broker id."""
        return self._named.get(service, ())

    def with_broker(self, service: str) -> tuple[Route, ...]:
        """Return the routes that name the service and any broker id."""
        return self._balanced.get(service, ())

    def last_resort(self) -> tuple[Route, ...]:
        """Return the routes that name neither a service nor a broker id."""
        return self._last_resort

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RoutingTable) and self.routes == other.routes

    def __hash__(self) -> int:
        return hash(self.routes)

    def __repr__(self) -> str:
        return f"RoutingTable({self.routes!r})"


@dataclass(frozen=True, slots=True)
class Database:
    """A broker: its id, services and routes, and whether delivery is on.

    ``is_mirror``: the broker is the mirror of a pair, so delivery is off and it does not accept
    messages.
    """

    name: str
    broker_id: str
    services: frozenset[str] = frozenset()
    enabled: bool = True
    routes: RoutingTable = field(default_factory=RoutingTable)
    is_mirror: bool = False


@dataclass(frozen=True, slots=True)
class Instance:
    """A SQL Server process, as input of the routing decision.

    ``hosts`` contains other names and addresses of this instance; they are case-insensitive. Any of
    these hosts with the port of ``address`` is a loop-back (U-45). ``msdb`` contains the routes for
    messages from another instance.
    """

    name: str
    address: Address
    hosts: frozenset[str] = frozenset()
    databases: Mapping[str, Database] = field(default_factory=dict)
    msdb: RoutingTable = field(default_factory=RoutingTable)
    forwarding: bool = False
    started: bool = True
    msdb_enabled: bool = True
    _here: frozenset[str] = field(init=False, repr=False, compare=False)
    _by_broker: Mapping[str, Database] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        here = frozenset(name.casefold() for name in (self.address.host, *self.hosts))
        object.__setattr__(self, "_here", here)
        by_broker: dict[str, Database] = {}
        for database in sorted(self.databases.values(), key=lambda d: (not d.enabled, d.name)):
            by_broker.setdefault(broker_key(database.broker_id), database)
        object.__setattr__(self, "_by_broker", by_broker)

    def is_here(self, address: Address) -> bool:
        """Return whether an address resolves to this instance (R8.1, U-45)."""
        return (
            address.port == self.address.port
            and address.kind is AddressKind.NETWORK
            and address.host.casefold() in self._here
        )

    def hosting(self, service: str) -> tuple[str, ...]:
        """Return the names of the active databases that have a service, sorted."""
        return tuple(
            sorted(d.name for d in self.databases.values() if d.enabled and service in d.services)
        )

    def with_broker_id(self, broker: str) -> Database | None:
        """Return the database with a broker id, preferably an active database."""
        return self._by_broker.get(broker_key(broker))


@dataclass(frozen=True, slots=True)
class Query:
    """A query: where does this message go?

    ``database`` is the home of a message sent from here (its routes decide), or ``None`` for a
    message from another instance (msdb decides). ``broker`` is the far broker id of the
    conversation or of the message. ``conversation`` matters only if several broker ids or databases
    are equally suitable. ``looped_back``: the message was sent from this instance to its own
    address (R9).
    """

    service: str
    origin: Origin
    broker: str | None = None
    database: str | None = None
    from_initiator: bool = True
    conversation: uuid.UUID | None = None
    looped_back: bool = False
