"""Cut a script into statements: one small parser for each that is understood, in a table.

What nobody here understands is read over and reported as skipped; an understood statement that is
wrong is an error with its place. A new statement is a parser and a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from streams.topology.findings import Skipped, Source
from streams.topology.tsql import (
    parse_priority,
    parse_queue,
    parse_route,
    parse_server,
    parse_service,
)
from streams.topology.tsql.boundaries import STARTS, batch_ends, nesting, statement_ends
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import Statement
from streams.topology.tsql.tokens import Kind, tokenize

Parser = Callable[[Cursor, Source], Statement | None]


@dataclass(frozen=True, slots=True)
class Row:
    """A statement that is understood: its parser and its syntax, which errors show."""

    parse: Parser
    syntax: str


_CLAUSES = (
    "[SERVICE_NAME = '...',] [BROKER_INSTANCE = '...',] [LIFETIME = seconds,] "
    "ADDRESS = '...' [, MIRROR_ADDRESS = '...']"
)
_ENDPOINT = (
    "ENDPOINT name [STATE = STARTED] AS TCP (LISTENER_PORT = port) FOR SERVICE_BROKER "
    "([AUTHENTICATION = ...] [, ENCRYPTION = ...] [, MESSAGE_FORWARDING = ENABLED | DISABLED] "
    "[, MESSAGE_FORWARD_SIZE = megabytes])"
)
_QUEUE = (
    "[STATUS = ON | OFF,] [RETENTION = ON | OFF,] [ACTIVATION (PROCEDURE_NAME = name, ...),] "
    "[POISON_MESSAGE_HANDLING (STATUS = ON | OFF)]"
)
_PRIORITY = (
    "BROKER PRIORITY name FOR CONVERSATION SET ([CONTRACT_NAME = name | ANY] "
    "[, LOCAL_SERVICE_NAME = name | ANY] [, REMOTE_SERVICE_NAME = '...' | ANY] "
    "[, PRIORITY_LEVEL = 1 to 10 | DEFAULT])"
)
TABLE: Mapping[tuple[str, ...], Row] = {
    ("USE",): Row(parse_server.use, "USE database"),
    ("CREATE", "DATABASE"): Row(parse_server.create_database, "CREATE DATABASE name"),
    ("ALTER", "DATABASE"): Row(
        parse_server.alter_database,
        "ALTER DATABASE name SET ENABLE_BROKER | DISABLE_BROKER | NEW_BROKER | "
        "ERROR_BROKER_CONVERSATIONS | HONOR_BROKER_PRIORITY ON | OFF",
    ),
    ("CREATE", "ENDPOINT"): Row(parse_server.create_endpoint, f"CREATE {_ENDPOINT}"),
    ("ALTER", "ENDPOINT"): Row(parse_server.alter_endpoint, f"ALTER {_ENDPOINT}"),
    ("CREATE", "ROUTE"): Row(parse_route.create_route, f"CREATE ROUTE name WITH {_CLAUSES}"),
    ("ALTER", "ROUTE"): Row(parse_route.alter_route, f"ALTER ROUTE name WITH {_CLAUSES}"),
    ("DROP", "ROUTE"): Row(parse_route.drop_route, "DROP ROUTE name"),
    ("CREATE", "MESSAGE", "TYPE"): Row(
        parse_service.create_message_type,
        "CREATE MESSAGE TYPE name [VALIDATION = NONE | EMPTY | WELL_FORMED_XML | "
        "VALID_XML WITH SCHEMA COLLECTION name]",
    ),
    ("CREATE", "XML", "SCHEMA", "COLLECTION"): Row(
        parse_service.create_schema, "CREATE XML SCHEMA COLLECTION name AS '...'"
    ),
    ("CREATE", "CONTRACT"): Row(
        parse_service.create_contract,
        "CREATE CONTRACT name (message_type SENT BY INITIATOR | TARGET | ANY [, ...])",
    ),
    ("CREATE", "QUEUE"): Row(
        parse_queue.create_queue,
        f"CREATE QUEUE name [WITH {_QUEUE}]",
    ),
    ("ALTER", "QUEUE"): Row(
        parse_queue.alter_queue,
        f"ALTER QUEUE name WITH {_QUEUE}",
    ),
    ("CREATE", "SERVICE"): Row(
        parse_service.create_service, "CREATE SERVICE name ON QUEUE name [(contract [, ...])]"
    ),
    ("CREATE", "BROKER", "PRIORITY"): Row(parse_priority.create_priority, f"CREATE {_PRIORITY}"),
    ("ALTER", "BROKER", "PRIORITY"): Row(parse_priority.alter_priority, f"ALTER {_PRIORITY}"),
    ("DROP", "BROKER", "PRIORITY"): Row(parse_priority.drop_priority, "DROP BROKER PRIORITY name"),
}
_LONGEST = max(len(words) for words in TABLE)
_TWO_WORDS = frozenset({"ALTER", "BEGIN", "CREATE", "DROP", "END", "GET", "MOVE"})
_MODULES = frozenset({"PROC", "PROCEDURE", "FUNCTION", "TRIGGER", "VIEW"})
_PERMISSIONS = frozenset({"GRANT", "DENY", "REVOKE"})


def statements(text: str, file: str) -> Iterator[Statement | Skipped]:
    """Yield what a script says, in order; raise InputError where an understood one is wrong."""
    cursor = Cursor(tokenize(text, file), file)
    while cursor.token.kind is not Kind.END:
        if cursor.token.kind is Kind.GO or cursor.accept_mark(";"):
            if cursor.token.kind is Kind.GO:
                cursor.next()
            continue
        yield _statement(cursor)


def _statement(cursor: Cursor) -> Statement | Skipped:
    source, start = cursor.source(), cursor.at
    words = _understood(cursor)
    if words is None:
        return _skip(cursor, start)
    row = TABLE[words]
    cursor.at += len(words)
    cursor.syntax = row.syntax
    statement = row.parse(cursor, source)
    if statement is None:
        return _skip(cursor, start)
    if not statement_ends(cursor):
        cursor.fail("';' or the next statement")
    return statement


def _understood(cursor: Cursor) -> tuple[str, ...] | None:
    """Return the row's key where an understood statement begins here."""
    for length in range(1, _LONGEST + 1):
        words = tuple(cursor.peek(n).upper for n in range(length))
        if words in TABLE:
            return words
    return None


