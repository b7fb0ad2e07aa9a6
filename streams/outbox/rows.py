"""Rows of the outbox's tables, with any content, as a relay reads them.

SQLite stores a value of any type in any column, and PostgreSQL stores any text. No row may stop the
relay, so only the endpoint worker validates the content.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

BATCH = 500
"""The maximum number of rows in a batch."""

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Statement:
    """A row: one statement; ``command`` is its header, as sent to Kafka.

    Ids are text, exactly as inserted, because only the endpoint worker validates the row.
    """

    id: str
    instance: str
    conversation: str
    kind: str
    command: bytes
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Statements that are relayed together; ``at`` is the time of selection, in epoch seconds."""

    id: str
    at: int
    statements: tuple[Statement, ...]

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the instances of the batch's statements."""
        return tuple(dict.fromkeys(statement.instance for statement in self.statements))


def positions_in(raw: Any) -> list[int]:
    """Return the positions of a batch in flight; raise ValueError if they are invalid."""
    try:
        found = json.loads(raw)
    except (TypeError, RecursionError) as error:
        raise ValueError(error) from error
    if not isinstance(found, list) or len(found) > BATCH:
        raise ValueError("not a list of positions")
    if not all(type(at) is int and -_INT64 <= at < _INT64 for at in found):
        raise ValueError("a position is not a number")
    return found


def statement_of(row: Any) -> Statement:
    """Return the statement in a row of the outbox."""
    body = None if row.body is None else _bytes(row.body)
    ids = _id(row.id), _id(row.conversation)
    return Statement(ids[0], str(row.instance), ids[1], str(row.kind), _bytes(row.command), body)


def _id(found: Any) -> str:
    """Return an id in its canonical form (see ``conversation_of``), or the raw value as text."""
    with suppress(ValueError):
        return str(uuid.UUID(str(found)))
    return str(found)


def _bytes(found: Any) -> bytes:
    """Return a value as bytes: SQLite stores text and numbers in any column."""
    if isinstance(found, bytes | bytearray | memoryview):
        return bytes(found)
    return str(found).encode("utf-8", "replace")
