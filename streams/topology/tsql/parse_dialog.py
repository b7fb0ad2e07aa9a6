"""BEGIN DIALOG, END CONVERSATION, RECEIVE and GET CONVERSATION GROUP in code.

A value is a literal, a known variable, or unknown; unknown values are listed in ``unresolved``.
"""

from __future__ import annotations

from streams.system_names import DEFAULT
from streams.topology.findings import Source
from streams.topology.procedures import BeginDialog
from streams.topology.tsql.boundaries import batch_ends, nesting, statement_ends
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.evidence import BeginsDialog, EndsConversation, Receives, Sends
from streams.topology.tsql.statements import Statement
from streams.topology.tsql.tokens import TokenType
from streams.topology.tsql.values import settled


def begin_dialog(cursor: Cursor, source: Source) -> Statement:
    """Parse BEGIN DIALOG [CONVERSATION] after its first two words."""
    cursor.accept("CONVERSATION")
    handle = _handle(cursor)
    unresolved: list[str] = []
    cursor.expect("FROM", "SERVICE")
    service = _value(cursor, "FROM SERVICE", unresolved)
    cursor.expect("TO", "SERVICE")
    to = _value(cursor, "TO SERVICE", unresolved)
    broker = None
    if cursor.accept_mark(","):
        broker = _value(cursor, "broker id", unresolved)
    contract: str | None = DEFAULT
    if cursor.accept("ON", "CONTRACT"):
        contract = _value(cursor, "ON CONTRACT", unresolved)
    related, encryption = _settings(cursor)
    dialog = BeginDialog(
        service, to, broker, contract, related, encryption is not False, tuple(unresolved),
        encryption is True, source=source,
    )  # fmt: skip
    return BeginsDialog(source, dialog, handle)


def _handle(cursor: Cursor) -> str:
    """Consume a handle; return its variable."""
    return cursor.next().upper


def _value(cursor: Cursor, what: str, unresolved: list[str]) -> str | None:
    """Consume a name or a string; ``None`` for an unknown variable."""
    token = cursor.token
    if token.upper.startswith("@"):
        known = settled((cursor.next(),), cursor.variables)
        if known is None or not isinstance(known.value, str):
            unresolved.append(what)
            return None
        return known.value
    if token.kind is TokenType.STRING:
        return cursor.next().text
    return cursor.name(f"{what}: a name, a string or a variable")


def _settings(cursor: Cursor) -> tuple[bool, bool | None]:
    """Parse WITH ...; return whether the dialog joins a group, and ENCRYPTION if it is written."""
    related: bool = False
    encryption: bool | None = None
    if not cursor.accept("WITH"):
        return related, encryption
    while True:
        word = cursor.choice(
            ("RELATED_CONVERSATION", "RELATED_CONVERSATION_GROUP", "LIFETIME", "ENCRYPTION")
        )
        cursor.expect_mark("=")
        if word == "ENCRYPTION":
            encryption = cursor.on_off()
        elif word == "LIFETIME":
            cursor.accept_mark("-")
            cursor.next()
        else:
            related = True
            cursor.next()
        if not cursor.accept_mark(",") and not cursor.token.upper.startswith(
            ("RELATED_", "LIFETIME", "ENCRYPTION")
        ):
            return related, encryption


def send(cursor: Cursor, source: Source) -> Statement | None:
    """Parse SEND after its word; ``None`` if it is written in another form."""
    if not cursor.accept("ON", "CONVERSATION"):
        return None
    several = cursor.accept_mark("(")
    handles = [_handle(cursor)]
    while several and cursor.accept_mark(","):
        handles.append(_handle(cursor))
    if several and not cursor.accept_mark(")"):
        return None
    kind: str | None = DEFAULT
    if cursor.accept("MESSAGE", "TYPE"):
        kind = _value(cursor, "MESSAGE TYPE", [])
    _expression(cursor)
    return Sends(source, tuple(handles), kind)


def end_conversation(cursor: Cursor, source: Source) -> Statement:
    """Parse END CONVERSATION; its error is ignored."""
    handle = _handle(cursor)
    _expression(cursor)
    return EndsConversation(source, handle)


def _expression(cursor: Cursor) -> None:
    depth = 0
    while not batch_ends(cursor) and (depth > 0 or not statement_ends(cursor)):
        depth += nesting(cursor)
        cursor.next()


def receive(cursor: Cursor, source: Source) -> Statement:
    """Parse RECEIVE after its keyword; the queue follows FROM."""
    depth = 0
    while not batch_ends(cursor):
        depth += nesting(cursor)
        if depth < 0 or cursor.is_mark(";"):
            break
        if cursor.next().upper == "FROM" and depth == 0:
            statement = Receives(source, cursor.dotted("the queue's name"))
            _clauses(cursor)
            return statement
    return cursor.fail("FROM and the queue's name")


def _clauses(cursor: Cursor) -> None:
    """Skip INTO and WHERE, up to the parenthesis of a WAITFOR."""
    depth = 0
    while not batch_ends(cursor) and (depth > 0 or not statement_ends(cursor)):
        if depth == 0 and cursor.is_mark(")"):
            return
        depth += nesting(cursor)
        cursor.next()


def get_group(cursor: Cursor, source: Source) -> Statement:
    """Parse GET CONVERSATION GROUP after its words."""
    cursor.next()  # the variable
    cursor.expect("FROM")
    return Receives(source, cursor.dotted("the queue's name"))


def wait_for(cursor: Cursor, source: Source) -> Statement | None:
    """Parse WAITFOR ( RECEIVE ... ), TIMEOUT n; ``None`` for a plain delay."""
    if not cursor.accept_mark("("):
        return None
    if cursor.accept("RECEIVE"):
        statement = receive(cursor, source)
    elif cursor.accept("GET", "CONVERSATION", "GROUP"):
        statement = get_group(cursor, source)
    else:
        return None
    cursor.expect_mark(")")
    if cursor.accept_mark(","):
        cursor.expect("TIMEOUT")
        cursor.accept_mark("-")
        cursor.next()
    return statement
