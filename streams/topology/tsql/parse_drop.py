"""Parse DROP of all supported objects; the effects are in the handlers' table."""

from __future__ import annotations

from streams.topology.findings import Source
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import (
    DropDatabase,
    DropEndpoint,
    DropObject,
    Statement,
)

DROPPED = (
    "ROUTE", "MESSAGE TYPE", "CONTRACT", "QUEUE", "SERVICE", "BROKER PRIORITY", "CERTIFICATE",
    "REMOTE SERVICE BINDING", "XML SCHEMA COLLECTION", "PROCEDURE", "PROC", "FUNCTION", "TRIGGER",
    "VIEW",
)  # fmt: skip
"""The object types of DROP that are parsed, besides databases and endpoints."""
_MODULES = frozenset({"proc", "procedure", "function", "trigger", "view"})


def drop_object(cursor: Cursor, source: Source, what: str) -> Statement:
    """Parse DROP after the words for the object type; one DROP may name several modules."""
    if_exists = cursor.accept("IF", "EXISTS")
    kind = what.lower()
    if kind not in _MODULES:
        return DropObject(source, kind, (cursor.dotted(f"the {kind}'s name"),), if_exists)
    names = cursor.names(f"the {kind}'s name")
    if kind == "trigger" and cursor.accept("ON"):
        cursor.expect("DATABASE") if not cursor.accept("ALL", "SERVER") else None
    return DropObject(source, "procedure", names, if_exists)


def drop_database(cursor: Cursor, source: Source) -> Statement:
    """Parse DROP DATABASE after its words."""
    if_exists = cursor.accept("IF", "EXISTS")
    return DropDatabase(source, cursor.names("a database's name"), if_exists)


def drop_endpoint(cursor: Cursor, source: Source) -> Statement:
    """Parse DROP ENDPOINT after its words."""
    return DropEndpoint(source, cursor.name("the endpoint's name"))
