"""Draw a random topology: initiators, targets, and the paths between them.

Most paths work, because messages that never arrive test nothing. Some paths have errors that are
typical of real systems: a missing or outdated return route, several targets, or an address that
leads nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from streams.protocol import DEFAULT
from streams.simulator.clock import Chance
from streams.topology import (
    MSDB,
    Contract,
    Database,
    Endpoint,
    Instance,
    MessageType,
    Priority,
    Queue,
    Route,
    Sender,
    Service,
    Topology,
    Transport,
    Validation,
    default_broker_id,
    empty_database,
)

ORDERS = "Orders"
"""The contract besides DEFAULT: initiators send Order and Note; targets send Reply and Note."""
NOBODY = "tcp://Gone:4022"
_TRANSPORTS = (*[Transport.FAILOVER] * 3, Transport.ALL, Transport.SEEDED)


@dataclass(frozen=True, slots=True)
class Home:
    """A database with a service, at one end of dialogs."""

    instance: str
    database: str
    broker: str
    service: str


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow from an initiator service to a service that can be in several databases."""

    source: Home
    to: str
    targets: tuple[Home, ...]


@dataclass(slots=True)
class DrawnEstate:
    """The drawn estate; ``partners`` are the instances of a mirrored pair, if there is one."""

    topology: Topology
    flows: tuple[Flow, ...]
    contract: str
    gateways: tuple[str, ...]
    partners: tuple[str, ...] = ()

    @property
    def homes(self) -> tuple[Home, ...]:
        """Return every database with an endpoint of a dialog, with one entry per service."""
        return _homes(self.flows)


@dataclass(slots=True)
class _Draft:
    """Tables under construction: routes by (instance, database)."""

    chance: Chance
    instances: tuple[str, ...]
    gateways: tuple[str, ...]
    listeners: dict[str, str] = field(default_factory=dict)
    routes: dict[tuple[str, str], list[Route]] = field(default_factory=dict)

    def add(
        self, instance: str, database: str, service: str | None, broker: str | None, address: str
    ) -> None:
        table = self.routes.setdefault((instance, database), [])
        number = len(table) + 2
        made = Route(f"R{number}", service, broker, address, route_id=number)
        if all((r.service, r.broker, r.address) != (service, broker, address) for r in table):
            table.append(made)

    def address(self, instance: str) -> str:
        """Return an address of an instance."""
        listener = self.listeners.get(instance)
        direct = f"tcp://{instance}:4022"
        return listener if listener and self.chance.happens(0.5) else direct

    def address_towards(self, source: str, home: Home) -> str:
        """Return the address of a path's first instance; add the routes of the other instances."""
        between = [g for g in self.gateways if g not in (source, home.instance)]
        if not between or self.chance.happens(0.4):
            return "LOCAL" if source == home.instance else self.address(home.instance)
        first = self.chance.pick(between)
        between.remove(first)
        broker = None if self.chance.happens(0.3) else home.broker
        if between and self.chance.happens(0.2):
            self.add(first, MSDB, home.service, broker, self.address(between[0]))
            first, last = first, between[0]
        else:
            last = first
        self.add(last, MSDB, home.service, broker, self.address(home.instance))
        return self.address(first)


def _homes(flows: tuple[Flow, ...]) -> tuple[Home, ...]:
    return tuple({home: None for flow in flows for home in (flow.source, *flow.targets)})


def draw_topology(chance: Chance) -> DrawnEstate:
    """Draw instances, databases, services and the routes between them."""
    count = 3 + chance.pick((0, 0, 1, 1, 2, 3))
    instances = tuple(f"S{number + 1}" for number in range(count))
    databases = {
        name: tuple(f"{name}{letter}" for letter in "AB"[: 1 + chance.happens(0.3)])
        for name in instances
    }
    gateways = instances[count - chance.pick((0, 1, 1, 2)) :]
    draft = _Draft(chance, instances, gateways)
    draft.listeners = {i: f"tcp://Listener{i}:4022" for i in instances if chance.happens(0.15)}
    flows = _flows(draft, databases)
    for flow in flows:
        _outbound_routes(draft, flow)
        for target in flow.targets:
            _return_routes(draft, target, flow.source)
    contract = ORDERS if chance.happens(0.4) else DEFAULT
    homes = _homes(flows)
    built = {name: _instance(draft, name, databases[name], homes, contract) for name in instances}
    return DrawnEstate(Topology(built), flows, contract, gateways)


