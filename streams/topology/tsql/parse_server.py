"""USE, CREATE and ALTER DATABASE, CREATE and ALTER ENDPOINT.

A parser here returns ``None`` if the statement does not concern Service Broker, for example if it
concerns a database's files or an endpoint for mirroring. The statement is then skipped like any
unsupported statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.topology.findings import Source
from streams.topology.model import EndpointState
from streams.topology.security import Encryption
from streams.topology.tsql.boundaries import batch_ends, rest_of_statement
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import (
    AlterDatabase,
    CreateDatabase,
    SetEndpoint,
    Statement,
    Use,
)
from streams.topology.tsql.tokens import TokenType

BROKER_OPTIONS = ("ENABLE_BROKER", "DISABLE_BROKER", "NEW_BROKER", "ERROR_BROKER_CONVERSATIONS")
ACCESS_OPTIONS = ("READ_ONLY", "READ_WRITE", "SINGLE_USER", "RESTRICTED_USER", "MULTI_USER")
HONOR_PRIORITY = "HONOR_BROKER_PRIORITY"


def use(cursor: Cursor, source: Source) -> Statement:
    """Parse USE after its keyword."""
    return Use(source, cursor.name("a database's name"))


def create_database(cursor: Cursor, source: Source) -> Statement | None:
    """Parse CREATE DATABASE; a snapshot or an audit specification is not a database."""
    if cursor.is_words("AUDIT", "SPECIFICATION"):
        rest_of_statement(cursor)
        return None
    name = cursor.name("a database's name")
    start = cursor.at
    words = rest_of_statement(cursor)
    if "SNAPSHOT" in words:
        return None
    options = tuple(o for o in _broker_options(cursor, words, start) if o not in ACCESS_OPTIONS)
    return CreateDatabase(source, name, options, empty=_WITH_CONTENT.isdisjoint(words))


_WITH_CONTENT = frozenset({"ATTACH", "ATTACH_REBUILD_LOG", "COPY"})
"""Words of CREATE DATABASE for a database that is not new."""


def alter_database(cursor: Cursor, source: Source) -> Statement | None:
    """Parse ALTER DATABASE ... SET with a broker option; other options are skipped."""
    current = cursor.is_words("CURRENT")
    name = cursor.name("a database's name")
    sets, start = cursor.accept("SET"), cursor.at
    options = _broker_options(cursor, rest_of_statement(cursor), start)
    if not options or not sets:
        return None
    return AlterDatabase(source, None if current else name, options)


def restore(cursor: Cursor, source: Source) -> Statement | None:
    """Parse RESTORE DATABASE or LOG with a broker option, which acts like that of ALTER DATABASE.

    Without such an option, the backup decides what the database contains.
    """
    if cursor.token.upper.startswith("@"):
        return None
    name, start = cursor.name("a database's name"), cursor.at
    words = rest_of_statement(cursor)
    while cursor.is_words("MOVE") and cursor.peek(1).kind is TokenType.STRING:
        words += (cursor.next().upper, *rest_of_statement(cursor))
    found = _broker_options(cursor, words, start)
    options = tuple(option for option in found if option not in ACCESS_OPTIONS)
    return AlterDatabase(source, name, options) if options else None


def _broker_options(cursor: Cursor, words: tuple[str, ...], start: int) -> tuple[str, ...]:
    """Return the options that concern the broker among the words from ``start`` on."""
    options: list[str] = []
    depth = 0
    for n, word in enumerate(words, start + 1):
        mark = cursor.tokens[n - 1]
        depth += mark.is_mark("(") - mark.is_mark(")")
        # QUERY_STORE (OPERATION_MODE = READ_ONLY) does not concern the database's access.
        if word in BROKER_OPTIONS or (word in ACCESS_OPTIONS and depth == 0):
            options.append(word)
        elif word == HONOR_PRIORITY:
            if cursor.tokens[n].upper not in ("ON", "OFF"):
                cursor.fail("ON or OFF", cursor.tokens[n])
            options.append(f"{HONOR_PRIORITY} {cursor.tokens[n].upper}")
    return tuple(options)


def create_endpoint(cursor: Cursor, source: Source) -> Statement | None:
    """Parse CREATE ENDPOINT after its first two words."""
    return _endpoint(cursor, source, create=True)


def alter_endpoint(cursor: Cursor, source: Source) -> Statement | None:
    """Parse ALTER ENDPOINT after its first two words."""
    return _endpoint(cursor, source, create=False)


def _endpoint(cursor: Cursor, source: Source, *, create: bool) -> Statement | None:
    name = cursor.name("the endpoint's name")
    cursor.authorization()
    changes: dict[str, Any] = {}
    if cursor.accept("STATE"):
        cursor.expect_mark("=")
        changes["state"] = EndpointState(cursor.choice(s.name for s in EndpointState).lower())
    if cursor.accept("AS"):
        if cursor.is_words("HTTP"):  # for SOAP, in SQL Server 2005 to 2008 R2
            rest_of_statement(cursor)
            return None
        cursor.expect("TCP")
        changes.update(_listener(cursor))
    elif create:
        cursor.fail("AS TCP ( LISTENER_PORT = port )")
    if cursor.accept("FOR"):
        if not cursor.accept("SERVICE_BROKER"):
            if cursor.token.upper in ("TSQL", "DATABASE_MIRRORING", "DATA_MIRRORING", "SOAP"):
                rest_of_statement(cursor)
                return None
            cursor.fail("SERVICE_BROKER")
        changes.update(_options(cursor))
    elif create:
        cursor.fail("FOR SERVICE_BROKER ( ... )")
    return SetEndpoint(source, name, create, changes)


def _listener(cursor: Cursor) -> dict[str, int]:
    """Parse ( LISTENER_PORT = n [ [,] LISTENER_IP = ...] ); only the port is kept."""
    cursor.expect_mark("(")
    changes: dict[str, int] = {}
    while True:
        word = cursor.choice(("LISTENER_PORT", "LISTENER_IP"))
        cursor.expect_mark("=")
        if word == "LISTENER_PORT":
            at = cursor.token
            changes["port"] = cursor.integer("LISTENER_PORT")
            if not 0 < changes["port"] < 65536:
                cursor.fail("a port from 1 to 65535", at)
        else:
            _ip(cursor)
        if not cursor.accept_mark(",") and cursor.is_mark(")"):
            break
    cursor.expect_mark(")")
    return changes


def _ip(cursor: Cursor) -> None:
    if cursor.accept("ALL"):
        return
    if cursor.token.kind is TokenType.STRING:
        cursor.next()
        return
    cursor.expect_mark("(")
    while not cursor.accept_mark(")"):
        if batch_ends(cursor):
            cursor.fail("')'")
        cursor.next()


def _options(cursor: Cursor) -> dict[str, Any]:
    """Read the options FOR SERVICE_BROKER, named as the fields of an endpoint."""
    changes: dict[str, Any] = {}
    if not cursor.accept_mark("("):
        return changes
    while not cursor.accept_mark(")"):
        word = cursor.choice(_OPTIONS)
        cursor.expect_mark("=")
        changes.update(_OPTIONS[word](cursor))
        if not cursor.accept_mark(",") and not cursor.is_mark(")"):
            cursor.fail("',' or ')'")
    return changes


def _forwarding(cursor: Cursor) -> dict[str, Any]:
    return {"forwarding": cursor.choice(("ENABLED", "DISABLED")) == "ENABLED"}


def _forward_size(cursor: Cursor) -> dict[str, Any]:
    at = cursor.token
    size = cursor.integer("MESSAGE_FORWARD_SIZE")
    return {"forward_size_mb": size if size >= 1 else cursor.fail("megabytes, at least 1", at)}


def _authentication(cursor: Cursor) -> dict[str, Any]:
    return {"authentication": _words(cursor)}


def _encryption(cursor: Cursor) -> dict[str, Any]:
    level = Encryption(cursor.choice(e.name for e in Encryption).lower())
    algorithms = _words(cursor) if cursor.accept("ALGORITHM") else ()
    return {"encryption": level, "algorithms": algorithms}


_OPTIONS: Mapping[str, Callable[[Cursor], dict[str, Any]]] = {
    "AUTHENTICATION": _authentication,
    "ENCRYPTION": _encryption,
    "MESSAGE_FORWARDING": _forwarding,
    "MESSAGE_FORWARD_SIZE": _forward_size,
}


def _words(cursor: Cursor) -> tuple[str, ...]:
    """Consume the words up to the next option; a certificate's name is taken as written."""
    words: list[str] = []
    while not batch_ends(cursor) and not cursor.is_mark(",") and not cursor.is_mark(")"):
        token = cursor.next()
        named = words[-1:] == ["CERTIFICATE"]
        words.append(token.text if named else token.upper or token.text)
    return tuple(words) if words else cursor.fail("a value")
