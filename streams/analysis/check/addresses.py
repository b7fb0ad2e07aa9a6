"""Addresses that lead somewhere unexpected: loop-backs, TRANSPORT, mirrored databases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answers_of, routes_of
from streams.analysis.flows.flow_values import Failure
from streams.analysis.flows.route_index import At
from streams.analysis.hazards.passage import Hop, Passage
from streams.analysis.known import Home
from streams.analysis.objects import every_database, finding, live_routes, user_databases
from streams.errors import Number
from streams.routing import Address, AddressKind, address_from_name, broker_key, parse_address
from streams.topology import Database, Finding, Instance, Route, Severity

_Meant = tuple[str | None, str | None]
"""The service name and the broker id of a route."""

# --- TA-26 ---------------------------------------------------------------------------------------


def loop_backs(estate: Estate) -> Iterator[Finding]:
    """Find routes of user databases that lead back to their own instance (R9)."""
    for at in user_databases(estate):
        here = estate.instances[at.instance.name]
        for route in live_routes(estate, at.database):
            address = parse_address(route.address)
            # A listener is meant to lead to this instance while its replica is the primary.
            if address and here.is_here(address) and not _is_listener(at.instance, address):
                yield finding(
                    "TA-26", Severity.WARNING, at, route.source,
                    f"route {route.name} ({route.address}) leads back to {at.instance.name}: its "
                    "messages are routed again, by the routes of msdb",
                    "Use LOCAL if a service of this instance is meant.",
                    route=route.name, service=route.service, address=route.address,
                )  # fmt: skip


def _is_listener(instance: Instance, address: Address) -> bool:
    return any(
        listener is not None and listener.key == address.key
        for listener in map(parse_address, instance.listeners)
    )


# --- TA-27, TA-28 --------------------------------------------------------------------------------


_UNUSABLE = (Number.ADDRESS_UNUSABLE, Number.ROUTE_INVALID)
"""Errors of a message whose TRANSPORT route finds no address, at the sender and at a forwarder."""


def no_address(estate: Estate) -> Iterator[Finding]:
    """Find services that TRANSPORT routes must find but whose names contain no address (2.3)."""
    for answer in answers_of(estate):
        flow, passage = answer.flow, answer.passage
        for failure in answer.failures:
            yield from _no_address(estate, passage, flow.to, failure)
        for back in answer.backs:
            for failure in back.failures if not back.arrives else ():
                yield from _no_address(estate, passage, flow.sender.service, failure)


def _no_address(
    estate: Estate, passage: Passage, service: str, failure: Failure
) -> Iterator[Finding]:
    if failure.ending.error not in _UNUSABLE or not failure.hops:
        return
    used = _transport(estate, failure.hops[-1])
    if used is not None:
        yield finding(
            "TA-27", Severity.ERROR, Home(used.instance, used.database), used.route.source,
            f"route {used.route.name} takes the address from the service name, but {service} "
            "contains no address",
            f"Create a route for {service}, or give it a name that begins with tcp://host:port/.",
            route=used.route.name, service=service, flow=str(passage.flow),
            hops=list(failure.instances),
        )  # fmt: skip


def initiators_without_address(estate: Estate) -> Iterator[Finding]:
    """Find initiators that send by a TRANSPORT route but whose names contain no address (2.3)."""
    for answer in answers_of(estate):
        passage, service = answer.passage, answer.flow.sender.service
        if address_from_name(service) is not None or not answer.returns:
            continue
        sender = passage.flow.sender.database.services.get(service)
        for used in _transports(estate, passage):
            yield finding(
                "TA-28", Severity.WARNING, passage.begins,
                passage.flow.why[0].source if sender is None else sender.source,
                f"messages from {service} to {passage.flow.to} take their address from the "
                f"service name ({used}), but replies cannot: {service} contains no address",
                "Give it a name that begins with tcp://host:port/. Until then, each target needs "
                "a route to it.",
                route=str(used), service=service, flow=str(passage.flow),
            )  # fmt: skip


def _transports(estate: Estate, passage: Passage) -> list[At]:
    found = (_transport(estate, hop) for hop in passage.there)
    used = {str(at): at for at in found if at is not None}
    return [used[name] for name in sorted(used)]


def _transport(estate: Estate, hop: Hop) -> At | None:
    """Return the TRANSPORT route that a step uses, if any."""
    at = routes_of(estate).behind(*hop)
    address = None if at is None else parse_address(at.route.address)
    return at if address is not None and address.kind is AddressKind.TRANSPORT else None


# --- TA-29 ---------------------------------------------------------------------------------------


def to_one_partner(estate: Estate) -> Iterator[Finding]:
    """Find routes to a mirrored database that name only one of its partners (2.4)."""
    mirrored: dict[str, Mapping[_Meant, list[Database]]] = {}
    for at in every_database(estate):
        for route in live_routes(estate, at.database):
            address = parse_address(route.address)
            if address is None or address.kind is not AddressKind.NETWORK or route.mirror:
                continue
            name = estate.leads_to(at.instance.name, address)
            there = estate.topology.instances.get(name or "")
            if there is not None and not _is_listener(there, address):
                if there.name not in mirrored:
                    mirrored[there.name] = _mirrored(there)
                broker = None if route.broker is None else broker_key(route.broker)
                for database in mirrored[there.name].get((route.service, broker), ()):
                    yield _to_one_partner(at, route, there, database)


def _mirrored(instance: Instance) -> Mapping[_Meant, list[Database]]:
    """Return the mirrored databases by the service, and possibly the broker id, of a route."""
    found: dict[_Meant, list[Database]] = {}
    for database in instance.databases.values():
        if database.mirror is not None:
            for service in database.services:
                for broker in (None, broker_key(database.broker_id)):
                    found.setdefault((service, broker), []).append(database)
    return found


def _to_one_partner(at: Home, route: Route, there: Instance, database: Database) -> Finding:
    remedy = "Name the other partner in MIRROR_ADDRESS, and add the broker id."
    if there.listeners:
        remedy = f"Name the listener of the availability group instead: {there.listeners[0]}."
    return finding(
        "TA-29", Severity.WARNING, at, route.source,
        f"route {route.name} leads only to {there.name}, but {database.name} there is mirrored: "
        "after a failover, messages wait at the sender",
        remedy,
        route=route.name, service=route.service, database=f"{there.name}/{database.name}",
        pair=database.mirror.pair if database.mirror else None,
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-26",
        "A route that leads back to its own instance",
        (Severity.WARNING,),
        "reference 2.2 R9",
        "If a route names the address of its own instance, its messages are treated like messages "
        "from another instance: the routes of msdb apply, and all routes except LOCAL ones need "
        "forwarding. This is rarely intended, and AutoCreatedLocal in msdb hides it.",
        "Use LOCAL. Routes to the listener of an availability group are not reported.",
        loop_backs,
    ),
    Check(
        "TA-27",
        "A TRANSPORT route for a service name without an address",
        (Severity.ERROR,),
        "reference 2.3",
        "A route with the address TRANSPORT takes the next hop from the service name, which must "
        "begin with tcp://host:port. With any other name, the route is unusable, and no other "
        "route is tried (9785).",
        "Create a route that names the service, or use a service name with an address.",
        no_address,
    ),
    Check(
        "TA-28",
        "TRANSPORT works in only one direction",
        (Severity.WARNING,),
        "reference 2.3",
        "If services are found by the addresses in their names, replies use the name of the "
        "initiator's service in the same way. If that name contains no address, each target needs "
        "a route back to the initiator, although TRANSPORT is meant to make such routes "
        "unnecessary.",
        "Give the initiator's service a name that begins with its address.",
        initiators_without_address,
    ),
    Check(
        "TA-29",
        "A route to only one partner of a mirrored database",
        (Severity.WARNING,),
        "reference 2.4",
        "A route without MIRROR_ADDRESS does not follow a failover: messages are still sent to the "
        "named partner, which now refuses them. For an availability group, use its listener "
        "without MIRROR_ADDRESS.",
        "Name both partners and the broker id, or name the listener.",
        to_one_partner,
    ),
)
