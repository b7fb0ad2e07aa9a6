"""Group messages that a table routes alike, because they differ only in unknown names.

Rules compare a message's service and broker id with those of routes and databases (reference 2.2).
All names that no route or database has are treated alike. So the decision for the first message
with such a name applies to all messages of its class, except for the broker id in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from streams import routing
from streams.routing import CONFIGURATION_SERVICE, AddressKind, RoutingTable, broker_key
from streams.system_names import SYSTEM_SERVICES

Table = tuple[str, str | None]
"""The deciding table: an instance, and a database or (``None``) msdb."""
_OTHER = "\0other"
"""Represents every unknown name."""


class MessageClass(NamedTuple):
    """The key that messages share if they are routed alike; its broker id is in comparable form."""

    table: Table
    service: str
    broker: str | None
    from_initiator: bool


@dataclass(frozen=True, slots=True)
class _Names:
    """Names in routes or in databases.

    ``any_service``: the path may depend on any service name, even one not in ``services``.
    """

    services: frozenset[str]
    brokers: frozenset[str]
    any_service: bool = False


@dataclass(slots=True)
class Likeness:
    """The names in each table of a topology, collected on demand.

    The names in an instance's databases and in its msdb are collected once for all of its tables.
    """

    instances: Mapping[str, routing.Instance]
    _names: dict[Table, tuple[_Names, ...]] = field(default_factory=dict)
    _shared: dict[str, tuple[_Names, ...]] = field(default_factory=dict)

    def kind(
        self, table: Table, service: str, broker: str | None, from_initiator: bool
    ) -> MessageClass | None:
        """Return the class of messages that are routed alike; ``None`` if every field matters."""
        names = self._names.get(table)
        if names is None:
            names = self._names[table] = self._collect(table)
        key = None if broker is None else broker_key(broker)
        known_service = any(each.any_service or service in each.services for each in names)
        known_broker = key is None or any(key in each.brokers for each in names)
        if known_service and known_broker:
            return None
        return MessageClass(
            table,
            service if known_service else _OTHER,
            key if known_broker else _OTHER,
            from_initiator,
        )

    def _collect(self, table: Table) -> tuple[_Names, ...]:
        here = self.instances[table[0]]
        if here.name not in self._shared:
            # The routes of msdb also decide about a message that loops back (R9).
            self._shared[here.name] = (_of_databases(here), _of_routes(here.msdb))
        home = here.databases.get(table[1] or "")
        own = () if home is None else (_of_routes(home.routes),)
        return (*self._shared[here.name], *own)


def _of_databases(here: routing.Instance) -> _Names:
    services = {name for database in here.databases.values() for name in database.services}
    brokers = (broker_key(database.broker_id) for database in here.databases.values())
    return _Names(
        frozenset(services | SYSTEM_SERVICES | {CONFIGURATION_SERVICE}), frozenset(brokers)
    )


def _of_routes(table: RoutingTable) -> _Names:
    return _Names(
        frozenset(route.service for route in table.routes if route.service is not None),
        frozenset(broker_key(route.broker) for route in table.routes if route.broker is not None),
        _reads_the_name(table),
    )


def _reads_the_name(table: RoutingTable) -> bool:
    """Return whether a route for any service uses the address in the service's name (R5.4)."""
    return any(route.address.kind is AddressKind.TRANSPORT for route in table.last_resort())
