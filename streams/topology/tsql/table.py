"""The supported statements: first words, parser and syntax of each.

A new statement needs a parser, a row here, and a row among the handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from streams.topology.findings import Source
from streams.topology.tsql import (
    parse_dialog,
    parse_drop,
    parse_notification,
    parse_priority,
    parse_queue,
    parse_route,
    parse_security,
    parse_server,
    parse_service,
)
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import Statement

Parser = Callable[[Cursor, Source], Statement | None]
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatementSyntax:
    """A supported statement: its parser, and its syntax for errors.

    A parser returns ``None`` if the statement does not concern Service Broker.
    """

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
_MESSAGE_TYPE = (
    "MESSAGE TYPE name [VALIDATION = NONE | EMPTY | WELL_FORMED_XML | "
    "VALID_XML WITH SCHEMA COLLECTION name]"
)
_BINDING = "WITH USER = name [, ANONYMOUS = ON | OFF]"
_PERMISSION = "SEND ON SERVICE::name TO user, or CONNECT ON ENDPOINT::name TO login"

TABLE: Mapping[Words, StatementSyntax] = {
    ("USE",): StatementSyntax(parse_server.use, "USE database"),
    ("CREATE", "DATABASE"): StatementSyntax(parse_server.create_database, "CREATE DATABASE name"),
    ("ALTER", "DATABASE"): StatementSyntax(
        parse_server.alter_database,
        "ALTER DATABASE name SET ENABLE_BROKER | DISABLE_BROKER | NEW_BROKER | "
        "ERROR_BROKER_CONVERSATIONS | HONOR_BROKER_PRIORITY ON | OFF",
    ),
    **{
        ("RESTORE", what): StatementSyntax(parse_server.restore, f"RESTORE {what} name FROM ...")
        for what in ("DATABASE", "LOG")
    },
    ("DROP", "DATABASE"): StatementSyntax(parse_drop.drop_database, "DROP DATABASE name [, ...]"),
    ("CREATE", "ENDPOINT"): StatementSyntax(parse_server.create_endpoint, f"CREATE {_ENDPOINT}"),
    ("ALTER", "ENDPOINT"): StatementSyntax(parse_server.alter_endpoint, f"ALTER {_ENDPOINT}"),
    ("DROP", "ENDPOINT"): StatementSyntax(parse_drop.drop_endpoint, "DROP ENDPOINT name"),
    ("CREATE", "ROUTE"): StatementSyntax(
        parse_route.create_route, f"CREATE ROUTE name WITH {_CLAUSES}"
    ),
    ("ALTER", "ROUTE"): StatementSyntax(
        parse_route.alter_route, f"ALTER ROUTE name WITH {_CLAUSES}"
    ),
    ("CREATE", "MESSAGE", "TYPE"): StatementSyntax(
        parse_service.create_message_type, f"CREATE {_MESSAGE_TYPE}"
    ),
    ("ALTER", "MESSAGE", "TYPE"): StatementSyntax(
        parse_service.alter_message_type, f"ALTER {_MESSAGE_TYPE}"
    ),
    ("CREATE", "XML", "SCHEMA", "COLLECTION"): StatementSyntax(
        parse_service.create_schema, "CREATE XML SCHEMA COLLECTION name AS '...'"
    ),
    ("CREATE", "CONTRACT"): StatementSyntax(
        parse_service.create_contract,
        "CREATE CONTRACT name (message_type SENT BY INITIATOR | TARGET | ANY [, ...])",
    ),
    ("CREATE", "QUEUE"): StatementSyntax(
        parse_queue.create_queue, f"CREATE QUEUE name [WITH {_QUEUE}]"
    ),
    ("ALTER", "QUEUE"): StatementSyntax(parse_queue.alter_queue, f"ALTER QUEUE name WITH {_QUEUE}"),
    ("CREATE", "SERVICE"): StatementSyntax(
        parse_service.create_service, "CREATE SERVICE name ON QUEUE name [(contract [, ...])]"
    ),
    ("ALTER", "SERVICE"): StatementSyntax(
        parse_service.alter_service,
        "ALTER SERVICE name [ON QUEUE name] [(ADD CONTRACT name | DROP CONTRACT name [, ...])]",
    ),
    ("CREATE", "BROKER", "PRIORITY"): StatementSyntax(
        parse_priority.create_priority, f"CREATE {_PRIORITY}"
    ),
    ("ALTER", "BROKER", "PRIORITY"): StatementSyntax(
        parse_priority.alter_priority, f"ALTER {_PRIORITY}"
    ),
    ("CREATE", "REMOTE", "SERVICE", "BINDING"): StatementSyntax(
        parse_security.create_binding,
        f"CREATE REMOTE SERVICE BINDING name TO SERVICE '...' {_BINDING}",
    ),
    ("ALTER", "REMOTE", "SERVICE", "BINDING"): StatementSyntax(
        parse_security.alter_binding, f"ALTER REMOTE SERVICE BINDING name {_BINDING}"
    ),
    ("CREATE", "CERTIFICATE"): StatementSyntax(
        parse_security.create_certificate,
        "CREATE CERTIFICATE name [AUTHORIZATION user] "
        "WITH SUBJECT = '...' [, START_DATE = '...'] [, EXPIRY_DATE = '...']",
    ),
    ("ALTER", "CERTIFICATE"): StatementSyntax(
        parse_security.alter_certificate,
        "ALTER CERTIFICATE name WITH ACTIVE FOR BEGIN_DIALOG = ON | OFF, "
        "WITH PRIVATE KEY (...), or REMOVE PRIVATE KEY",
    ),
    ("ALTER", "AUTHORIZATION"): StatementSyntax(
        parse_security.authorization, "ALTER AUTHORIZATION ON SERVICE::name TO user"
    ),
    **{
        (verb, "MASTER", "KEY"): StatementSyntax(
            partial(parse_security.master_key, exists=verb == "CREATE"), f"{verb} MASTER KEY"
        )
        for verb in ("CREATE", "DROP")
    },
    ("CREATE", "EVENT", "NOTIFICATION"): StatementSyntax(
        parse_notification.create_notification,
        "CREATE EVENT NOTIFICATION name ON DATABASE | QUEUE name FOR event [, ...] "
        "TO SERVICE '...', 'broker id' | 'current database'",
    ),
    ("DROP", "EVENT", "NOTIFICATION"): StatementSyntax(
        parse_notification.drop_notification,
        "DROP EVENT NOTIFICATION name [, ...] ON DATABASE | QUEUE name",
    ),
    **{
        (verb,): StatementSyntax(
            partial(parse_security.permission, verb=verb), f"{verb} {_PERMISSION}"
        )
        for verb in ("GRANT", "DENY", "REVOKE")
    },
    **{
        ("DROP", *what.split()): StatementSyntax(
            partial(parse_drop.drop_object, what=what), f"DROP {what} name"
        )
        for what in parse_drop.DROPPED
    },
}
"""Statements that declare objects; inside a procedure, they are not executed."""

_BEGIN = (
    "BEGIN DIALOG [CONVERSATION] @handle FROM SERVICE name TO SERVICE '...' "
    "[, 'broker id' | 'CURRENT DATABASE'] [ON CONTRACT name] [WITH ...]"
)
EVIDENCE: Mapping[Words, StatementSyntax] = {
    ("BEGIN", "DIALOG"): StatementSyntax(parse_dialog.begin_dialog, _BEGIN),
    ("END", "CONVERSATION"): StatementSyntax(
        parse_dialog.end_conversation, "END CONVERSATION @handle"
    ),
    ("SEND",): StatementSyntax(parse_dialog.send, "SEND ON CONVERSATION @handle ..."),
    ("RECEIVE",): StatementSyntax(parse_dialog.receive, "RECEIVE columns FROM queue"),
    ("GET", "CONVERSATION", "GROUP"): StatementSyntax(
        parse_dialog.get_group, "GET CONVERSATION GROUP @group FROM queue"
    ),
    ("WAITFOR",): StatementSyntax(
        parse_dialog.wait_for, "WAITFOR (RECEIVE ...) [, TIMEOUT milliseconds]"
    ),
}
"""Dialog statements in code, anywhere in a script."""

_ROWS = {**TABLE, **EVIDENCE}
_LENGTHS: Mapping[str, tuple[int, ...]] = {
    first: tuple(sorted({len(words) for words in _ROWS if words[0] == first}))
    for first in {words[0] for words in _ROWS}
}


def understood(cursor: Cursor) -> Words | None:
    """Return the row's key if a supported statement begins here."""
    lengths = _LENGTHS.get(cursor.token.upper)
    if lengths is None:
        return None
    for length in lengths:
        words = tuple(cursor.peek(n).upper for n in range(length))
        if words in _ROWS:
            return words
    return None


def row_of(words: Words) -> StatementSyntax:
    """Return the row of a key."""
    return _ROWS[words]