def _skip(cursor: Cursor, start: int) -> Skipped:
    """Read over a statement up to its end, as far as its end can be told."""
    first, second = cursor.tokens[start], cursor.tokens[min(start + 1, len(cursor.tokens) - 1)]
    kind = first.upper or str(first)
    if kind in _TWO_WORDS and second.upper and not (second.first and second.upper in STARTS):
        kind = f"{kind} {second.upper}"
    skipped = Skipped(kind, cursor.file, first.line, first.column)
    if cursor.at == start:
        cursor.next()
    if first.kind is Kind.DIRECTIVE:
        return skipped
    to_the_end = _is_module(cursor, start)
    depth = 0
    while not batch_ends(cursor):
        if not to_the_end and depth <= 0 and _breaks(cursor, first.upper):
            break
        depth += nesting(cursor)
        cursor.next()
    return skipped


def _is_module(cursor: Cursor, start: int) -> bool:
    """Tell whether the rest of the batch is the body of a procedure or the like."""
    words = [token.upper for token in cursor.tokens[start : start + 4]]
    if words[1:3] == ["OR", "ALTER"]:
        del words[1:3]
    return words[0] in ("CREATE", "ALTER") and len(words) > 1 and words[1] in _MODULES


def _breaks(cursor: Cursor, first: str) -> bool:
    if cursor.is_mark(";"):
        return True
    if cursor.token.first and cursor.token.upper in STARTS:
        return True
    # GRANT CREATE ROUTE TO somebody creates no route.
    return first not in _PERMISSIONS and _understood(cursor) is not None
