"""CREATE and ALTER ROUTE (reference 1.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streams.topology.findings import Source
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import (
    AlterRoute,
    CreateRoute,
    RouteClauses,
    Statement,
)

_CLAUSES = {
    "SERVICE_NAME": "service",
    "BROKER_INSTANCE": "broker",
    "LIFETIME": "lifetime",
    "ADDRESS": "address",
    "MIRROR_ADDRESS": "mirror",
}


def create_route(cursor: Cursor, source: Source) -> Statement:
    """Parse CREATE ROUTE after its first two words."""
    name = cursor.dotted("the route's name")
    cursor.authorization()
    cursor.expect("WITH")
    clauses = _clauses(cursor, commas=True)
    if clauses.address is None:
        cursor.fail("the clause ADDRESS = 'next hop'")
    return CreateRoute(source, name, clauses)


def alter_route(cursor: Cursor, source: Source) -> Statement:
    """Parse ALTER ROUTE after its first two words; commas between clauses are optional."""
    name = cursor.dotted("the route's name")
    cursor.expect("WITH")
    return AlterRoute(source, name, _clauses(cursor, commas=False))


def _clauses(cursor: Cursor, *, commas: bool) -> RouteClauses:
    clauses = _clause(cursor, RouteClauses())
    while True:
        comma = cursor.accept_mark(",")
        more = cursor.token.upper in _CLAUSES
        if not comma and more and commas:
            cursor.fail("',' between two clauses")
        if not comma and not more:
            return clauses
        clauses = _clause(cursor, clauses)


def _clause(cursor: Cursor, clauses: RouteClauses) -> RouteClauses:
    word = cursor.token
    if word.upper not in _CLAUSES:
        cursor.fail(" or ".join(_CLAUSES))
    field = _CLAUSES[word.upper]
    if getattr(clauses, field) is not None:
        cursor.fail(f"{word.upper} only once")
    cursor.next()
    cursor.expect_mark("=")
    if field == "lifetime":
        return replace(clauses, lifetime=cursor.integer(word.upper))
    changed: dict[str, Any] = {field: cursor.string(word.upper)}
    return replace(clauses, **changed)
