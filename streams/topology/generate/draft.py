"""A mutable estate: instances, and their routing tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streams.chance import Chance
from streams.topology.generate.layout import Layout
from streams.topology.generate.rows import Flow, Home, Offer, PathKind, RouteDraft, Table
from streams.topology.model import MSDB, Endpoint, Expectation, Instance, Topology, empty_database
from streams.topology.objects import (
    Contract,
    MessageType,
    Queue,
    Route,
    Sender,
    Service,
    Validation,
)
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft

_EXPECTED_EVERY = 10  # flows
_PORTS = (4022, 4022, 4022, 4022, 4022, 4022, 4023, 5022)


class Draft:
    """Mutable instances; ``routes`` counts the created routes."""

    def __init__(self, layout: Layout, chance: Chance) -> None:
        self.instances: dict[str, InstanceDraft] = {}
        self.names: dict[RouteDraft, str] = {}
        forwarders = [*layout.hubs, *(name for r in layout.regions for name in r.gateways)]
        for name in forwarders:
            self._add(name, Endpoint(forwarding=True, forward_size_mb=100))
            msdb = self.database((name, MSDB))
            msdb.drop_route(self.route((name, MSDB), "AutoCreatedLocal"))
        for name in (name for r in layout.regions for name in r.servers):
            self._add(name, Endpoint(port=chance.pick(_PORTS)))

    @property
    def routes(self) -> int:
        """Return the number of routes besides AutoCreatedLocal."""
        return len(self.names)

    def _add(self, name: str, endpoint: Endpoint) -> None:
        base = Instance(name, empty_database(name, MSDB), endpoint=endpoint)
        self.instances[name] = InstanceDraft(base)

    def database(self, table: Table) -> DatabaseDraft:
        """Return a database, created on demand."""
        return self.instances[table[0]].ensure(table[1])

    def route(self, table: Table, name: str) -> Route:
        """Return an existing route."""
        found = self.database(table).route(name)
        assert found is not None, f"{table} has {name}"
        return found

    def route_of(self, row: RouteDraft) -> Route:
        """Return the route of a row."""
        return self.route(row.table, self.names[row])

    def address(self, instance: str) -> str:
        """Return an instance's address."""
        return str(self.instances[instance].base.address)

    def missing(self, flow: Flow) -> int:
        """Return the number of a flow's routes that do not exist yet."""
        return sum(row not in self.names for row in flow.rows)

    def add(self, flow: Flow) -> None:
        """Create all objects that a flow needs: routes, services, contracts, message types."""
        for row in flow.rows:
            if row not in self.names:
                self._create(row)
        objects = _objects(flow.offer)
        for table in (flow.sender.table, *(home.table for home in flow.offer.homes)):
            self._declare(table, *objects)
        contract = objects[1].name
        for home in flow.offer.homes:
            self._serve(home, f"{flow.offer.noun}{flow.offer.number}Queue", (contract,))
        self._serve(flow.sender, "ReplyQueue", ())

    def _create(self, row: RouteDraft) -> None:
        database = self.database(row.table)
        address = "LOCAL" if row.to == row.table[0] else self.address(row.to)
        stem = f"{row.service.rsplit('/', 1)[-1]} by {'LOCAL' if address == 'LOCAL' else row.to}"
        name, number = stem, 2
        while database.route(name) is not None:
            name, number = f"{stem} {number}", number + 1
        self.names[row] = name
        database.add_route(Route(name, row.service, row.broker, address))

    def _declare(self, table: Table, types: tuple[MessageType, ...], contract: Contract) -> None:
        database = self.database(table)
        database.message_types.update({t.name: t for t in types})
        database.contracts[contract.name] = contract

    def _serve(self, home: Home, queue: str, contracts: tuple[str, ...]) -> None:
        database = self.database(home.table)
        database.queues[queue] = Queue(queue)
        database.services[home.service] = Service(home.service, queue, contracts)

    def build(self, expect: tuple[Expectation, ...]) -> Topology:
        """Return the current estate."""
        built: Mapping[str, Instance] = {n: d.build() for n, d in self.instances.items()}
        return Topology(built, expect=expect)

    def set_endpoint(self, instance: str, endpoint: Endpoint) -> None:
        """Change an instance's endpoint."""
        draft = self.instances[instance]
        draft.base = replace(draft.base, endpoint=endpoint)


def _objects(offer: Offer) -> tuple[tuple[MessageType, ...], Contract]:
    stem = f"//estate/{offer.domain}/{offer.noun}"
    request, reply = f"{stem}/Request", f"{stem}/Reply"
    types = tuple(MessageType(name, Validation.WELL_FORMED_XML) for name in (request, reply))
    return types, Contract(f"{stem}/Contract", {request: Sender.INITIATOR, reply: Sender.TARGET})


def expectations(flows: tuple[Flow, ...]) -> tuple[Expectation, ...]:
    """Return, for some of the flows, the expectation that they reach all homes of the service."""
    return tuple(
        Expectation(
            "/".join((*flow.sender.table, flow.sender.service)), flow.offer.service, "ok",
            tuple("/".join(home.table) for home in flow.offer.homes),
        )
        for flow in flows[::_EXPECTED_EVERY]
        if flow.path_kind is not PathKind.LOCAL
    )  # fmt: skip
