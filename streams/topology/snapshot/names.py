"""Resolve the ids by which a database's views refer to each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.topology.objects import queue_name
from streams.topology.snapshot.rows import Rows

DEFAULT_SCHEMA = "dbo"
"""The schema that names omit; the schema of all objects if the snapshot has no sys.schemas."""


@dataclass(slots=True)
class Names:
    """Names by id, with a table for each kind of object."""

    queues: dict[int, str] = field(default_factory=dict)
    services: dict[int, str] = field(default_factory=dict)
    contracts: dict[int, str] = field(default_factory=dict)
    types: dict[int, str] = field(default_factory=dict)
    schemas: dict[int, str] = field(default_factory=dict)
    principals: dict[int, str] = field(default_factory=dict)

    def contract(self, number: int | None) -> str | None:
        """Return a contract's name; ``None`` for NULL and unknown ids."""
        return None if number is None else self.contracts.get(number)

    def service(self, number: int | None) -> str | None:
        """Return a service's name; ``None`` for NULL and unknown ids."""
        return None if number is None else self.services.get(number)


def names_of(rows: Rows, database: str) -> Names:
    """Collect the names of a database's objects."""

    def by_number(view: str, number: str) -> dict[int, str]:
        found = rows.in_database(view, database)
        return {row[number]: row["name"] for row in found if row[number] is not None}

    schemas = by_number("schemas", "schema_id")
    queues = {
        row["object_id"]: queue_name(schemas.get(row["schema_id"], DEFAULT_SCHEMA), row["name"])
        for row in rows.in_database("service_queues", database)
        if row["object_id"] is not None
    }
    return Names(
        queues,
        by_number("services", "service_id"),
        by_number("service_contracts", "service_contract_id"),
        by_number("service_message_types", "message_type_id"),
        schemas,
        by_number("database_principals", "principal_id"),
    )
