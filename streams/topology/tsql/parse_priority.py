"""CREATE and ALTER BROKER PRIORITY (reference 4.12)."""

from __future__ import annotations

from typing import Any

from streams.topology.findings import Source
from streams.topology.objects import DEFAULT_LEVEL
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import SetPriority, Statement

_FIELDS = {
    "CONTRACT_NAME": "contract",
    "LOCAL_SERVICE_NAME": "local_service",
    "REMOTE_SERVICE_NAME": "remote_service",
    "PRIORITY_LEVEL": "level",
}


def create_priority(cursor: Cursor, source: Source) -> Statement:
    """Parse CREATE BROKER PRIORITY after its first words; SET may be missing."""
    return _set_priority(cursor, source, create=True)


def alter_priority(cursor: Cursor, source: Source) -> Statement:
    """Parse ALTER BROKER PRIORITY after its first words."""
    return _set_priority(cursor, source, create=False)


def _set_priority(cursor: Cursor, source: Source, *, create: bool) -> Statement:
    name = cursor.dotted("the priority's name")
    cursor.expect("FOR", "CONVERSATION")
    # SET is also a statement; only the parenthesis makes it a clause.
    clause = cursor.is_words("SET") and cursor.peek(1).text == "("
    if not clause and create:
        return SetPriority(source, name, create, {})
    cursor.expect("SET")
    cursor.expect_mark("(")
    changes: dict[str, Any] = {}
    while not cursor.is_mark(")"):
        at = cursor.token
        field = _FIELDS[cursor.choice(_FIELDS)]
        if field in changes:
            cursor.fail(f"{at.upper} only once", at)
        cursor.expect_mark("=")
        changes[field] = _value(cursor, field)
        cursor.accept_mark(",")
    cursor.expect_mark(")")
    return SetPriority(source, name, create, changes)


def _value(cursor: Cursor, field: str) -> str | int | None:
    """Read a criterion (``None`` for ANY) or a level."""
    if field == "level":
        if cursor.accept("DEFAULT"):
            return DEFAULT_LEVEL
        at = cursor.token
        level = cursor.integer("PRIORITY_LEVEL")
        return level if 1 <= level <= 10 else cursor.fail("a level from 1 to 10", at)
    if cursor.accept("ANY"):
        return None
    if field == "remote_service":
        return cursor.string("the remote service's name")
    return cursor.name("a name, or ANY")
