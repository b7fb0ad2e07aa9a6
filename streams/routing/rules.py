"""The routing decision as tables of rules, R1 to R10 of the reference (section 2.2).

A message meets five tables, each walked from the top until a rule answers:

    ENTRY   may this message be classified at all, and is it a reply?     R1.1, R2.1, REPLY
    MATCH   which routes match?                                           M1 ... M7
    CHOOSE  which tier of them is used?                                   R5.1 ... R5.5
    LOCATE  LOCAL: which database?                                        R7.1, R7.2a, R7.2b
    SEND    network: is it us, may we forward, or does it simply go?      R8.1 ... R8.4, R6

A rule takes the context and the routes that are left; it returns routes (the next table goes on
with them), a decision (the end), or nothing (the next rule is tried). The tables are values, so a
test can remove one rule and demand that an example of the reference fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streams.errors.numbers import Number
from streams.routing.address import LOCAL, Address, AddressKind, address_from_name
from streams.routing.decision import FOREVER, Decision, TraceStep, Verdict
from streams.routing.model import (
    CONFIGURATION_SERVICE,
    SYSTEM_SERVICE,
    Instance,
    Origin,
    Query,
    Route,
    RoutingTable,
)

Routes = tuple[Route, ...]
Found = Routes | Decision


@dataclass(slots=True)
class Context:
    """What the rules look at. ``broker`` is the conversation's id, later the chosen route's."""

    instance: Instance
    query: Query
    table: RoutingTable
    now: float
    broker: str | None
    strict_local_tier: bool = False
    step: str = ""
    valid_until: float = FOREVER
    trace: list[TraceStep] | None = None
    addresses: tuple[Address, ...] = field(default=())

    @property
    def inside(self) -> bool:
        """Tell whether the message began in this instance."""
        return self.query.origin is Origin.INSIDE

    def live(self, routes: Routes) -> Routes:
        """Return the unexpired routes (R3.1) and remember when the first of them expires."""
        kept = routes
        if any(r.expires is not None for r in routes):
            kept = tuple(r for r in routes if r.expires is None or r.expires > self.now)
            ends = [r.expires for r in kept if r.expires is not None]
            self.valid_until = min([self.valid_until, *ends])
        return kept

    def refuse(self, routes: Routes, inside: Number, outside: Number) -> Decision:
        """Delay what began here, drop what came from outside (outcome table of 2.2)."""
        verdict, number = (Verdict.DELAY, inside) if self.inside else (Verdict.DROP, outside)
        return self.decide(verdict, routes, error=number)

    def decide(
        self,
        verdict: Verdict,
        routes: Routes = (),
        *,
        addresses: tuple[Address, ...] = (),
        candidates: tuple[str, ...] = (),
        error: Number | None = None,
    ) -> Decision:
        """Build a decision in this context."""
        names = tuple(r.name for r in routes if r.name)
        return Decision(
            verdict,
            self.step,
            names,
            self.broker,
            addresses,
            candidates,
            error,
            self.query.looped_back,
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: its name in the reference, what it does, and what it says about itself.

    ``miss`` says why the rule did not answer, or nothing where it does not concern the message.
    """

    name: str
    apply: Callable[[Context, Routes], Found | None]
    hit: str
    miss: Callable[[Context], str]


def _says(text: str) -> Callable[[Context], str]:
    return lambda _: text


# --- ENTRY ---------------------------------------------------------------------------------------


def _sender_is_off(c: Context, _: Routes) -> Decision | None:
    home = c.instance.databases.get(c.query.database or "") if c.inside else None
    if home is None or home.enabled:
        return None
    return c.decide(Verdict.DELAY, error=Number.SENDER_BROKER_OFF)


def _msdb_is_off(c: Context, _: Routes) -> Decision | None:
    if c.inside or c.instance.msdb_enabled:
        return None
    return c.decide(Verdict.DROP, error=Number.MSDB_BROKER_OFF)


def _reply(c: Context, _: Routes) -> Decision | None:
    if c.inside or c.query.from_initiator or c.query.broker is None:
        return None
    database = c.instance.with_broker_id(c.query.broker)
    if database is None:
        return None
    c.step = "REPLY"
    if not database.enabled:
        return c.decide(Verdict.DROP, error=Number.TARGET_BROKER_UNAVAILABLE)
    return c.decide(Verdict.DELIVER, candidates=(database.name,))


def _miss_reply(c: Context) -> str:
    if c.inside or c.query.from_initiator:
        return ""
    return f"no database of {c.instance.name} has the broker id {c.query.broker}"


ENTRY = (
    Rule("R1.1", _sender_is_off, "the broker of the sending database is off", _says("")),
    Rule("R2.1", _msdb_is_off, "the broker of msdb is off: nothing can be classified", _says("")),
    Rule(
        "REPLY",
        _reply,
        "sent by the target's side to a broker id of this instance: no route is consulted",
        _miss_reply,
    ),
)


