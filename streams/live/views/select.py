"""Answer a SELECT over system views and queues with copies of the rows in SQLite.

SQLite keeps a few megabytes in memory, and the rest in temporary files of limited size.
Bodies are only copied if the statement reads them.

SQLite reads ``sys.routes`` as the table ``routes`` of an attached database ``sys``, so a statement
is passed on unchanged, except for two forms that only SQL Server has: ``TOP n`` and ``N'...'``. As
in SQL Server, there is a function ``GET_TRANSMISSION_STATUS(conversation_handle)``.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from streams.errors import UsageError
from streams.live.views.places import Asked, Row
from streams.live.views.queue_rows import ROW_COLUMNS, queue_rows, queues_named
from streams.live.views.table import TIMES, VIEWS

_VIEW = re.compile(r"\[?\bsys\]?\s*\.\s*\[?(\w+)", re.IGNORECASE)
_TOP = re.compile(r"^\s*SELECT\s+TOP\s*\(?\s*(\d+)\s*\)?(?=\s)", re.IGNORECASE)
_STRING_OR_N = re.compile(r"('(?:[^']|'')*')|\bN(?=')", re.IGNORECASE)
_STATUS = re.compile(r"\bGET_TRANSMISSION_STATUS\s*\(", re.IGNORECASE)
_BODY = "message_body"
_PAGES = 1 << 18
"""Maximum number of pages of each schema: 1 GB."""
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})

Show = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class SelectResult:
    """The columns of a result, and its rows, which can be read once."""

    columns: tuple[str, ...]
    rows: Iterator[Row]


def is_select(text: str) -> bool:
    """Return whether a string is a statement, not the name of a view."""
    return text.split(None, 1)[:1] != [] and text.split(None, 1)[0].casefold() == "select"


@contextmanager
def answer(asked: Asked, text: str, time: Show) -> Iterator[SelectResult]:
    """Load the tables of a SELECT and run it; ``time`` formats epoch milliseconds.

    The block also raises UsageError for statements that SQLite rejects, for example because of
    unknown columns or tables, and for rows that exceed the limit.
    """
    with closing(_database()) as database, _explained():
        views, queues, statement = _views(text), list(_queues(asked, text)), _for_sqlite(text)
        for name in views:
            _create(database, "sys", name.removeprefix("sys."), VIEWS[name].columns)
        for schema, table, _ in queues:
            _create(database, schema, table, ROW_COLUMNS)
        if _STATUS.search(text):
            statuses = _transmission_statuses(asked)
            database.create_function(
                "GET_TRANSMISSION_STATUS", 1, lambda handle: statuses.get(_folded(handle), "")
            )
        bodies = _BODY in _columns_of(database, statement)
        for name in views:
            columns, rows = VIEWS[name].columns, _shown(VIEWS[name].rows(asked), time, bodies)
            _fill(database, "sys", name.removeprefix("sys."), columns, rows)
        for schema, table, rows in queues:
            _fill(database, schema, table, ROW_COLUMNS, _shown(rows, time, bodies))
        database.set_authorizer(_read_only)
        cursor = database.execute(statement)
        found = tuple(column[0] for column in cursor.description or ())
        yield SelectResult(found, (dict(zip(found, row, strict=True)) for row in cursor))


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            raise UsageError(
                "The rows of the SELECT need more than 1 GB, or more than the free space for "
                "temporary files.",
                f"Leave out {_BODY}, give --at INSTANCE/DATABASE, or print a view without SELECT.",
            ) from error
        raise UsageError(
            f"The SELECT failed: {error}.",
            f"SQLite executes it on queues and these views: {', '.join(VIEWS)}.",
        ) from error


def _columns_of(database: sqlite3.Connection, statement: str) -> set[str]:
    """Return the names of the columns that a statement reads."""
    found = set[str]()

    def note(action: int, *names: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            found.add(names[1] or "")
        return _read_only(action)

    database.set_authorizer(note)
    database.execute(f"EXPLAIN {statement}").close()
    database.set_authorizer(None)
    return found


def _shown(rows: Iterable[Row], time: Show, bodies: bool) -> Iterator[Row]:
    for row in rows:
        for name in TIMES & row.keys():
            row[name] = None if row[name] is None else time(row[name])
        if not bodies and _BODY in row:
            row[_BODY] = None
        yield row


def _transmission_statuses(asked: Asked) -> dict[str, str]:
    """Return the status of the first waiting message of each conversation, if it has one.

    As in SQL Server, the status is empty if no transmission has failed.
    """
    found = dict[str, str]()
    for row in VIEWS["sys.transmission_queue"].rows(asked):
        if row["transmission_status"]:
            found.setdefault(_folded(row["conversation_handle"]), row["transmission_status"])
    return found


def _folded(handle: object) -> str:
    return str(handle).casefold()


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
        _attach(database, schema)
    return database


def _attach(database: sqlite3.Connection, schema: str) -> None:
    database.execute(f"ATTACH '' AS {_quoted(schema)}")  # a temporary file, if it becomes large
    database.execute(f"PRAGMA {_quoted(schema)}.max_page_count = {_PAGES}")


def _create(database: sqlite3.Connection, schema: str, table: str, columns: Sequence[str]) -> None:
    if schema not in ("sys", "dbo"):
        with suppress(sqlite3.OperationalError):  # attached already
            _attach(database, schema)
    declared = ", ".join(f"{_quoted(c)} {_type(c)}" for c in columns)
    where = f"{_quoted(schema)}.{_quoted(table)}"
    database.execute(f"CREATE TABLE IF NOT EXISTS {where} ({declared})")


def _fill(
    database: sqlite3.Connection,
    schema: str,
    table: str,
    columns: Sequence[str],
    rows: Iterable[Row],
) -> None:
    where, marks = f"{_quoted(schema)}.{_quoted(table)}", ", ".join("?" * len(columns))
    values = ([row[c] for c in columns] for row in rows)
    database.executemany(f"INSERT INTO {where} VALUES ({marks})", values)


def _type(column: str) -> str:
    return "bit" if column.startswith("is_") else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read_only(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
