"""Recognize conditions that only check whether an object exists."""

from __future__ import annotations

from collections.abc import Sequence

from streams.topology.tsql.tokens import Token

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
