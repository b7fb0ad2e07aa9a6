"""Find objects that scripts use and never create.

The engine refuses CREATE SERVICE if its queue does not exist. Scripts are read in the order of
their names, which need not be the order in which they run. So this check runs after all scripts of
an instance. The finding is a warning only if the scripts also create the database. Otherwise the
object may exist already, and the finding is an info.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

from streams.errors import Number, text_of
from streams.system_names import SYSTEM_QUEUES, SYSTEM_SERVICES
from streams.topology.findings import Finding, Severity, Source
from streams.topology.system import SYSTEM_CONTRACTS
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes, last_part
from streams.topology.tsql.script import SYSTEM_DATABASES
from streams.topology.validate import ddl_finding

_SYSTEM_PROCEDURE = "sp_"
"""Every database finds such a procedure in master."""


class _Use(NamedTuple):
    """The use of an object: the user, the used object, and the place of the statement."""

    user: str
    used: str
    source: Source
    number: Number | None = Number.OBJECT_MISSING


class _Known(NamedTuple):
    """The last parts of the names of all objects that an instance has had so far.

    An object with this name that is in another schema or database, or that was dropped, is not
    missing: the engine looks for a name without a schema in that of the code first.
    """

    queues: frozenset[str]
    procedures: frozenset[str]


def find_missing_objects(instance: InstanceDraft, notes: Notes) -> None:
    """Report each object that a statement of the instance's scripts needs and none creates."""
    if not instance.complete:
        return
    known = _known(instance)
    for database in instance.user_databases():
        name = database.base.name
        if name.casefold() not in SYSTEM_DATABASES:
            severity = Severity.WARNING if database.created else Severity.INFO
            schemas = _schemas(database) if instance.knows_schemas else ()
            for use in (*_uses(database), *schemas, *_of_code(database, known)):
                notes.findings.append(_finding(use, f"{instance.base.name}/{name}", severity))
    for use in _of_endpoint(instance):
        notes.findings.append(_finding(use, instance.base.name, Severity.WARNING))


def _known(instance: InstanceDraft) -> _Known:
    every = tuple(instance.user_databases())
    queues = {name for one in every for name in one.queues.ever}
    procedures = {name for one in every for name in one.procedures.ever}
    return _Known(frozenset(queues.union(map(last_part, SYSTEM_QUEUES))), frozenset(procedures))


def _finding(use: _Use, subject: str, severity: Severity) -> Finding:
    number = None if use.number is None else int(use.number)
    why = "" if number is None else f" ({number}, {text_of(number)})"
    return ddl_finding(
        f"{use.user} needs {use.used}, which no script creates{why}",
        "Add the statement that creates it, or correct the name.",
        subject, use.source, number=number, severity=severity,
    )  # fmt: skip


def _uses(database: DatabaseDraft) -> Iterator[_Use]:
    """Yield the missing objects of services and priorities that scripts create or alter."""
    base = database.base
    for service in database.services.values():
        known = database.queues.find(service.queue) is not None or service.queue in SYSTEM_QUEUES
        if not known and service is not base.services.get(service.name):
            yield _Use(f"service {service.name}", f"queue {service.queue}", service.source)
    contracts, services = {**SYSTEM_CONTRACTS, **database.contracts}, database.services
    for priority in database.priorities.values():
        if any(priority is old for old in base.priorities):
            continue
        user = f"broker priority {priority.name}"
        if _is_missing(priority.contract, contracts):
            yield _Use(user, f"contract {priority.contract}", priority.source)
        if _is_missing(priority.local_service, SYSTEM_SERVICES.union(services)):
            yield _Use(user, f"service {priority.local_service}", priority.source)


def _of_code(database: DatabaseDraft, known: _Known) -> Iterator[_Use]:
    """Yield the missing queues of RECEIVE, and the missing procedures that queues activate.

    Only if the scripts create other queues here (other procedures that read queues); otherwise
    these objects are probably in other scripts. A queue with a prefix may be in another database,
    and a snapshot with queues does not contain their procedures.
    """
    code = database.code().values()
    queues = {last_part(service.queue) for service in database.services.values()}
    readers = [one for one in code if one.receives and not one.is_notification]
    for reader in readers if database.queues.ever else ():
        for queue in reader.receives:
            name = last_part(queue)
            if "." not in queue and name not in known.queues and name not in queues:
                queues.add(name)
                yield _Use(reader.name, f"queue {queue}", reader.source, None)
    for declared in database.queues.values() if readers and not database.base.queues else ():
        name = "" if declared.activation is None else last_part(declared.activation)
        if name and name not in known.procedures and _is_own(str(declared.activation)):
            used = f"procedure {declared.activation}"
            yield _Use(f"queue {declared.name}", used, declared.source, None)


def _is_own(procedure: str) -> bool:
    """Return whether a procedure is certainly looked for in the database of its queue."""
    return procedure.count(".") < 2 and not last_part(procedure).startswith(_SYSTEM_PROCEDURE)


def _of_endpoint(instance: InstanceDraft) -> Iterator[_Use]:
    """Yield the endpoint's certificate if the scripts create certificates in master, but not it."""
    endpoint, master = instance.base.endpoint, instance.database("master")
    words = endpoint.authentication
    if master is None or not master.certificates or "CERTIFICATE" not in words:
        return
    for name in words[words.index("CERTIFICATE") + 1 :][:1]:
        if master.certificates.find(name) is None:
            yield _Use(f"endpoint {endpoint.name}", f"certificate {name}", endpoint.source)


def _is_missing(name: str | None, among: Container[str]) -> bool:
    return name is not None and name not in among


def _schemas(database: DatabaseDraft) -> Iterator[_Use]:
    """Yield the missing schema collections; a snapshot does not contain the existing ones."""
    for kind in database.message_types.values() if not database.base.message_types else ():
        if kind.schema is not None and database.schemas.find(kind.schema) is None:
            used = f"XML schema collection {kind.schema}"
            yield _Use(f"message type {kind.name}", used, kind.source, None)
