"""Track the values of variables through DECLARE, SET, SELECT and any other statement."""

from __future__ import annotations

from collections.abc import Sequence

from streams.topology.tsql.tokens import Token
from streams.topology.tsql.values import between_commas, settled
from streams.topology.tsql.variables import Known, Variables, changed_variables

_READS_FROM_TABLES = frozenset({"FROM", "WHERE", "ORDER", "OPTION", "UNION"})


def assign(variables: Variables, tokens: Sequence[Token]) -> bool:
    """Process one statement; return whether it only assigned variables."""
    word = tokens[0].upper
    if word == "DECLARE":
        for part in between_commas(tokens[1:]):
            _declare(variables, part)
        return True
    if word in ("SET", "SELECT") and len(tokens) > 1 and tokens[1].upper.startswith("@"):
        known = not any(token.upper in _READS_FROM_TABLES for token in tokens)
        for part in between_commas(tokens[1:]):
            _assign_one(variables, part, known)
        return True
    if variables:
        for at, _ in changed_variables(tokens):
            variables.put(tokens[at], None)
    return False


def _declare(variables: Variables, part: Sequence[Token]) -> None:
    if not part or not part[0].upper.startswith("@"):
        return
    at = next((n for n, token in enumerate(part) if token.is_mark("=")), None)
    value = None if at is None else settled(part[at + 1 :], variables)
    variables.put(part[0], value)


def _assign_one(variables: Variables, part: Sequence[Token], known: bool) -> None:
    if len(part) < 2 or not part[0].upper.startswith("@"):
        return
    value: Known | None = None
    if known and part[1].is_mark("="):
        value = settled(part[2:], variables)
    elif known and part[1].is_mark("+") and len(part) > 3 and part[2].is_mark("="):
        value = settled((part[0], part[1], *part[3:]), variables)
    variables.put(part[0], value)
