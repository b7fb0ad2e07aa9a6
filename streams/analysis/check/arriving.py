"""Routes of msdb, which decide about messages from other instances (TA-23, TA-25)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streams import routing
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import every_database, finding, live_routes, targets
from streams.errors import Number
from streams.routing import AddressKind, Decision, Origin, Plan, Query, RoutingTable, Verdict
from streams.routing import parse_address as parsed
from streams.topology import Finding, Route, Severity


def _decisions(plan: Plan) -> Iterator[Decision]:
    for one in plan.decisions:
        if isinstance(one, Decision):
            yield one
        else:
            yield from _decisions(one)


# --- TA-23 ---------------------------------------------------------------------------------------


def captured(estate: Estate) -> Iterator[Finding]:
    """Find local services whose messages the routes of msdb send elsewhere (EX-18, EX-19)."""
    for instance in estate.topology.instances.values():
        at = Home(instance, instance.msdb)
        for service, homes in targets(estate)[instance.name].items():
            for broker in (None, *(home.database.broker_id for home in homes)):
                query = Query(service, Origin.OUTSIDE, broker)
                plan = routing.plan(estate.instances[instance.name], query, estate.now)
                away = _away(plan)
                if away is not None:
                    yield _captured(at, service, homes, broker, away)
                    break


def _away(plan: Plan) -> Decision | None:
    """Return a decision that sends messages elsewhere; ``None`` if any dialog is delivered here."""
    found = list(_decisions(plan))
    if any(decision.verdict is Verdict.DELIVER for decision in found):
        return None
    off = Number.FORWARDING_DISABLED
    return next((d for d in found if d.verdict is Verdict.FORWARD or d.error is off), None)


def _captured(
    at: Home, service: str, homes: list[Home], broker: str | None, away: Decision
) -> Finding:
    names = set(away.routes)
    source = next((r.source for r in at.database.routes if r.name in names), at.source)
    which = f"with the broker id {broker}" if broker is not None else "without a broker id"
    routes = ", ".join(away.routes)
    done = f"forwarded by {routes}"
    if away.verdict is not Verdict.FORWARD:
        done = f"dropped: {routes} leads to the network, and forwarding is disabled"
    return finding(
        "TA-23", Severity.WARNING, at, source,
        f"{service} is in {homes[0]}, but a message that arrives for it {which} is {done}",
        "Name the broker id of the other database in this route, or drop the route.",
        service=service, broker=broker, routes=list(away.routes),
        databases=[str(home) for home in homes],
    )  # fmt: skip


# --- TA-25 ---------------------------------------------------------------------------------------


def idle(estate: Estate) -> Iterator[Finding]:
    """Find LOCAL routes of msdb without which delivery would be the same (R2.2, M6)."""
    for instance in estate.topology.instances.values():
        at = Home(instance, instance.msdb)
        for route in live_routes(estate, instance.msdb):
            address = parsed(route.address)
            if route.service and address is not None and address.kind is AddressKind.LOCAL:
                why = _why_idle(estate, at, route)
                if why:
                    yield _idle(at, route, why)


def _idle(at: Home, route: Route, why: str) -> Finding:
    return finding(
        "TA-25", Severity.INFO, at, route.source,
        f"route {route.name} to {route.service} has no effect: {why}",
        "Keep it or drop it; no message depends on it.",
        route=route.name, service=route.service, broker=route.broker,
    )  # fmt: skip


def _why_idle(estate: Estate, at: Home, route: Route) -> str:
    """Return why a route has no effect; "" if it has an effect."""
    instance = estate.instances[at.instance.name]
    table = RoutingTable(r for r in instance.msdb.routes if r.route_id != route.route_id)
    without, steps = replace(instance, msdb=table), set()
    for query in _arriving(estate, at, route):
        before, after = (routing.plan(one, query, estate.now) for one in (instance, without))
        if [_outcome(d) for d in _decisions(before)] != [_outcome(d) for d in _decisions(after)]:
            return ""
        steps |= {decision.step for decision in _decisions(after)}
    # If the service is also a target, the reason that concerns replies is less relevant.
    steps = steps - {"REPLY"} or steps
    return "; ".join(_WHY[step] for step in sorted(steps & set(_WHY)))


_WHY = {
    "REPLY": "replies find their database by its broker id",
    "M5": "a route without a service name does the same",
    "M6": "messages find their database by the broker id that they carry",
}


def _outcome(decision: Decision) -> tuple[Verdict, tuple[str, ...]]:
    return decision.verdict, decision.candidates


def _arriving(estate: Estate, at: Home, route: Route) -> Iterator[Query]:
    """Yield the routing queries that messages for a route's service can cause at this instance."""
    service = route.service or ""
    for database in at.instance.databases.values():
        if service in database.services:
            yield Query(service, Origin.OUTSIDE, database.broker_id, from_initiator=False)
    homes = targets(estate)[at.instance.name].get(service, [])
    for home in homes:
        yield Query(service, Origin.OUTSIDE, home.database.broker_id)
    if homes and _sent_without_broker(estate, at, service):
        yield Query(service, Origin.OUTSIDE)


def _sent_without_broker(estate: Estate, to: Home, service: str) -> bool:
    """Return whether a route without a broker id sends messages for a service to this place."""
    led = estate.once(_led_without_broker)
    return any((at, name) in led for at in (to.instance.name, None) for name in (service, None))


def _led_without_broker(estate: Estate) -> set[tuple[str | None, str | None]]:
    """Return (instance, service) of the routes without a broker id; ``None`` means any."""
    found: set[tuple[str | None, str | None]] = set()
    for at in every_database(estate):
        for route in live_routes(estate, at.database):
            address = parsed(route.address) if route.broker is None else None
            if address is not None and address.kind is AddressKind.TRANSPORT:
                found.add((None, route.service))
            elif address is not None and address.kind is AddressKind.NETWORK:
                leads = estate.leads.get((address.host.casefold(), address.port))
                if leads is not None:
                    found.add((leads, route.service))
    return found


CHECKS = (
    Check(
        "TA-23",
        "A route of msdb bypasses a service of the same instance",
        (Severity.WARNING,),
        "reference 2.2 R4, EX-18",
        "For messages from other instances, only the routes of msdb count. A route in msdb that "
        "names the service and a network address takes precedence over AutoCreatedLocal. A message "
        "then bypasses the copy of the service in this instance, or is dropped if forwarding is "
        "disabled.",
        "If the route is meant for another copy, add that copy's broker id to it. Otherwise drop "
        "it.",
        captured,
    ),
    Check(
        "TA-25",
        "A LOCAL route of msdb that has no effect",
        (Severity.INFO,),
        "reference 2.2 R2.2 and step 6",
        "Replies are delivered by their broker id before any route is considered. A message with "
        "the broker id of a database of this instance is delivered there if no route matches. "
        "Some documents recommend routes for these cases; such routes do no harm.",
        "Keep it or drop it.",
        idle,
    ),
)
