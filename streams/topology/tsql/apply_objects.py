"""What each statement about an object of dialogs changes: from message types to priorities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streams.topology.objects import (
    Contract,
    MessageType,
    Priority,
    Queue,
    Service,
    queue_name,
)
from streams.topology.tsql.draft import DatabaseDraft
from streams.topology.tsql.script import Script
from streams.topology.tsql.statements import (
    CreateContract,
    CreateMessageType,
    CreateSchema,
    CreateService,
    DropPriority,
    Name,
    SetPriority,
    SetQueue,
    Statement,
)


def _in_schema(name: Name) -> str:
    """Return the name under which something that a schema owns is kept."""
    return queue_name(name[-2] if len(name) > 1 else "dbo", name[-1])


def _create_message_type(script: Script, s: CreateMessageType) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "message type", database, s.source):
        schema = None if s.schema is None else _in_schema(s.schema)
        made = MessageType(s.name[-1], s.validation, schema, s.source)
        script.add(database, database.message_types, "message type", made)


def _create_schema(script: Script, s: CreateSchema) -> None:
    database = script.database(s.source)
    name = _in_schema(s.name)
    if database.schemas.setdefault(name, s.text) != s.text:
        message = f"XML schema collection {name} exists already, with another text"
        remedy = "The statement has no effect; keep one of them."
        script.warn(database, s.source, message, remedy)


def _create_contract(script: Script, s: CreateContract) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "contract", database, s.source):
        made = Contract(s.name[-1], s.messages, s.source)
        script.add(database, database.contracts, "contract", made)


def _set_queue(script: Script, s: SetQueue) -> None:
    database = script.database(s.source)
    name = _in_schema(s.name)
    if s.create:
        stated = database.queues.get(name)  # beside a group of Kafka's, T-SQL knows a queue's all
        group = None if stated is None else stated.group
        made = Queue(name, **s.changes, group=group, source=s.source)
        script.add(database, database.queues, "queue", made)
        return
    old = database.queue(name)
    if old is None:
        script.no_such("queue", s.name, database, s.source)
    else:
        database.queues[old.name] = replace(old, **s.changes, source=s.source)


def _create_service(script: Script, s: CreateService) -> None:
    database = script.database(s.source)
    if script.one_part(s.name, "service", database, s.source):
        made = Service(s.name[-1], _in_schema(s.queue), s.contracts, s.source)
        script.add(database, database.services, "service", made)


def _set_priority(script: Script, s: SetPriority) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "broker priority", database, s.source):
        return
    old = database.priority(s.name[-1])
    if s.create:
        made = Priority(s.name[-1], **s.changes, source=s.source)
        if _unique(script, database, made):
            script.add(database, database.priorities, "broker priority", made)
    elif old is None:
        script.no_such("broker priority", s.name, database, s.source)
    else:
        changed = replace(old, **s.changes, source=s.source)
        if _unique(script, database, changed):
            database.priorities[old.name] = changed


def _unique(script: Script, database: DatabaseDraft, made: Priority) -> bool:
    """Tell whether no other priority has these criteria; say so where one has."""
    for other in database.priorities.values():
        if other.name != made.name and _criteria(other) == _criteria(made):
            message = f"broker priority {other.name} has the criteria of {made.name}"
            remedy = "The statement has no effect; change one of them."
            script.warn(database, made.source, message, remedy)
            return False
    return True


def _criteria(p: Priority) -> tuple[str | None, ...]:
    return p.contract, p.local_service, p.remote_service


def _drop_priority(script: Script, s: DropPriority) -> None:
    database = script.database(s.source)
    old = database.priority(s.name[-1])
    if old is None:
        script.no_such("broker priority", s.name, database, s.source)
    else:
        del database.priorities[old.name]


OBJECT_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    CreateMessageType: _create_message_type,
    CreateSchema: _create_schema,
    CreateContract: _create_contract,
    SetQueue: _set_queue,
    CreateService: _create_service,
    SetPriority: _set_priority,
    DropPriority: _drop_priority,
}
