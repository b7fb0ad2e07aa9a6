"""Apply statements about Service Broker objects, from message types to priorities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from streams.errors import Number
from streams.prose import listed
from streams.topology.objects import (
    Binding,
    Contract,
    MessageType,
    Priority,
    Queue,
    Service,
)
from streams.topology.tsql.draft import DatabaseDraft
from streams.topology.tsql.modules import schema_name
from streams.topology.tsql.script import Script
from streams.topology.tsql.statements import (
    AlterService,
    CreateContract,
    CreateSchema,
    CreateService,
    SetBinding,
    SetMessageType,
    SetPriority,
    SetQueue,
    Statement,
)

_BINDING = "remote service binding"
_ACTIVATION = frozenset({"activation_status", "max_readers"})
"""The fields of a queue that only an ACTIVATION clause sets, besides the procedure."""
_TWICE = "Remove the duplicate."
_PROCEDURE = "Name the procedure with PROCEDURE_NAME, or turn activation off."


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
    if not script.one_part(s.name, "contract", database, s.source):
        return
    if s.repeated:
        what = f"contract {s.name[-1]} names {listed(s.repeated)} more than once"
        script.refuse(database, s.source, what, _TWICE, Number.TYPE_REPEATED)
        return
    made = Contract(s.name[-1], s.messages, s.source)
    script.add(database, database.contracts, "contract", made)
    _warn_of_keyword(script, database, s, "contract")


def _warn_of_keyword(
    script: Script, database: DatabaseDraft, s: CreateContract | CreateService, what: str
) -> None:
    """Warn of the name ANY, which a broker priority cannot name (pages of both statements)."""
    if s.name[-1].upper() == "ANY":
        script.advise(
            database, s.source,
            f"{what} {s.name[-1]}: a broker priority for ANY applies to every {what}",
            "Choose a name that is not a keyword.",
        )  # fmt: skip


def _set_queue(script: Script, s: SetQueue) -> None:
    database = script.database_of(s.name, s.source)
    name = schema_name(s.name[-2:])
    if s.create:
        # T-SQL defines a queue completely, except for the Kafka settings.
        stated = database.queues.get(name) or Queue(name)
        created = Queue(name, group=stated.group, partitions=stated.partitions, source=s.source)
        made = replace(created, **s.changes)
        if made.activated is None and made.activation_status and _ACTIVATION & s.changes.keys():
            what = f"queue {made.name} has ACTIVATION, but no procedure"
            script.refuse(database, s.source, what, _PROCEDURE, Number.ACTIVATION_INCOMPLETE)
        else:
            script.add(database, database.queues, "queue", made)
        return
    old = database.queue(name)
    if old is None:
        script.no_such("queue", s.name[-1], database, s.source)
        return
    made = replace(old, **_altered(old, s.changes), source=s.source)
    turned_on = s.changes.get("activation_status") and "activation" not in s.changes
    if turned_on and made.activation is None and script.instance.complete:
        what = f"queue {made.name} has no procedure to activate"
        script.warn(database, s.source, what, _PROCEDURE, Number.ACTIVATION_INCOMPLETE)
    else:
        database.queues[old.name] = made


def _altered(old: Queue, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the changes by ALTER QUEUE; adding a procedure does not turn activation on."""
    added = old.activation is None and changes.get("activation") is not None
    return {"activation_status": False, **changes} if added else changes


def _create_service(script: Script, s: CreateService) -> None:
    database = script.database(s.source)
    if not script.one_part(s.name, "service", database, s.source):
        return
    if not _repeats(script, database, s, s.contracts):
        made = Service(s.name[-1], schema_name(s.queue), s.contracts, s.owner, s.source)
        script.add(database, database.services, "service", made)
        _warn_of_keyword(script, database, s, "service")


def _repeats(
    script: Script,
    database: DatabaseDraft,
    s: CreateService | AlterService,
    contracts: tuple[str, ...],
) -> bool:
    """Report contracts that a statement names more than once; return whether there are any."""
    repeated = [name for name, count in Counter(contracts).items() if count > 1]
    if repeated:
        what = f"service {s.name[-1]} names {listed(repeated)} more than once"
        script.refuse(database, s.source, what, _TWICE, Number.CONTRACT_REPEATED)
    return bool(repeated)


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
            script.warn(database, made.source, message, remedy, Number.PRIORITY_EXISTS)
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
    if _repeats(script, database, s, s.added):
        return
    again = [name for name in s.added if name in old.contracts]
    if again and script.instance.complete:
        what = f"service {old.name} already accepts {listed(again)}"
        script.warn(database, s.source, what, _TWICE, Number.CONTRACT_REPEATED)
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
        others = database.bindings.users("service", made.service)
        if others and database.bindings.find(made.name) is None:
            what = f"{_BINDING} {others[0]} already secures {made.service}"
            remedy = "The statement has no effect; keep only one of the two."
            script.warn(database, s.source, what, remedy, Number.BINDING_EXISTS)
        else:
            script.add(database, database.bindings, _BINDING, made)
        return
    old = database.bindings.find(s.name[-1])
    if old is None:
        script.no_such(_BINDING, s.name[-1], database, s.source)
    else:
        database.bindings[old.name] = replace(old, **s.changes, source=s.source)


OBJECT_HANDLERS: Mapping[type[Statement], Callable[[Script, Any], None]] = {
    SetMessageType: _set_message_type,
    CreateSchema: _create_schema,
    CreateContract: _create_contract,
    SetQueue: _set_queue,
    CreateService: _create_service,
    AlterService: _alter_service,
    SetPriority: _set_priority,
    SetBinding: _set_binding,
}
