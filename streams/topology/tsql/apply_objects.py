"""Apply statements about Service Broker objects, from message types to priorities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from streams.topology.objects import (
    Binding,
    Contract,
    MessageType,
    Priority,
    Queue,
    Service,
)
from streams.topology.tsql.draft import DatabaseDraft, Sysnames
from streams.topology.tsql.modules import schema_name
from streams.topology.tsql.script import Script
from streams.topology.tsql.statements import (
    AlterService,
    CreateContract,
    CreateSchema,
    CreateService,
    DropObject,
    SetBinding,
    SetMessageType,
    SetPriority,
    SetQueue,
    Statement,
)

_BINDING = "remote service binding"


def _set_message_type(script: Script, s: SetMessageType) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "message type", database, s.source):
        return
    schema = None if s.schema is None else schema_name(s.schema)
    made = MessageType(s.name[-1], s.validation, schema, s.source)
    if s.create:
        script.add(database, database.message_types, "message type", made)
    elif made.name in database.message_types:
        database.message_types[made.name] = made
    else:
        script.no_such("message type", made.name, database, s.source)


def _create_schema(script: Script, s: CreateSchema) -> None:
    database = script.database(s.source)
    name = schema_name(s.name)
    old = database.schemas.find(name)
    if old is None:
        database.schemas[name] = s.text
    elif old != s.text:
        message = f"XML schema collection {name} already exists with different text"
        remedy = "The statement has no effect; keep only one of the two."
        script.warn(database, s.source, message, remedy)


def _create_contract(script: Script, s: CreateContract) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "contract", database, s.source):
        made = Contract(s.name[-1], s.messages, s.source)
        script.add(database, database.contracts, "contract", made)


def _set_queue(script: Script, s: SetQueue) -> None:
    database = script.database_of(s.name, s.source)
    name = schema_name(s.name[-2:])
    if s.create:
        # T-SQL defines a queue completely, except for the Kafka settings.
        stated = database.queues.get(name) or Queue(name)
        created = Queue(name, group=stated.group, partitions=stated.partitions, source=s.source)
        made = replace(created, **s.changes)
        script.add(database, database.queues, "queue", made)
        return
    old = database.queue(name)
    if old is None:
        script.no_such("queue", s.name[-1], database, s.source)
    else:
        database.queues[old.name] = replace(old, **_altered(old, s.changes), source=s.source)


def _altered(old: Queue, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the changes by ALTER QUEUE; adding a procedure does not turn activation on."""
    added = old.activation is None and changes.get("activation") is not None
    return {"activation_status": False, **changes} if added else changes


def _create_service(script: Script, s: CreateService) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "service", database, s.source):
        made = Service(s.name[-1], schema_name(s.queue), s.contracts, s.owner, s.source)
        script.add(database, database.services, "service", made)


def _set_priority(script: Script, s: SetPriority) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "broker priority", database, s.source):
        return
    old = database.priorities.find(s.name[-1])
    if s.create:
        made = Priority(s.name[-1], **s.changes, source=s.source)
        if _unique(script, database, made):
            script.add(database, database.priorities, "broker priority", made)
    elif old is None:
        script.no_such("broker priority", s.name[-1], database, s.source)
    else:
        changed = replace(old, **s.changes, source=s.source)
        if _unique(script, database, changed):
            database.priorities[old.name] = changed


def _unique(script: Script, database: DatabaseDraft, made: Priority) -> bool:
    """Return whether no other priority has these criteria; warn if another priority has them."""
    for other in database.priorities.values():
        if other.name != made.name and _criteria(other) == _criteria(made):
            message = f"broker priority {other.name} has the criteria of {made.name}"
            remedy = "The statement has no effect; change one of them."
            script.warn(database, made.source, message, remedy)
            return False
    return True


def _criteria(p: Priority) -> tuple[str | None, ...]:
    return p.contract, p.local_service, p.remote_service


def _alter_service(script: Script, s: AlterService) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "service", database, s.source):
        return
    old = database.services.get(s.name[-1])
    if old is None:
        script.no_such("service", s.name[-1], database, s.source)
        return
    contracts = dict.fromkeys((*old.contracts, *s.added))
    for name in s.dropped:
        contracts.pop(name, None)
    queue = old.queue if s.queue is None else schema_name(s.queue)
    changed = replace(old, queue=queue, contracts=tuple(contracts), source=s.source)
    database.services[old.name] = changed


def _set_binding(script: Script, s: SetBinding) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, _BINDING, database, s.source):
        return
    if s.create:
        made = Binding(s.name[-1], **s.changes, source=s.source)
        script.add(database, database.bindings, _BINDING, made)
        return
    old = database.bindings.find(s.name[-1])
    if old is None:
        script.no_such(_BINDING, s.name[-1], database, s.source)
    else:
        database.bindings[old.name] = replace(old, **s.changes, source=s.source)


def _drop(script: Script, s: DropObject) -> None:
    row = _DROPPED[s.what]
    for name in s.names:
        if row.in_schema:
            database, found = script.database_of(name, s.source), schema_name(name[-2:])
        else:
            database, found = script.database(s.source), name[-1]
            if not script.one_part(name, s.what, database, s.source):
                continue
        old = row.find(database, found)
        if old is not None:
            row.remove(database, old)
        elif s.if_exists:
            script.effect = False
        else:
            script.no_such(s.what, name[-1], database, s.source)


@dataclass(frozen=True, slots=True)
class _Dropped:
    """The functions that find and remove one kind of object."""

    find: Callable[[DatabaseDraft, str], Any]
    remove: Callable[[DatabaseDraft, Any], None]
    in_schema: bool = False


def _kept_in(field: str, *, in_schema: bool = False) -> _Dropped:
    """Return the functions for the objects in a field of the draft."""

    def find(database: DatabaseDraft, name: str) -> Any:
        objects = getattr(database, field)
        return objects.find(name) if isinstance(objects, Sysnames) else objects.get(name)

    def remove(database: DatabaseDraft, old: Any) -> None:
        del getattr(database, field)[old.name]

    return _Dropped(find, remove, in_schema)


def _find_schema(database: DatabaseDraft, name: str) -> str | None:
    return next((key for key in database.schemas if key.casefold() == name.casefold()), None)


def _remove_schema(database: DatabaseDraft, name: str) -> None:
    del database.schemas[name]


_DROPPED: Mapping[str, _Dropped] = {
    "route": _Dropped(DatabaseDraft.route, DatabaseDraft.drop_route),
    "message type": _kept_in("message_types"),
    "contract": _kept_in("contracts"),
    "queue": _kept_in("queues", in_schema=True),
    "service": _kept_in("services"),
    "broker priority": _kept_in("priorities"),
    "certificate": _kept_in("certificates"),
    "remote service binding": _kept_in("bindings"),
    "procedure": _kept_in("procedures", in_schema=True),
    "xml schema collection": _Dropped(_find_schema, _remove_schema, in_schema=True),
}
"""The kinds of objects that DROP removes, by keywords."""

OBJECT_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    SetMessageType: _set_message_type,
    CreateSchema: _create_schema,
    CreateContract: _create_contract,
    SetQueue: _set_queue,
    CreateService: _create_service,
    AlterService: _alter_service,
    SetPriority: _set_priority,
    SetBinding: _set_binding,
    DropObject: _drop,
}
