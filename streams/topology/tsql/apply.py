"""What each statement changes. What the engine would refuse is left out and becomes a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from streams.errors import InputError, Number, text_of
from streams.topology.findings import Severity, Skipped, Source
from streams.topology.model import Endpoint, EndpointState, renewed_broker_id
from streams.topology.objects import (
    Contract,
    MessageType,
    Queue,
    Route,
    Service,
    queue_name,
)
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes
from streams.topology.tsql.split import statements
from streams.topology.tsql.statements import (
    AlterDatabase,
    AlterRoute,
    CreateContract,
    CreateDatabase,
    CreateMessageType,
    CreateQueue,
    CreateRoute,
    CreateService,
    DropRoute,
    Name,
    RouteClauses,
    SetEndpoint,
    Statement,
    Use,
)
from streams.topology.validate import LIFETIME_MAX, Proposal, breach_finding, breaches, ddl_finding

_SYSTEM = frozenset({"master", "model", "tempdb"})


def apply_script(
    instance: InstanceDraft, database: str | None, text: str, file: str, now: float, notes: Notes
) -> None:
    """Apply a script to an instance, beginning in ``database``; ``now`` starts every LIFETIME."""
    script = _Script(instance, database, now, notes)
    for statement in statements(text, file):
        if isinstance(statement, Skipped):
            notes.skipped.append(statement)
        else:
            _HANDLERS[type(statement)](script, statement)


class _Script:
    """Where the script stands: its instance, its current database, and the time."""

    def __init__(
        self, instance: InstanceDraft, database: str | None, now: float, notes: Notes
    ) -> None:
        self.instance = instance
        self.current = database
        self.now = now
        self.notes = notes

    def database(self, source: Source) -> DatabaseDraft:
        """Return the current database: the selected one, or the only one that there is."""
        if self.current is not None:
            return self.instance.ensure(self.current, source)
        only = [d for d in self.instance.user_databases() if d.base.name.casefold() not in _SYSTEM]
        if len(only) == 1:
            return only[0]
        raise InputError(
            "no database is selected",
            file=source.file, line=source.line, column=source.column,
            remedy="Write USE database; before the first statement that needs one.",
        )  # fmt: skip

    def subject(self, database: DatabaseDraft) -> str:
        """Return what findings are about."""
        return f"{self.instance.base.name}/{database.base.name}"

    def warn(self, database: DatabaseDraft, source: Source, message: str, remedy: str) -> None:
        """Say that a statement has no effect, as in the engine."""
        finding = ddl_finding(
            message, remedy, self.subject(database), source, severity=Severity.WARNING
        )
        self.notes.findings.append(finding)

    def one_part(self, name: Name, what: str, database: DatabaseDraft, source: Source) -> bool:
        """Tell whether a name has no prefix; say so where it has one (V13)."""
        if len(name) == 1:
            return True
        number = int(Number.TOO_MANY_PREFIXES)
        message = f"{what} {'.'.join(name)}: the name has a prefix (V13: {number}, "
        self.notes.findings.append(
            ddl_finding(
                message + text_of(number) + ")", "Write the name alone, in brackets.",
                self.subject(database), source, rule="V13", number=number,
            )
        )  # fmt: skip
        return False


# --- Databases and endpoints ---------------------------------------------------------------------


def _use(script: _Script, s: Use) -> None:
    script.current = s.database
    if s.database.casefold() not in _SYSTEM:  # those get an entry when something is created there
        script.instance.ensure(s.database, s.source)


def _create_database(script: _Script, s: CreateDatabase) -> None:
    script.instance.ensure(s.database, s.source)


def _alter_database(script: _Script, s: AlterDatabase) -> None:
    if s.database is None:
        database = script.database(s.source)
    else:
        database = script.instance.ensure(s.database, s.source)
    enabled = s.option != "DISABLE_BROKER"
    broker_id = database.base.broker_id
    if s.option == "NEW_BROKER":
        broker_id = renewed_broker_id(broker_id)
    database.base = replace(database.base, enabled=enabled, broker_id=broker_id)


def _set_endpoint(script: _Script, s: SetEndpoint) -> None:
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


def _create_route(script: _Script, s: CreateRoute) -> None:
    database = script.database(s.source)
    blank = Route(s.name[-1], None, None, "", source=s.source)
    route = _with_clauses(blank, s.clauses, script.now)
    taken = database.route(route.name) is not None
    if _allowed(script, database, Proposal(route, s.clauses.lifetime, len(s.name) > 1, taken)):
        database.add_route(route)


def _alter_route(script: _Script, s: AlterRoute) -> None:
    database = script.database(s.source)
    old = database.route(s.name[-1])
    if old is None:
        _no_such_route(script, database, s.name, s.source)
        return
    route = replace(_with_clauses(old, s.clauses, script.now), source=s.source)
    if _allowed(script, database, Proposal(route, s.clauses.lifetime, len(s.name) > 1)):
        database.change_route(route)


def _drop_route(script: _Script, s: DropRoute) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "route", database, s.source):
        return
    old = database.route(s.name[-1])
    if old is None:
        _no_such_route(script, database, s.name, s.source)
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


def _allowed(script: _Script, database: DatabaseDraft, proposal: Proposal) -> bool:
    found = breaches(proposal)
    route, subject = proposal.route, script.subject(database)
    script.notes.findings.extend(
        breach_finding(b, route.name, subject, route.source) for b in found
    )
    return not found


def _no_such_route(script: _Script, database: DatabaseDraft, name: Name, source: Source) -> None:
    message = f"there is no route {name[-1]} in {script.subject(database)}"
    script.warn(database, source, message, "The statement has no effect; check name and database.")


# --- Message types, contracts, queues, services --------------------------------------------------


def _create_message_type(script: _Script, s: CreateMessageType) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "message type", database, s.source):
        made = MessageType(s.name[-1], s.validation, s.schema, s.source)
        _add(script, database, database.message_types, "message type", made)


def _create_contract(script: _Script, s: CreateContract) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "contract", database, s.source):
        made = Contract(s.name[-1], s.messages, s.source)
        _add(script, database, database.contracts, "contract", made)


def _create_queue(script: _Script, s: CreateQueue) -> None:
    database = script.database(s.source)
    name = queue_name(s.name[-2] if len(s.name) > 1 else "dbo", s.name[-1])
    made = Queue(
        name, s.status, s.retention, s.poison_message_handling, s.activation, source=s.source
    )
    _add(script, database, database.queues, "queue", made)


def _create_service(script: _Script, s: CreateService) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "service", database, s.source):
        queue = queue_name(s.queue[-2] if len(s.queue) > 1 else "dbo", s.queue[-1])
        made = Service(s.name[-1], queue, s.contracts, s.source)
        _add(script, database, database.services, "service", made)


def _add(
    script: _Script, database: DatabaseDraft, objects: dict[str, Any], what: str, made: Any
) -> None:
    """Add an object; a second one of its name has no effect, as in the engine."""
    old = objects.setdefault(made.name, made)
    if old is not made and old != made:
        message = f"{what} {made.name} exists already, created otherwise at {old.source}"
        script.warn(
            database, made.source, message, "The statement has no effect; keep one of them."
        )


_HANDLERS: dict[type[Statement], Callable[[_Script, Any], None]] = {
    Use: _use,
    CreateDatabase: _create_database,
    AlterDatabase: _alter_database,
    SetEndpoint: _set_endpoint,
    CreateRoute: _create_route,
    AlterRoute: _alter_route,
    DropRoute: _drop_route,
    CreateMessageType: _create_message_type,
    CreateContract: _create_contract,
    CreateQueue: _create_queue,
    CreateService: _create_service,
}
