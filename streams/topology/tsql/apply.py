"""What each statement changes. What the engine would refuse is left out and becomes a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streams.topology.findings import Skipped
from streams.topology.model import Endpoint, EndpointState, renewed_broker_id
from streams.topology.objects import Database, Route
from streams.topology.tsql.apply_objects import OBJECT_HANDLERS
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes
from streams.topology.tsql.parse_server import HONOR_PRIORITY
from streams.topology.tsql.script import SYSTEM_DATABASES, Script
from streams.topology.tsql.split import statements
from streams.topology.tsql.statements import (
    AlterDatabase,
    AlterRoute,
    CreateDatabase,
    CreateRoute,
    DropRoute,
    RouteClauses,
    SetEndpoint,
    Statement,
    Use,
)
from streams.topology.validate import LIFETIME_MAX, Proposal, breach_finding, breaches


def apply_script(
    instance: InstanceDraft, database: str | None, text: str, file: str, now: float, notes: Notes
) -> None:
    """Apply a script to an instance, beginning in ``database``; ``now`` starts every LIFETIME."""
    script = Script(instance, database, now, notes)
    for statement in statements(text, file):
        if isinstance(statement, Skipped):
            notes.skipped.append(statement)
        else:
            _HANDLERS[type(statement)](script, statement)


# --- Databases and endpoints ---------------------------------------------------------------------


def _use(script: Script, s: Use) -> None:
    script.current = s.database
    # A system database gets an entry when something is created there.
    if s.database.casefold() not in SYSTEM_DATABASES:
        script.instance.ensure(s.database, s.source)


def _create_database(script: Script, s: CreateDatabase) -> None:
    script.instance.ensure(s.database, s.source)


def _alter_database(script: Script, s: AlterDatabase) -> None:
    if s.database is None:
        database = script.database(s.source)
    else:
        database = script.instance.ensure(s.database, s.source)
    for option in s.options:
        database.base = _OPTIONS[option](database.base)


_OPTIONS: Mapping[str, Callable[[Database], Database]] = {
    "ENABLE_BROKER": lambda d: replace(d, enabled=True),
    "DISABLE_BROKER": lambda d: replace(d, enabled=False),
    "NEW_BROKER": lambda d: replace(d, enabled=True, broker_id=renewed_broker_id(d.broker_id)),
    "ERROR_BROKER_CONVERSATIONS": lambda d: replace(d, enabled=True, error_epoch=d.error_epoch + 1),
    f"{HONOR_PRIORITY} ON": lambda d: replace(d, honor_priority=True),
    f"{HONOR_PRIORITY} OFF": lambda d: replace(d, honor_priority=False),
}
"""What each option of ALTER DATABASE makes of the database (reference 1.5, 4.12)."""


def _set_endpoint(script: Script, s: SetEndpoint) -> None:
    # CREATE ENDPOINT without STATE leaves it stopped: the engine's default (reference 1.1).
    created = Endpoint(EndpointState.STOPPED, transport=script.instance.base.endpoint.transport)
    old = created if s.create else script.instance.base.endpoint
    endpoint = replace(
        old,
        name=s.name,
        state=old.state if s.state is None else s.state,
        port=old.port if s.port is None else s.port,
        forwarding=old.forwarding if s.forwarding is None else s.forwarding,
        forward_size_mb=old.forward_size_mb if s.forward_size_mb is None else s.forward_size_mb,
        source=s.source,
    )
    script.instance.base = replace(script.instance.base, endpoint=endpoint)


# --- Routes --------------------------------------------------------------------------------------


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
        script.no_such("route", s.name, database, s.source)
        return
    route = replace(_with_clauses(old, s.clauses, script.now), source=s.source)
    if _allowed(script, database, Proposal(route, s.clauses.lifetime, len(s.name) > 1)):
        database.change_route(route)


def _drop_route(script: Script, s: DropRoute) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "route", database, s.source):
        return
    old = database.route(s.name[-1])
    if old is None:
        script.no_such("route", s.name, database, s.source)
    else:
        database.drop_route(old)


def _with_clauses(route: Route, clauses: RouteClauses, now: float) -> Route:
    """Return a route with the given clauses; what is not given stays as it is."""
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
    found = breaches(proposal)
    route, subject = proposal.route, script.subject(database)
    script.notes.findings.extend(
        breach_finding(b, route.name, subject, route.source) for b in found
    )
    return not found


_HANDLERS: dict[type[Statement], Callable[[Script, Any], None]] = {
    Use: _use,
    CreateDatabase: _create_database,
    AlterDatabase: _alter_database,
    SetEndpoint: _set_endpoint,
    CreateRoute: _create_route,
    AlterRoute: _alter_route,
    DropRoute: _drop_route,
    **OBJECT_HANDLERS,
}
