"""Parse CREATE and ALTER QUEUE; both have the same settings, and ALTER keeps the others."""

from __future__ import annotations

from typing import Any

from streams.topology.findings import Source
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import SetQueue, Statement

_SWITCHES = ("STATUS", "RETENTION", "POISON_MESSAGE_HANDLING")
_MOST_READERS = 32767
_SETTINGS = (*_SWITCHES, "ACTIVATION")


def create_queue(cursor: Cursor, source: Source) -> Statement:
    """Parse CREATE QUEUE after its first two words."""
    at = cursor.token
    name = cursor.dotted("the queue's name")
    if name[-1].startswith("#"):
        cursor.fail("a name without # at its beginning, because a queue cannot be temporary", at)
    changes = _settings(cursor) if cursor.accept("WITH") else {}
    if cursor.accept("ON"):
        cursor.name("a filegroup")
    return SetQueue(source, name, True, changes)


def alter_queue(cursor: Cursor, source: Source) -> Statement | None:
    """Read ALTER QUEUE WITH; skip clauses about its table's storage (REBUILD, MOVE TO)."""
    name = cursor.dotted("the queue's name")
    if cursor.token.upper in ("REBUILD", "REORGANIZE", "MOVE"):
        cursor.next()
        return None
    cursor.expect("WITH")
    return SetQueue(source, name, False, _settings(cursor))


def _settings(cursor: Cursor) -> dict[str, Any]:
    """Read settings, named as the fields of a queue; commas may be missing."""
    changes: dict[str, Any] = {}
    while True:
        word = cursor.choice(_SETTINGS)
        if word == "ACTIVATION":
            changes.update(_activation(cursor))
        else:
            changes[word.lower()] = _switch(cursor, word)
        if not cursor.accept_mark(",") and cursor.token.upper not in _SETTINGS:
            return changes


def _switch(cursor: Cursor, word: str) -> bool:
    if word != "POISON_MESSAGE_HANDLING":
        cursor.expect_mark("=")
        return cursor.on_off()
    cursor.expect_mark("(")
    cursor.expect("STATUS")
    cursor.expect_mark("=")
    on = cursor.on_off()
    cursor.expect_mark(")")
    return on


def _activation(cursor: Cursor) -> dict[str, str | int | None]:
    """Read ACTIVATION ( ... ); STATUS = OFF keeps the procedure for a later ON; DROP removes it."""
    cursor.expect_mark("(")
    changes: dict[str, str | int | None] = {}
    while True:
        word = cursor.choice(("STATUS", "PROCEDURE_NAME", "MAX_QUEUE_READERS", "EXECUTE", "DROP"))
        if word == "DROP":
            changes |= {"activation": None, "max_readers": 1, "activation_status": True}
        elif word == "EXECUTE":
            cursor.expect("AS")
            if not cursor.accept("SELF") and not cursor.accept("OWNER"):
                cursor.string("the user")
        else:
            cursor.expect_mark("=")
            if word == "STATUS":
                changes["activation_status"] = cursor.on_off()
            elif word == "PROCEDURE_NAME":
                changes["activation"] = ".".join(cursor.dotted("the procedure's name"))
            else:
                at = cursor.token
                readers = cursor.integer(word)
                if not 0 <= readers <= _MOST_READERS:
                    cursor.fail(f"a number from 0 to {_MOST_READERS}", at)
                changes["max_readers"] = readers
        if not cursor.accept_mark(",") and cursor.is_mark(")"):
            break
    cursor.expect_mark(")")
    return changes
