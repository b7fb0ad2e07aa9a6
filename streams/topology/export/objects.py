"""Write message types, contracts, queues, services and priorities in order of dependency.

An object that T-SQL cannot express is left out, and the reason is recorded.
"""

from __future__ import annotations

from streams.topology.export.quoting import bracket, literal, owned, split_name
from streams.topology.export.script import Script
from streams.topology.objects import (
    Contract,
    Database,
    MessageType,
    Priority,
    Queue,
    Service,
    Validation,
)
from streams.topology.system import SYSTEM_CONTRACTS, SYSTEM_MESSAGE_TYPES

_ODD_NAME = "its name has more parts than a schema and a name"
_SYSTEM = "every database has one with this name"


def write_objects(script: Script, database: Database) -> None:
    """Write all Service Broker objects, except for routes and security."""
    _schemas(script, database)
    for message_type in database.message_types.values():
        _message_type(script, message_type)
    script.go()
    for contract in database.contracts.values():
        _contract(script, contract)
    script.go()
    for queue in database.queues.values():
        _queue(script, queue)
    script.go()
    for service in database.services.values():
        _service(script, service)
    script.go()


def _schemas(script: Script, database: Database) -> None:
    """Create the schemas that own objects, then the XML schema collections."""
    split = (split_name(name) for name in (*database.schemas, *database.queues))
    for schema in dict.fromkeys(s for s, _ in filter(None, split) if s.casefold() != "dbo"):
        create = literal(f"CREATE SCHEMA {bracket(schema)}")
        script.add(f"IF SCHEMA_ID({literal(schema)}) IS NULL EXEC ({create});")
    script.go()
    for name, text in database.schemas.items():
        if split_name(name) is None:
            script.leave_out(f"XML schema collection {name}", _ODD_NAME)
        else:
            script.add(f"CREATE XML SCHEMA COLLECTION {owned(name)} AS {literal(text)};")
    script.go()


def _message_type(script: Script, t: MessageType) -> None:
    why = _untellable(t)
    if why is not None:
        script.leave_out(f"message type {t.name}", why, t)
        return
    schema = f" WITH SCHEMA COLLECTION {owned(t.schema)}" if t.schema else ""
    script.add(f"CREATE MESSAGE TYPE {bracket(t.name)} VALIDATION = {t.validation.name}{schema};")


def _untellable(t: MessageType) -> str | None:
    if t.name in SYSTEM_MESSAGE_TYPES:
        return _SYSTEM
    if (t.validation is Validation.VALID_XML) != (t.schema is not None):
        return "VALID_XML and a schema collection go together"
    if t.schema is not None and split_name(t.schema) is None:
        return "the schema collection's name has more parts than a schema and a name"
    return None


def _contract(script: Script, c: Contract) -> None:
    if c.name in SYSTEM_CONTRACTS or not c.messages:
        why = _SYSTEM if c.messages else "a contract needs a message type"
        script.leave_out(f"contract {c.name}", why, c)
        return
    rows = [f"    {bracket(name)} SENT BY {by.name}" for name, by in c.messages.items()]
    script.add(f"CREATE CONTRACT {bracket(c.name)} (", *_listed(rows), ");")


def _listed(rows: list[str]) -> list[str]:
    return [*(f"{row}," for row in rows[:-1]), *rows[-1:]]


def _queue(script: Script, q: Queue) -> None:
    if split_name(q.name) is None:
        script.leave_out(f"queue {q.name}", _ODD_NAME, q)
        return
    settings = ", ".join(_settings(q))
    script.add(f"CREATE QUEUE {owned(q.name)}{' WITH ' + settings if settings else ''};")
    if q.group is not None:
        script.note(f"queue {q.name}", f"its consumer group is {q.group}, a Hopline setting")
    if q.partitions != 1:
        script.note(
            f"queue {q.name}", f"its topic has {q.partitions} partitions, a Hopline setting"
        )
    if q.activation is not None:
        script.comment("the procedure must already exist")
        guess = "its procedure's user is unknown: EXECUTE AS OWNER is assumed"
        script.note(f"queue {q.name}", guess, lost=True)


def _settings(q: Queue) -> list[str]:
    settings = [] if q.status else ["STATUS = OFF"]
    if q.retention:
        settings.append("RETENTION = ON")
    if q.activation is not None:
        off = "" if q.activation_status else "STATUS = OFF, "
        settings.append(
            f"ACTIVATION ({off}PROCEDURE_NAME = {_dotted(q.activation)}, "
            f"MAX_QUEUE_READERS = {q.max_readers}, EXECUTE AS OWNER)"
        )
    if not q.poison_message_handling:
        settings.append("POISON_MESSAGE_HANDLING (STATUS = OFF)")
    return settings


def _dotted(name: str) -> str:
    """Return a procedure's dotted name with each part in brackets."""
    parts = name.split(".")
    return ".".join(map(bracket, parts)) if all(parts) and len(parts) < 4 else bracket(name)


def _service(script: Script, s: Service) -> None:
    if split_name(s.queue) is None:
        script.leave_out(f"service {s.name}", "its queue has no valid name", s)
        return
    contracts = f" ({', '.join(map(bracket, s.contracts))})" if s.contracts else ""
    owner = f" AUTHORIZATION {bracket(s.owner)}" if s.owner else ""
    script.add(f"CREATE SERVICE {bracket(s.name)}{owner} ON QUEUE {owned(s.queue)}{contracts};")


def write_priorities(script: Script, database: Database) -> None:
    """Write broker priorities; if two have the same criteria, the engine accepts only the first."""
    seen: dict[tuple[str | None, ...], str] = {}
    for p in database.priorities:
        first = seen.setdefault((p.contract, p.local_service, p.remote_service), p.name)
        if first != p.name:
            script.leave_out(f"broker priority {p.name}", f"{first} has the same criteria")
            continue
        script.add(
            f"CREATE BROKER PRIORITY {bracket(p.name)} FOR CONVERSATION",
            f"    SET ({', '.join(_criteria(p))});",
        )
    script.go()


def _criteria(p: Priority) -> tuple[str, ...]:
    return (
        f"CONTRACT_NAME = {_or_any(p.contract and bracket(p.contract))}",
        f"LOCAL_SERVICE_NAME = {_or_any(p.local_service and bracket(p.local_service))}",
        f"REMOTE_SERVICE_NAME = {_or_any(p.remote_service and literal(p.remote_service))}",
        f"PRIORITY_LEVEL = {p.level}",
    )


def _or_any(written: str | None) -> str:
    return written or "ANY"
