"""Look up the contracts, queues and XML schemas of a database (reference 1.1)."""

from __future__ import annotations

from streams.topology.objects import Contract, Database, MessageType, Queue
from streams.topology.system import SYSTEM_CONTRACTS


def contract_of(database: Database, name: str) -> Contract | None:
    """Return a contract of the database, either its own or a system contract."""
    return database.contracts.get(name) or SYSTEM_CONTRACTS.get(name)


def accepted_contracts(database: Database, service: str) -> tuple[str, ...]:
    """Return the contracts that a service accepts as a target; without any, it only initiates."""
    found = database.services.get(service)
    return () if found is None else found.contracts


def accepts(database: Database, service: str, contract: str) -> bool:
    """Return whether the service accepts this contract as a target."""
    return contract in accepted_contracts(database, service) and (
        contract_of(database, contract) is not None
    )


def queue_of(database: Database, service: str) -> Queue | None:
    """Return the queue of a service, with default settings if the queue is not declared."""
    found = database.services.get(service)
    return None if found is None else queue_named(database, found.queue) or Queue(found.queue)


def queues_by_service(database: Database) -> dict[str, Queue]:
    """Return :func:`queue_of` for all services, in linear time."""
    folded: dict[str, Queue] = {}
    for queue in database.queues.values():
        folded.setdefault(queue.name.casefold(), queue)
    return {
        name: database.queues.get(service.queue)
        or folded.get(service.queue.casefold())
        or Queue(service.queue)
        for name, service in database.services.items()
    }


def queue_named(database: Database, name: str) -> Queue | None:
    """Return a declared queue; queue names are case-insensitive, as with most collations."""
    exact = database.queues.get(name)
    if exact is not None:
        return exact
    folded = name.casefold()
    return next((q for q in database.queues.values() if q.name.casefold() == folded), None)


def schema_of(database: Database, message_type: MessageType) -> str | None:
    """Return the schema of VALID_XML; ``None`` if it does not exist."""
    if message_type.schema is None:
        return None
    exact = database.schemas.get(message_type.schema)
    if exact is not None:
        return exact
    folded = message_type.schema.casefold()
    return next(
        (text for name, text in database.schemas.items() if name.casefold() == folded), None
    )


def schemas_by_type(database: Database) -> dict[str, str | None]:
    """Return :func:`schema_of` for all message types, in linear time."""
    folded: dict[str, str] = {}
    for name, text in database.schemas.items():
        folded.setdefault(name.casefold(), text)
    return {
        kind.name: None
        if kind.schema is None
        else database.schemas.get(kind.schema, folded.get(kind.schema.casefold()))
        for kind in database.message_types.values()
    }


def queues_of(database: Database) -> tuple[Queue, ...]:
    """Return all queues of a database, sorted by name, including those that only services name."""
    found = {queue.name.casefold(): queue for queue in database.queues.values()}
    for service in database.services.values():
        found.setdefault(service.queue.casefold(), Queue(service.queue))
    return tuple(found[key] for key in sorted(found))