def _flows(draft: _Draft, databases: dict[str, tuple[str, ...]]) -> tuple[Flow, ...]:
    chance = draft.chance
    places = [(i, d) for i, names in databases.items() for d in names]
    shared = chance.happens(0.4)
    sources = places[: 1 + chance.happens(0.5)]
    rest = [place for place in places if place not in sources[:1]]
    flows: list[Flow] = []
    for to in ("T", "U")[: 1 + chance.happens(0.4)]:
        hosts = {chance.pick(rest): None for _ in range(chance.pick((1, 2, 2, 3)))}
        targets = tuple(_home(i, d, to) for i, d in hosts)
        for number, (instance, database) in enumerate(sources):
            if (instance, database) not in hosts:
                name = "I" if shared else f"I{number + 1}"
                flows.append(Flow(_home(instance, database, name), to, targets))
    return tuple(flows)


def _home(instance: str, database: str, service: str) -> Home:
    return Home(instance, database, default_broker_id(instance, database), service)


def _outbound_routes(draft: _Draft, flow: Flow) -> None:
    chance, source = draft.chance, flow.source
    here = (source.instance, source.database)

    def add(target: Home, broker: bool, service: bool = True) -> None:
        address = draft.address_towards(source.instance, target)
        named = flow.to if service else None
        draft.add(*here, named, target.broker if broker and service else None, address)

    match chance.below(10):
        case 0 | 1:  # routes name only the service
            add(chance.pick(flow.targets), False)
        case 2:  # a catch-all route
            add(flow.targets[0], False, service=False)
        case 3:  # several targets
            for target in flow.targets:
                add(target, False)
        case 4 | 5 | 6:  # load balancing
            for target in flow.targets:
                add(target, True)
        case _:  # high availability
            for target in flow.targets:
                add(target, True)
                add(target, True)
    if chance.happens(0.08):
        target = chance.pick(flow.targets)
        draft.add(*here, flow.to, target.broker, NOBODY)


def _return_routes(draft: _Draft, target: Home, source: Home) -> None:
    chance = draft.chance
    here = (target.instance, target.database)
    if chance.happens(0.06):
        address = NOBODY if chance.happens(0.5) else draft.address(chance.pick(draft.instances))
        draft.add(*here, source.service, source.broker, address)  # stale
    if chance.happens(0.03):
        return
    broker = source.broker if source.service == "I" or chance.happens(0.7) else None
    for _ in range(1 + chance.happens(0.25)):
        draft.add(*here, source.service, broker, draft.address_towards(target.instance, source))


def _instance(
    draft: _Draft, name: str, databases: tuple[str, ...], homes: tuple[Home, ...], contract: str
) -> Instance:
    chance = draft.chance
    msdb = empty_database(name, MSDB)
    endpoint = Endpoint(
        forwarding=name in draft.gateways or chance.happens(0.1),
        transport=chance.pick(_TRANSPORTS),
    )
    return Instance(
        name,
        replace(msdb, routes=(*msdb.routes, *draft.routes.get((name, MSDB), ()))),
        {database: _database(draft, name, database, homes, contract) for database in databases},
        listeners=(draft.listeners[name],) if name in draft.listeners else (),
        endpoint=endpoint,
    )


def _database(
    draft: _Draft, instance: str, name: str, homes: tuple[Home, ...], contract: str
) -> Database:
    chance = draft.chance
    made = empty_database(instance, name)
    here = [h for h in homes if (h.instance, h.database) == (instance, name)]
    services, queues = {}, {}
    for home in here:
        listed = () if home.service.startswith("I") else (contract,)
        if listed and chance.happens(0.04):
            listed = (ORDERS if contract == DEFAULT else DEFAULT,)
        services[home.service] = Service(home.service, f"{home.service}Queue", listed)
        queues[f"{home.service}Queue"] = Queue(f"{home.service}Queue")
    strict = chance.happens(0.15)
    return replace(
        made,
        message_types=_types(strict),
        contracts={ORDERS: _ORDERS},
        services=services,
        queues=queues,
        routes=(*made.routes, *draft.routes.get((instance, name), ())),
        priorities=(Priority("P", None, here[0].service, None, 1 + chance.below(10)),)
        if here and chance.happens(0.3)
        else (),
    )


_ORDERS = Contract(ORDERS, {"Order": Sender.INITIATOR, "Reply": Sender.TARGET, "Note": Sender.ANY})


def _types(strict: bool) -> dict[str, MessageType]:
    order = Validation.WELL_FORMED_XML if strict else Validation.NONE
    return {
        "Order": MessageType("Order", order),
        "Reply": MessageType("Reply"),
        "Note": MessageType("Note", Validation.EMPTY),
    }
