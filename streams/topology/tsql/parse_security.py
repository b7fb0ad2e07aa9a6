"""CERTIFICATE, REMOTE SERVICE BINDING, GRANT, DENY and REVOKE (reference 4.14)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from streams.topology.findings import Source
from streams.topology.security import PrivateKey, Securable
from streams.topology.tsql.boundaries import batch_ends, nesting, statement_ends
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import (
    SetBinding,
    SetCertificate,
    SetMasterKey,
    SetOwner,
    SetPermission,
    Statement,
)

_CLAUSES = {"SUBJECT": "subject", "START_DATE": "starts", "EXPIRY_DATE": "expires"}
_DATES = (
    "%Y%m%d", "%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%m-%d-%Y", "%d.%m.%Y",
    "%b %d %Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%m/%d/%y",
)  # fmt: skip
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M:%S", "T%H:%M:%S.%f", "T%H:%M:%SZ")
_OWNED = ("SERVICE", "CERTIFICATE")
_PERMISSIONS = {
    "SERVICE": (Securable.SERVICE, ("SEND", "CONTROL"), "a service's name"),
    "ENDPOINT": (Securable.ENDPOINT, ("CONNECT", "CONTROL"), "an endpoint's name"),
}
"""The permissions for dialogs by kind of object; CONTROL implies the first one."""
_AFTER = frozenset({"ON", "TO", "FROM"})


def create_certificate(cursor: Cursor, source: Source) -> Statement:
    """Read CREATE CERTIFICATE; keep the owner, the subject, the dates, and how the key is stored.

    A certificate from a file has no private key, unless the statement also names the key's file.
    """
    name = cursor.dotted("the certificate's name")
    user = cursor.authorization()
    key = PrivateKey.ABSENT if cursor.is_words("FROM") else PrivateKey.MASTER_KEY
    fields = {"user": user, "private_key": key, **_certificate_fields(cursor)}
    return SetCertificate(source, name, True, fields)


def alter_certificate(cursor: Cursor, source: Source) -> Statement:
    """Read ALTER CERTIFICATE: the private key, and ACTIVE FOR BEGIN_DIALOG."""
    name = cursor.dotted("the certificate's name")
    return SetCertificate(source, name, False, _certificate_fields(cursor))


def _certificate_fields(cursor: Cursor) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    depth = 0
    while not batch_ends(cursor) and (depth > 0 or not statement_ends(cursor)):
        token = cursor.token
        if cursor.accept("REMOVE", "PRIVATE", "KEY"):
            fields["private_key"] = PrivateKey.ABSENT
        elif cursor.accept("PRIVATE", "KEY"):
            fields["private_key"] = PrivateKey.MASTER_KEY
        elif cursor.accept("ENCRYPTION", "BY", "PASSWORD"):
            fields["private_key"] = PrivateKey.PASSWORD
        elif cursor.accept("ACTIVE", "FOR", "BEGIN_DIALOG"):
            cursor.expect_mark("=")
            fields["active"] = cursor.on_off()
        else:
            depth += nesting(cursor)
            cursor.next()
            if depth == 0 and token.upper in _CLAUSES and cursor.accept_mark("="):
                fields[_CLAUSES[token.upper]] = _certificate_clause(cursor, token.upper)
    return fields


def _certificate_clause(cursor: Cursor, word: str) -> str | float:
    at = cursor.token
    text = cursor.string(word)
    if word == "SUBJECT":
        return text
    instant = instant_of(text)
    return cursor.fail("a date such as '20301231'", at) if instant is None else instant


def instant_of(text: str) -> float | None:
    """Return a date in one of SQL Server's forms as epoch seconds in UTC; ``None`` if invalid.

    If day and month are ambiguous, the month comes first, as in the engine's default.
    """
    plain = " ".join(text.split())
    for date in _DATES:
        for time in _TIMES:
            try:
                return datetime.strptime(plain, date + time).replace(tzinfo=UTC).timestamp()
            except (ValueError, OverflowError):
                continue
    return None


def master_key(cursor: Cursor, source: Source, exists: bool) -> Statement:
    """Parse CREATE MASTER KEY and DROP MASTER KEY; the password is ignored."""
    while not statement_ends(cursor):
        cursor.next()
    return SetMasterKey(source, exists)


def authorization(cursor: Cursor, source: Source) -> Statement | None:
    """Parse ALTER AUTHORIZATION ON SERVICE or CERTIFICATE; ``None`` for other objects."""
    cursor.expect("ON")
    what = cursor.token.upper
    if what not in _OWNED:
        return None
    cursor.next()
    cursor.expect_mark(":")
    cursor.expect_mark(":")
    name = cursor.name(f"the {what.lower()}'s name")
    cursor.expect("TO")
    return SetOwner(source, what.lower(), name, cursor.name("the new owner"))


def create_binding(cursor: Cursor, source: Source) -> Statement:
    """Parse CREATE REMOTE SERVICE BINDING after its first words."""
    name = cursor.dotted("the binding's name")
    cursor.authorization()
    cursor.expect("TO", "SERVICE")
    service = cursor.string("the remote service's name")
    changes = _binding_settings(cursor)
    if "user" not in changes:
        cursor.fail("USER = name")
    return SetBinding(source, name, True, {"service": service, **changes})


def alter_binding(cursor: Cursor, source: Source) -> Statement:
    """Parse ALTER REMOTE SERVICE BINDING after its first words."""
    name = cursor.dotted("the binding's name")
    return SetBinding(source, name, False, _binding_settings(cursor))


def _binding_settings(cursor: Cursor) -> dict[str, Any]:
    cursor.expect("WITH")
    changes: dict[str, Any] = {}
    while True:
        word = cursor.choice(("USER", "ANONYMOUS"))
        cursor.expect_mark("=")
        if word == "USER":
            changes["user"] = cursor.name("a user")
        else:
            changes["anonymous"] = cursor.on_off()
        if not cursor.accept_mark(","):
            return changes


def permission(cursor: Cursor, source: Source, verb: str) -> Statement | None:
    """Parse GRANT, DENY or REVOKE of permissions for dialogs; ``None`` for other permissions."""
    if verb == "REVOKE":
        cursor.accept("GRANT", "OPTION", "FOR")
    listed = _listed(cursor)
    row = _PERMISSIONS.get(cursor.token.upper)
    if row is None:
        return None
    securable, permissions, what = row
    permitted = next((word for word in permissions if word in listed), None)
    table = permitted == "CONTROL" and not cursor.peek(1).is_mark(":")
    if permitted is None or table:  # CONTROL is also a permission on a table named SERVICE
        return None
    cursor.next()
    return _permission(cursor, source, verb, permitted, securable, what)


def _listed(cursor: Cursor) -> set[str]:
    """Consume the permissions, and the ON that may follow; return their words."""
    found = set()
    while not (batch_ends(cursor) or cursor.is_mark(";") or cursor.token.upper in _AFTER):
        found.add(cursor.next().upper)
    cursor.accept("ON")
    return found


def _permission(
    cursor: Cursor, source: Source, verb: str, permitted: str, securable: Securable, what: str
) -> Statement:
    cursor.expect_mark(":")
    cursor.expect_mark(":")
    name = cursor.name(what)
    cursor.choice(("TO", "FROM") if verb == "REVOKE" else ("TO",))
    principals = tuple(p[-1] for p in cursor.names("a user, role or login"))
    if cursor.accept("WITH"):
        cursor.expect("GRANT", "OPTION")
    cursor.accept("CASCADE")
    if cursor.accept("AS"):
        cursor.name("a user, role or login")
    return SetPermission(source, verb, permitted, securable, name, principals)
