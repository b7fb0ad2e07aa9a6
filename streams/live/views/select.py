"""Answer a SELECT over system views and queues with copies of the rows in SQLite's memory.

SQLite reads ``sys.routes`` as the table ``routes`` of an attached database ``sys``, so a statement
is passed on unchanged, except for two forms that only SQL Server has: ``TOP n`` and ``N'...'``.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from streams.errors import UsageError
from streams.live.views.places import Asked, Row
from streams.live.views.queue_rows import ROW_COLUMNS, queue_rows, queues_named
from streams.live.views.table import TIMES, VIEWS

_VIEW = re.compile(r"\[?\bsys\]?\s*\.\s*\[?(\w+)", re.IGNORECASE)
_TOP = re.compile(r"^\s*SELECT\s+TOP\s*\(?\s*(\d+)\s*\)?(?=\s)", re.IGNORECASE)
_STRING_OR_N = re.compile(r"('(?:[^']|'')*')|\bN(?=')", re.IGNORECASE)
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})

Show = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class SelectResult:
    """The columns and rows of a result."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def is_select(text: str) -> bool:
    """Return whether a text is a statement, not the name of a view."""
    return text.split(None, 1)[:1] != [] and text.split(None, 1)[0].casefold() == "select"


def answer(asked: Asked, text: str, time: Show) -> SelectResult:
    """Load the tables of a SELECT and run it; ``time`` formats epoch milliseconds.

    Raises UsageError for statements that SQLite rejects, for example because of unknown columns or
    tables.
    """
    with closing(_database()) as database:
        for name in _views(text):
            view = VIEWS[name]
            _fill(database, "sys", name.removeprefix("sys."), view.columns, view.rows(asked), time)
        for schema, table, rows in _queues(asked, text):
            _fill(database, schema, table, ROW_COLUMNS, rows, time)
        database.set_authorizer(_read_only)
        try:
            cursor = database.execute(_for_sqlite(text))
            columns = tuple(column[0] for column in cursor.description or ())
            return SelectResult(columns, tuple(dict(zip(columns, r, strict=True)) for r in cursor))
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise UsageError(
                f"The SELECT failed: {error}.",
                f"SQLite executes it, over queues and: {', '.join(VIEWS)}.",
            ) from error


def _views(text: str) -> list[str]:
    found = dict.fromkeys(f"sys.{name.casefold()}" for name in _VIEW.findall(text))
    unknown = [name for name in found if name not in VIEWS]
    if unknown:
        raise UsageError(f"Unknown view {unknown[0]}.", f"There are: {', '.join(VIEWS)}.")
    return list(found)


def _queues(asked: Asked, text: str) -> Iterator[tuple[str, str, Iterator[Row]]]:
    for instance, database, queue in queues_named(asked, text):
        schema, dot, name = queue.name.rpartition(".")
        rows = queue_rows(asked, instance, database, queue)
        yield (_plain(schema) if dot else "dbo"), _plain(name), rows


def _plain(part: str) -> str:
    return part[1:-1].replace("]]", "]") if part.startswith("[") else part


def _for_sqlite(text: str) -> str:
    text = _STRING_OR_N.sub(lambda found: found[1] or "", text.strip().rstrip(";"))
    top = _TOP.match(text)
    return f"SELECT {text[top.end() :]} LIMIT {top[1]}" if top else text


def _database() -> sqlite3.Connection:
    sqlite3.register_converter("bit", lambda raw: raw == b"1")
    database = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
    for schema in ("sys", "dbo"):
        database.execute(f"ATTACH ':memory:' AS {schema}")
    return database


def _fill(
    database: sqlite3.Connection,
    schema: str,
    table: str,
    columns: Sequence[str],
    rows: Iterable[Row],
    time: Show,
) -> None:
    if schema not in ("sys", "dbo"):
        with suppress(sqlite3.OperationalError):  # attached already
            database.execute(f"ATTACH ':memory:' AS {_quoted(schema)}")
    declared = ", ".join(f"{_quoted(c)} {_type(c)}" for c in columns)
    where = f"{_quoted(schema)}.{_quoted(table)}"
    database.execute(f"CREATE TABLE IF NOT EXISTS {where} ({declared})")
    marks = ", ".join("?" * len(columns))
    shown = (
        [time(row[c]) if c in TIMES and row[c] is not None else row[c] for c in columns]
        for row in rows
    )
    database.executemany(f"INSERT INTO {where} VALUES ({marks})", shown)


def _type(column: str) -> str:
    return "bit" if column.startswith("is_") else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read_only(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
