"""USE, CREATE and ALTER DATABASE, CREATE and ALTER ENDPOINT: what surrounds the broker's objects.

A parser here returns ``None`` where the statement concerns something else than Service Broker: a
database's files, an endpoint for mirroring. It is then read over like any other statement.
"""

from __future__ import annotations

from streams.topology.findings import Source
from streams.topology.model import EndpointState
from streams.topology.tsql.boundaries import batch_ends, nesting, rest_of_statement
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import (
    AlterDatabase,
    CreateDatabase,
    SetEndpoint,
    Statement,
    Use,
)
from streams.topology.tsql.tokens import Kind

BROKER_OPTIONS = ("ENABLE_BROKER", "DISABLE_BROKER", "NEW_BROKER", "ERROR_BROKER_CONVERSATIONS")
HONOR_PRIORITY = "HONOR_BROKER_PRIORITY"


def use(cursor: Cursor, source: Source) -> Statement:
    """Read USE from behind its word."""
    return Use(source, cursor.name("a database's name"))


def create_database(cursor: Cursor, source: Source) -> Statement | None:
    """Read CREATE DATABASE; a snapshot or an audit specification is no database of its own."""
    if cursor.is_words("AUDIT", "SPECIFICATION"):
        rest_of_statement(cursor)
        return None
    name = cursor.name("a database's name")
    snapshot = "SNAPSHOT" in rest_of_statement(cursor)
    return None if snapshot else CreateDatabase(source, name)


def alter_database(cursor: Cursor, source: Source) -> Statement | None:
    """Read ALTER DATABASE ... SET with an option of the broker; others are read over."""
    current = cursor.is_words("CURRENT")
    name = cursor.name("a database's name")
    sets, start = cursor.accept("SET"), cursor.at
    options: list[str] = []
    for n, word in enumerate(rest_of_statement(cursor), start + 1):
        if word in BROKER_OPTIONS:
            options.append(word)
        elif word == HONOR_PRIORITY:
            if cursor.tokens[n].upper not in ("ON", "OFF"):
                cursor.fail("ON or OFF", cursor.tokens[n])
            options.append(f"{HONOR_PRIORITY} {cursor.tokens[n].upper}")
    if not options or not sets:
        return None
    return AlterDatabase(source, None if current else name, tuple(options))


def create_endpoint(cursor: Cursor, source: Source) -> Statement | None:
    """Read CREATE ENDPOINT from behind its first two words."""
    return _endpoint(cursor, source, create=True)


def alter_endpoint(cursor: Cursor, source: Source) -> Statement | None:
    """Read ALTER ENDPOINT from behind its first two words."""
    return _endpoint(cursor, source, create=False)


def _endpoint(cursor: Cursor, source: Source, *, create: bool) -> Statement | None:
    name = cursor.name("the endpoint's name")
    cursor.authorization()
    state, port = None, None
    if cursor.accept("STATE"):
        cursor.expect_mark("=")
        state = EndpointState(cursor.choice(s.name for s in EndpointState).lower())
    if cursor.accept("AS"):
        cursor.expect("TCP")
        port = _listener(cursor)
    elif create:
        cursor.fail("AS TCP ( LISTENER_PORT = port )")
    if not cursor.accept("FOR"):
        if create:
            cursor.fail("FOR SERVICE_BROKER ( ... )")
        return SetEndpoint(source, name, create, state, port, None, None)
    if not cursor.accept("SERVICE_BROKER"):
        if cursor.token.upper in ("TSQL", "DATABASE_MIRRORING", "DATA_MIRRORING", "SOAP"):
            rest_of_statement(cursor)
            return None
        cursor.fail("SERVICE_BROKER")
    options = _options(cursor)
    forwarding = options.get("MESSAGE_FORWARDING")
    size = options.get("MESSAGE_FORWARD_SIZE")
    return SetEndpoint(
        source, name, create, state, port,
        None if forwarding is None else forwarding == "ENABLED",
        None if size is None else int(size),
    )  # fmt: skip


def _listener(cursor: Cursor) -> int | None:
    """Read ( LISTENER_PORT = n [, LISTENER_IP = ...] )."""
    cursor.expect_mark("(")
    port = None
    while True:
        if cursor.choice(("LISTENER_PORT", "LISTENER_IP")) == "LISTENER_PORT":
            cursor.expect_mark("=")
            at = cursor.token
            port = cursor.integer("LISTENER_PORT")
            if not 0 < port < 65536:
                cursor.fail("a port from 1 to 65535", at)
        else:
            cursor.expect_mark("=")
            _ip(cursor)
        if not cursor.accept_mark(","):
            break
    cursor.expect_mark(")")
    return port


def _ip(cursor: Cursor) -> None:
    if cursor.accept("ALL"):
        return
    if cursor.token.kind is Kind.STRING:
        cursor.next()
        return
    cursor.expect_mark("(")
    while not cursor.accept_mark(")"):
        if batch_ends(cursor):
            cursor.fail("')'")
        cursor.next()


def _options(cursor: Cursor) -> dict[str, str]:
    """Read the options FOR SERVICE_BROKER; authentication and encryption play no part here."""
    options: dict[str, str] = {}
    if not cursor.accept_mark("("):
        return options
    while not cursor.accept_mark(")"):
        word = cursor.choice(
            ("AUTHENTICATION", "ENCRYPTION", "MESSAGE_FORWARDING", "MESSAGE_FORWARD_SIZE")
        )
        cursor.expect_mark("=")
        if word == "MESSAGE_FORWARDING":
            options[word] = cursor.choice(("ENABLED", "DISABLED"))
        elif word == "MESSAGE_FORWARD_SIZE":
            at = cursor.token
            size = cursor.integer(word)
            if size < 1:
                cursor.fail("megabytes, at least 1", at)
            options[word] = str(size)
        else:
            _option_words(cursor)
        if not cursor.accept_mark(",") and not cursor.is_mark(")"):
            cursor.fail("',' or ')'")
    return options


def _option_words(cursor: Cursor) -> None:
    start = cursor.at
    depth = 0
    while not batch_ends(cursor):
        if depth == 0 and (cursor.is_mark(",") or cursor.is_mark(")")):
            break
        depth += nesting(cursor)
        cursor.next()
    if cursor.at == start:
        cursor.fail("a value")
