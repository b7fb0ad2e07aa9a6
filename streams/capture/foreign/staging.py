"""A temporary database that keeps findings until all findings have been read.

The initiator, the first message and the order are known only when all findings have been read.
SQLite keeps a few megabytes in memory and all other data in a file of the temporary folder
(``TMPDIR``), which is deleted on close.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from streams.capture.foreign.findings import (
    Endpoint,
    Finding,
    ForeignStatement,
    Party,
    TraceEvent,
    Typed,
    Waiting,
)
from streams.errors import UsageError
from streams.wire import encode_event

_BATCH, _BYTES = 5_000, 32 << 20
"""Number of findings of one kind, or bytes of all buffered findings, that trigger a write."""
_TABLES = """
CREATE TABLE act (
    n INTEGER PRIMARY KEY, at INTEGER, rank INTEGER, step INTEGER, conversation BLOB,
    initiator INTEGER, kind TEXT, instance TEXT, database TEXT, sequence INTEGER, type TEXT,
    body BLOB, error_code INTEGER, error_text TEXT, cleanup INTEGER);
CREATE TABLE said (
    conversation BLOB, from_service TEXT, to_service TEXT, contract TEXT, instance TEXT,
    database TEXT);
CREATE TABLE typed (conversation BLOB, initiator INTEGER, sequence INTEGER, type TEXT);
CREATE TABLE endpoint (
    instance TEXT, handle BLOB, conversation BLOB, initiator INTEGER, sent INTEGER,
    received INTEGER);
CREATE TABLE waiting (
    instance TEXT, database TEXT, handle BLOB, incoming INTEGER, at INTEGER, sequence INTEGER,
    type TEXT, body BLOB, flags INTEGER);
"""
_ACT = "INSERT INTO act VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERTS = {
    ForeignStatement: _ACT,
    TraceEvent: _ACT,
    Party: "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)",
    Typed: "INSERT INTO typed VALUES (?, ?, ?, ?)",
    Endpoint: "INSERT INTO endpoint VALUES (?, ?, ?, ?, ?, ?)",
    Waiting: "INSERT INTO waiting VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
}
EVENT = "EVENT"
"""The kind of an action that is not a statement but an encoded trace event."""
STEPS = {"BEGIN": 0, EVENT: 1, "SEND": 2, "END": 3}
"""The order within one instant."""


class Staging:
    """Findings, in insertion order, for :mod:`assemble` to query."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(_TABLES)
        self._size = 0
        self._held: dict[type[Any], list[tuple[Any, ...]]] = {kind: [] for kind in _INSERTS}

    def add(self, findings: Iterable[Finding]) -> None:
        """Store findings; raise UsageError if the temporary folder is full."""
        held = self._held
        for finding in findings:
            rows, row = held[type(finding)], _row(finding)
            rows.append(row)
            self._size += sum(len(value) for value in row if isinstance(value, (bytes, str)))
            if len(rows) >= _BATCH or self._size >= _BYTES:
                self.flush()

    def flush(self) -> None:
        """Write buffered rows."""
        self._size = 0
        for kind in self._held:
            self._write(kind)

    def _write(self, kind: type[Any]) -> None:
        rows, self._held[kind] = self._held[kind], []
        if not rows:
            return
        try:
            self._database.execute("BEGIN")
            self._database.executemany(_INSERTS[kind], rows)
            self._database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise _no_room(error) from error

    def run(self, statement: str, *values: Any) -> int:
        """Execute a statement; return the number of changed rows."""
        try:
            return self._database.execute(statement, values).rowcount
        except sqlite3.OperationalError as error:
            raise _no_room(error) from error

    def ask(self, question: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        try:
            yield from self._database.execute(question, values)
        except sqlite3.OperationalError as error:
            raise _no_room(error) from error

    def number(self, question: str, *values: Any) -> int:
        """Return the single number that a query yields."""
        [(found,)] = self.ask(question, *values)
        return int(found or 0)

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()


def _row(finding: Finding) -> tuple[Any, ...]:
    if isinstance(finding, ForeignStatement):
        at, rank, conversation, initiator, kind, *rest = finding
        return (at, rank, STEPS[kind.value], conversation.bytes, initiator, kind.value, *rest)
    if isinstance(finding, TraceEvent):
        id_ = None if finding.conversation is None else finding.conversation.bytes
        event = encode_event(dict(finding.event))
        place = (finding.at, finding.rank, STEPS[EVENT], id_, finding.event["from_initiator"])
        return (*place, EVENT, *(None,) * 4, event, None, None, None)
    return tuple(cell.bytes if isinstance(cell, uuid.UUID) else cell for cell in finding)


def _no_room(error: sqlite3.OperationalError) -> UsageError:
    return UsageError(
        f"The temporary database cannot be used: {error}.",
        "It needs about twice the size of the input: set TMPDIR to a folder with enough space.",
    )
