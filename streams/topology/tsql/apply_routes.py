"""Apply CREATE and ALTER ROUTE, and check their rules (V1 to V14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streams.topology.objects import Route
from streams.topology.tsql.draft import DatabaseDraft
from streams.topology.tsql.script import Script
from streams.topology.tsql.statements import AlterRoute, CreateRoute, RouteClauses, Statement
from streams.topology.validate import LIFETIME_MAX, Proposal, breach_finding, breaches


def _create_route(script: Script, s: CreateRoute) -> None:
    database = script.database(s.source)
    blank = Route(s.name[-1], None, None, "", source=s.source)
    route = _with_clauses(blank, s.clauses, script.now)
    taken = database.route(route.name) is not None
    if _allowed(script, database, Proposal(route, s.clauses.lifetime, len(s.name) > 1, taken)):
        database.add_route(route)


def _alter_route(script: Script, s: AlterRoute) -> None:
    database = script.database(s.source)
    old = database.route(s.name[-1])
    if old is None:
        script.no_such("route", s.name[-1], database, s.source)
        return
    route = replace(_with_clauses(old, s.clauses, script.now), source=s.source)
    if _allowed(script, database, Proposal(route, s.clauses.lifetime, len(s.name) > 1)):
        database.change_route(route)


def _with_clauses(route: Route, clauses: RouteClauses, now: float) -> Route:
    """Return a route with the given clauses; other clauses stay unchanged."""
    lifetime = clauses.lifetime
    usable = lifetime is not None and 1 <= lifetime <= LIFETIME_MAX
    return replace(
        route,
        service=route.service if clauses.service is None else clauses.service,
        broker=route.broker if clauses.broker is None else clauses.broker,
        address=route.address if clauses.address is None else clauses.address,
        mirror=route.mirror if clauses.mirror is None else clauses.mirror,
        expires=now + lifetime if usable and lifetime is not None else route.expires,
    )


def _allowed(script: Script, database: DatabaseDraft, proposal: Proposal) -> bool:
    """Report violated rules; return whether the route violates none.

    V14 is not reported under a condition.
    """
    found = breaches(proposal)
    route, subject = proposal.route, script.subject(database)
    script.effect = not found
    script.notes.findings.extend(
        breach_finding(b, route.name, subject, route.source)
        for b in found
        if not (script.guarded and b.rule.name == "V14")
    )
    return not found


ROUTE_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    CreateRoute: _create_route,
    AlterRoute: _alter_route,
}
