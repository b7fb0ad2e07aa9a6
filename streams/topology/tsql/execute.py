"""Parse EXECUTE of a procedure, of a string, or of ``sp_executesql`` with a string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import Name
from streams.topology.tsql.tokens import Token, TokenType
from streams.topology.tsql.values import between_commas, settled

_TEXT_PARAMETERS = frozenset({"@STMT", "@STATEMENT"})


@dataclass(frozen=True, slots=True)
class Execution:
    """The effect of an EXECUTE, as far as its text shows.

    ``text``: statements to be read, in ``database`` if given; ``place``: the place of their string.
    ``call``: the procedure. ``why``: the part that is known only at run time.
    """

    text: str | None = None
    place: Token | None = None
    database: str | None = None
    call: Name | None = None
    why: str = ""


def execution(cursor: Cursor, tokens: Sequence[Token]) -> Execution | None:
    """Parse EXECUTE after its keyword; ``None`` for EXECUTE AS.

    ``tokens`` contains the statement's tokens after the keyword; the cursor is at the first of
    them.
    """
    if not tokens or tokens[0].upper == "AS":
        return None
    if tokens[0].is_mark("("):
        return _of_string(cursor, tokens)
    if len(tokens) > 2 and tokens[0].upper.startswith("@") and tokens[1].is_mark("="):
        tokens = tokens[2:]  # @result = procedure
    if tokens[0].upper.startswith("@"):
        named = settled(tokens[:1], cursor.variables)
        if named is None or not isinstance(named.value, str):
            return Execution(why=f"the procedure is named by {tokens[0].text}")
        return Execution(call=tuple(part.strip("[]") for part in named.value.split(".")))
    name, used = _name(tokens)
    if not name:
        return Execution(why="no procedure is named")
    if name[-1].casefold() == "sp_executesql":
        database = name[0] if len(name) == 3 else None
        if len(name) > 3:
            return Execution(why="it runs on another server")
        return _of_parameter(cursor, tokens[used:], database)
    return Execution(call=name)


def _of_string(cursor: Cursor, tokens: Sequence[Token]) -> Execution:
    depth = 0
    for at, token in enumerate(tokens):
        depth += token.is_mark("(") - token.is_mark(")")
        if depth == 0:
            if any(behind.upper == "AT" for behind in tokens[at + 1 :]):
                return Execution(why="it runs on another server")
            inner = tokens[1:at]
            return _text(cursor, between_commas(inner)[0] if inner else (), None)
    return Execution(why="its parenthesis is not closed")


def _of_parameter(cursor: Cursor, tokens: Sequence[Token], database: str | None) -> Execution:
    first = between_commas(tokens)[0]
    if len(first) > 1 and first[0].upper in _TEXT_PARAMETERS and first[1].is_mark("="):
        first = first[2:]
    return _text(cursor, first, database)


def _text(cursor: Cursor, tokens: Sequence[Token], database: str | None) -> Execution:
    budget = cursor.variables.budget
    known = settled(tokens, cursor.variables)
    if known is not None and isinstance(known.value, str):
        budget.spend(known.added)
    if budget.exhausted and (known is None or known.added):
        return Execution(why=f"variables and dynamic SQL add more than {budget.limit:,} characters")
    if known is not None and isinstance(known.value, str):
        return Execution(text=known.value, place=known.origin, database=database)
    return Execution(why="its text is known only at run time")


def _name(tokens: Sequence[Token]) -> tuple[Name, int]:
    """Return a dotted name, and the number of its tokens."""
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at].is_mark("."):
            parts.append("")  # database..procedure
            at += 1
            continue
        if tokens[at].kind not in (TokenType.WORD, TokenType.QUOTED):
            break
        parts.append(tokens[at].text)
        at += 1
        if at >= len(tokens) or not tokens[at].is_mark("."):
            break
        at += 1
    return tuple(parts), at