# --- MATCH ---------------------------------------------------------------------------------------


def _full(c: Context, _: Routes) -> Routes:
    if c.query.broker is None:
        return ()
    return c.live(c.table.full(c.query.service, c.query.broker))


def _named(c: Context, _: Routes) -> Routes:
    return c.live(c.table.named(c.query.service))


def _with_any_broker(c: Context, _: Routes) -> Routes:
    return c.live(c.table.with_broker(c.query.service)) if c.query.broker is None else ()


def _configuration(c: Context, _: Routes) -> Decision | None:
    # A pending request keeps the conversation delayed too (C-07, U-09), so it needs no test here.
    asked = c.live(c.table.named(CONFIGURATION_SERVICE))
    # Neither may wait for an answer: by the one the question goes, by the other its end returns.
    if not asked or c.query.service in (CONFIGURATION_SERVICE, SYSTEM_SERVICE):
        return None
    return c.decide(Verdict.ASK, asked, error=Number.WAITING_FOR_CONFIGURATION)


def _last_resort(c: Context, _: Routes) -> Routes:
    return c.live(c.table.last_resort())


def _local_without_route(c: Context, _: Routes) -> Routes:
    if c.query.broker is None or not c.instance.hosting(c.query.service):
        return ()
    return (Route("", c.query.service, None, LOCAL),)


def _nothing(c: Context, _: Routes) -> Decision:
    return c.refuse((), Number.NO_ROUTE, Number.NO_ROUTE)


def _miss_full(c: Context) -> str:
    if c.query.broker is None:
        return "the conversation names no broker id"
    return f"no unexpired route names {c.query.service} and broker id {c.query.broker}"


def _miss_with_any_broker(c: Context) -> str:
    if c.query.broker is not None:
        return "the conversation names a broker id: routes with another one never match"
    return f"no unexpired route names {c.query.service} and a broker id"


def _miss_local(c: Context) -> str:
    if c.query.broker is None:
        return "the conversation names no broker id"
    return f"no active database of {c.instance.name} has the service {c.query.service}"


MATCH = (
    Rule("M1", _full, "these name the service and the conversation's broker id", _miss_full),
    Rule("M2", _named, "these name the service and no broker id",
         lambda c: f"no unexpired route names {c.query.service} without a broker id"),
    Rule("M3", _with_any_broker, "the dialog's hash chooses one of their broker ids",
         _miss_with_any_broker),
    Rule("M4", _configuration, "a configuration service is defined: it is asked for a route",
         _says("no route to the configuration service")),
    Rule("M5", _last_resort, "these name neither service nor broker id",
         _says("no unexpired last-resort route")),
    Rule("M6", _local_without_route, "a broker id is given and an active database here has the "
         "service", _miss_local),
    Rule("M7", _nothing, "no route matches", _says("")),
)  # fmt: skip


# --- CHOOSE --------------------------------------------------------------------------------------


def _of_kind(routes: Routes, kind: AddressKind) -> Routes:
    """Return one tier; identical routes count once (reference 1.4, EX-27)."""
    distinct: dict[tuple[str, str, int], Route] = {}
    for route in routes:
        if route.address.kind is kind:
            distinct.setdefault(route.address.key, route)
    return tuple(distinct.values())


def _mirrored(c: Context, routes: Routes) -> Routes:
    mirrored = [(r, r.mirror) for r in routes if r.mirror is not None]
    if not mirrored:
        return ()
    route, partner = min(mirrored, key=lambda pair: pair[0].route_id)  # U-11
    c.addresses = (route.address, partner)
    return (route,)


def _service_is_here(c: Context) -> bool:
    if c.broker is None or c.strict_local_tier:
        return bool(c.instance.hosting(c.query.service))
    # A service is the pair of name and broker id (U-44).
    database = c.instance.with_broker_id(c.broker)
    return database is not None and database.enabled and c.query.service in database.services


def _local(c: Context, routes: Routes) -> Routes:
    tier = _of_kind(routes, AddressKind.LOCAL)
    return tier if tier and _service_is_here(c) else ()


def _network(c: Context, routes: Routes) -> Routes:
    tier = _of_kind(routes, AddressKind.NETWORK)
    c.addresses = tuple(r.address for r in tier)
    return tier


def _transport(c: Context, routes: Routes) -> Found | None:
    tier = _of_kind(routes, AddressKind.TRANSPORT)
    if not tier:
        return None
    address = address_from_name(c.query.service)
    if address is None:  # U-10
        return c.refuse(tier, Number.ADDRESS_UNUSABLE, Number.ROUTE_INVALID)
    c.addresses = (address,)
    return tier


