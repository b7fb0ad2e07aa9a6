"""Track the values of variables through DECLARE, SET, SELECT and any other statement."""

from __future__ import annotations

from collections.abc import Sequence

from streams.topology.tsql.tokens import Token
from streams.topology.tsql.values import Known, Variables, between_commas, settled

_OPERATORS = frozenset("+-*/%&|^")
_READS_FROM_TABLES = frozenset({"FROM", "WHERE", "ORDER", "OPTION", "UNION"})
_OUTPUT = frozenset({"OUTPUT", "OUT"})


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
    forget(variables, tokens)
    return False


def forget(variables: Variables, tokens: Sequence[Token]) -> None:
    """Forget every variable that tokens may change: ``@x =``, ``@x +=``, ``@x OUTPUT``, INTO @x."""
    if not variables:
        return
    into = False
    for at, token in enumerate(tokens):
        if token.upper.startswith("@"):
            if into or _changes(tokens[at + 1 : at + 3]):
                variables.pop(token.text.casefold(), None)
        else:
            into = token.upper == "INTO" or (into and token.is_mark(","))


def _declare(variables: Variables, part: Sequence[Token]) -> None:
    if not part or not part[0].upper.startswith("@"):
        return
    at = next((n for n, token in enumerate(part) if token.is_mark("=")), None)
    value = None if at is None else settled(part[at + 1 :], variables)
    _put(variables, part[0], value)


def _assign_one(variables: Variables, part: Sequence[Token], known: bool) -> None:
    if len(part) < 2 or not part[0].upper.startswith("@"):
        return
    value: Known | None = None
    if known and part[1].is_mark("="):
        value = settled(part[2:], variables)
    elif known and part[1].is_mark("+") and len(part) > 3 and part[2].is_mark("="):
        value = settled((part[0], part[1], *part[3:]), variables)
    _put(variables, part[0], value)


def _changes(behind: Sequence[Token]) -> bool:
    if not behind:
        return False
    first = behind[0]
    compound = first.text in _OPERATORS and len(behind) > 1 and behind[1].is_mark("=")
    return first.is_mark("=") or first.upper in _OUTPUT or compound


def _put(variables: Variables, name: Token, value: Known | None) -> None:
    key = name.text.casefold()
    if value is None:
        variables.pop(key, None)
    else:
        variables[key] = value
