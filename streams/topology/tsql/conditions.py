"""Recognize conditions: those that only check whether an object exists, and comparisons."""

from __future__ import annotations

from collections.abc import Container, Sequence

from streams.topology.procedures import Comparison
from streams.topology.tsql.tokens import Token, TokenType

_CATALOGS = frozenset({"SYS", "INFORMATION_SCHEMA"})


def asks_the_catalog(condition: Sequence[Token]) -> bool:
    """Return whether a condition only queries the catalog, so that a script can be run again.

    Examples are ``IF EXISTS (SELECT * FROM sys.routes ...)`` and ``IF OBJECT_ID('Q') IS NULL``; the
    views of SQL Server 2000 also count. Any other condition may depend on data.
    """
    for token in condition:
        word = token.upper or token.text.upper()
        if word in _CATALOGS or word.startswith("SYS") or word.endswith("_ID"):
            return True
    return False


_OTHER_WORDS = frozenset({"EXISTS", "LIKE", "NOT", "SELECT"})
_OTHER_MARKS = frozenset({"<", ">", "!"})


def comparison(condition: Sequence[Token], types: Container[str]) -> Comparison | None:
    """Return the texts of which one must be equal to something for the condition to be true.

    Examples are ``@type = N'Order'`` and ``@type IN ('Order', 'Reply')``. The result is ``None`` if
    the condition may be true without such a comparison. ``types``: the variables that contain the
    types of received messages.
    """
    found: list[str] = []
    text, typed, all_typed = False, False, True
    for token in condition:
        mark = token.text if token.kind is TokenType.MARK else ""
        if token.upper in _OTHER_WORDS or mark in _OTHER_MARKS:
            return None
        if token.upper == "OR":
            if not text:
                return None
            all_typed, text, typed = all_typed and typed, False, False
        elif token.kind is TokenType.STRING:
            found.append(token.text)
            text = True
        elif token.upper in types:
            typed = True
    return Comparison(tuple(found), all_typed and typed) if text else None