def _nothing_usable(c: Context, routes: Routes) -> Decision:
    tier = _of_kind(routes, AddressKind.LOCAL)
    if c.broker is not None and c.instance.hosting(c.query.service):
        return c.refuse(tier, Number.BROKER_NOT_HERE, Number.TARGET_BROKER_NOT_HERE)
    return c.refuse(tier, Number.SERVICE_NOT_HERE, Number.TO_SERVICE_NOT_FOUND)


CHOOSE = (
    Rule("R5.1", _mirrored, "a mirrored route ranks first",
         _says("no mirrored route")),
    Rule("R5.2", _local, "LOCAL, and this instance has the service",
         _says("no LOCAL route, or the service is not here")),
    Rule("R5.3", _network, "network addresses: all of them go to the transport",
         _says("no network address")),
    Rule("R5.4", _transport, "TRANSPORT: the service's name says the address",
         _says("no TRANSPORT route")),
    Rule("R5.5", _nothing_usable, "LOCAL only, and the service is not here", _says("")),
)  # fmt: skip


# --- LOCATE --------------------------------------------------------------------------------------


def _by_broker_id(c: Context, routes: Routes) -> Decision | None:
    if c.broker is None:
        return None
    database = c.instance.with_broker_id(c.broker)
    if database is None or not database.enabled or c.query.service not in database.services:
        return c.refuse(routes, Number.BROKER_NOT_HERE, Number.TARGET_BROKER_NOT_HERE)  # U-12
    return c.decide(Verdict.DELIVER, routes, candidates=(database.name,))


def _in_home_database(c: Context, routes: Routes) -> Decision | None:
    home = c.instance.databases.get(c.query.database or "") if c.inside else None
    if home is None or c.query.service not in home.services:
        return None
    return c.decide(Verdict.DELIVER, routes, candidates=(home.name,))


def _in_any_database(c: Context, routes: Routes) -> Decision:
    return c.decide(Verdict.DELIVER, routes, candidates=c.instance.hosting(c.query.service))


LOCATE = (
    Rule("R7.1", _by_broker_id, "the broker id says which database", _says("no broker id given")),
    Rule("R7.2a", _in_home_database, "the database that holds the conversation has the service",
         _says("the conversation's own database does not have it")),
    Rule("R7.2b", _in_any_database, "active databases of this instance that have the service",
         _says("")),
)  # fmt: skip


# --- SEND ----------------------------------------------------------------------------------------


def _loops_back(c: Context, routes: Routes) -> Routes:
    # From outside, our own address is a forward like any other and uses a hop (U-46).
    here = c.inside and all(c.instance.is_here(a) for a in c.addresses)
    return routes if here else ()


def _may_not_forward(c: Context, routes: Routes) -> Decision | None:
    if c.inside or c.instance.forwarding:
        return None
    return c.decide(Verdict.DROP, routes, error=Number.FORWARDING_DISABLED)


def _endpoint_is_stopped(c: Context, routes: Routes) -> Decision | None:
    if c.instance.started:
        return None
    return c.refuse(routes, Number.TRANSPORT_NOT_AVAILABLE, Number.TRANSPORT_STOPPED)


def _ask_partners(c: Context, routes: Routes) -> Decision | None:
    if routes[0].mirror is None:
        return None
    return c.decide(Verdict.PROBE, routes, addresses=c.addresses)


def _forward(c: Context, routes: Routes) -> Decision | None:
    return None if c.inside else c.decide(Verdict.FORWARD, routes, addresses=c.addresses)


def _send(c: Context, routes: Routes) -> Decision:
    return c.decide(Verdict.SEND, routes, addresses=c.addresses)


SEND = (
    Rule("R8.1", _loops_back, "the address is this very instance: decided again as if it had come "
         "from outside", _says("the address is another instance")),
    Rule("R8.2", _may_not_forward, "forwarding is disabled at the endpoint",
         _says("begun here, or forwarding is enabled")),
    Rule("STOPPED", _endpoint_is_stopped, "the instance has no started endpoint",
         _says("the endpoint is started")),
    Rule("R6", _ask_partners, "mirrored: both partners are asked which one is the principal",
         _says("")),
    Rule("R8.3", _forward, "from outside: forwarded", _says("the message began here")),
    Rule("R8.4", _send, "sent; the copy stays in the transmission queue until acknowledged",
         _says("")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """The five tables together; tests pass a copy with one rule removed."""

    entry: tuple[Rule, ...] = ENTRY
    match: tuple[Rule, ...] = MATCH
    choose: tuple[Rule, ...] = CHOOSE
    locate: tuple[Rule, ...] = LOCATE
    send: tuple[Rule, ...] = SEND


RULES = Rules()
