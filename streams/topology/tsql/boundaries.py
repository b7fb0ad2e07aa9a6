"""Find the end of a statement.

T-SQL does not require semicolons, so a statement ends before the first word of the next statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.parentheses import Parentheses
from streams.topology.tsql.tokens import Token, TokenType

# fmt: off
STARTS = frozenset({
    "ALTER", "BACKUP", "BEGIN", "CHECKPOINT", "CLOSE", "COMMIT", "CREATE", "DBCC", "DEALLOCATE",
    "DECLARE", "DELETE", "DENY", "DROP", "ELSE", "END", "EXEC", "EXECUTE", "FETCH", "GET", "GOTO",
    "GRANT", "IF", "INSERT", "KILL", "MERGE", "MOVE", "OPEN", "PRINT", "RAISERROR", "RECEIVE",
    "RECONFIGURE", "RESTORE", "RETURN", "REVERT", "REVOKE", "ROLLBACK", "SAVE", "SELECT", "SEND",
    "SET", "THROW", "TRUNCATE", "UPDATE", "USE", "WAITFOR", "WHILE",
})
"""Keywords that can begin a statement."""
_ANYWHERE = frozenset({
    "BEGIN", "COMMIT", "DECLARE", "ELSE", "END", "EXEC", "EXECUTE", "GOTO", "IF", "PRINT",
    "RAISERROR", "RETURN", "ROLLBACK", "SET", "WAITFOR", "WHILE",
})
"""Keywords that begin a statement even in the middle of a line."""
# fmt: on
_OBJECTS = frozenset({"ALTER", "CREATE", "DROP"})
_PERMISSIONS = frozenset({"DENY", "GRANT", "REVOKE"})
_WITH_SET = frozenset({"MERGE", "UPDATE"})

Understands = Callable[[Cursor], object]


def batch_ends(cursor: Cursor) -> bool:
    """Return whether the batch ends here."""
    return cursor.token.kind in (TokenType.END, TokenType.DIRECTIVE)


def statement_ends(cursor: Cursor) -> bool:
    """Return whether a complete statement may end here."""
    return batch_ends(cursor) or cursor.is_mark(";") or cursor.token.upper in STARTS


def rest_of_statement(cursor: Cursor) -> tuple[str, ...]:
    """Consume all words up to the end of a statement whose details are ignored."""
    words: list[str] = []
    depth = 0
    while not batch_ends(cursor):
        begins = cursor.token.first and cursor.token.upper in STARTS
        if depth <= 0 and (cursor.is_mark(";") or begins):
            break
        depth += nesting(cursor)
        words.append(cursor.next().upper)
    return tuple(words)


def nesting(cursor: Cursor) -> int:
    """Return by how much the next token changes the parenthesis depth."""
    return 1 if cursor.is_mark("(") else -1 if cursor.is_mark(")") else 0


def read_over(
    cursor: Cursor,
    start: int,
    understood: Understands,
    *,
    broken: bool = False,
    since: int | None = None,
) -> None:
    """Move to the end of the statement that began at ``start``, if the end can be found.

    ``understood`` returns whether a supported statement begins here; ``broken``: this statement is
    invalid, so its parentheses may also be wrong. ``since``: the position at which to start, by
    default the cursor.
    """
    tokens = cursor.tokens
    first = tokens[start]
    since = cursor.at if since is None else since
    at, depth, cases = since, 0, 0
    sets = first.upper in _WITH_SET
    while True:
        token = tokens[at]
        kind, word = token.kind, token.upper
        if word:
            if word == "CASE":
                cases += 1
            elif cases and word in ("ELSE", "END"):
                cases -= word == "END"
            elif word == "SET" and sets:
                sets = False
            elif word in STARTS and at > start and not tokens[at - 1].is_mark("."):
                cursor.at = at
                outside = depth <= 0 or broken or (word in _OBJECTS and token.first)
                if outside and (_begins(cursor, first) or _is_known(cursor, first, understood)):
                    return
            elif token.first and at > start and is_label(tokens, at):
                break
        elif kind is TokenType.MARK:
            text = token.text
            if text == "(":
                depth += 1
                known = None if broken else cursor.parentheses
                if known is not None and known.is_open(since, at):
                    cursor.at = known.next_end(at)
                    if not cursor.at:
                        read_over(cursor, start, understood, broken=True, since=since)
                    return
            elif text == ")":
                depth -= 1
            elif text == ";" and depth <= 0:
                break
        elif kind in (TokenType.END, TokenType.DIRECTIVE):
            if depth > 0 and not broken:  # an unclosed parenthesis must not hide a statement
                cursor.parentheses = Parentheses(tokens, _ends_any)
                read_over(cursor, start, understood, broken=True, since=since)
                return
            break
        at += 1
    cursor.at = at


def is_label(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a word is the target of a GOTO: followed by a single colon."""
    if tokens[at].upper in STARTS or tokens[at].kind is not TokenType.WORD:
        return False
    return tokens[at + 1].is_mark(":") and tokens[at + 2].text != ":"


def _ends_any(tokens: Sequence[Token], at: int) -> bool:
    """Return whether any statement ends before a token, even inside parentheses."""
    return tokens[at].first and (tokens[at].upper in _OBJECTS or is_label(tokens, at))


def _begins(cursor: Cursor, first: Token) -> bool:
    """Return whether a word that can begin a statement does so here."""
    word, behind = cursor.token.upper, cursor.peek(1).upper
    if word == "IF" and behind == "EXISTS" and first.upper in _OBJECTS:
        return False  # DROP TABLE IF EXISTS
    if cursor.token.first:
        return True
    if word not in _ANYWHERE or (first.upper in _PERMISSIONS and word not in ("ELSE", "END")):
        return False
    if word == "SET":
        return behind.startswith("@")
    # WITH EXECUTE AS OWNER is a clause; the statement EXECUTE AS begins a separate line.
    return word not in ("EXEC", "EXECUTE") or behind != "AS"


def _is_known(cursor: Cursor, first: Token, understood: Understands) -> bool:
    # GRANT CREATE ROUTE TO a user creates no route.
    return first.upper not in _PERMISSIONS and bool(understood(cursor))


def end_of_condition(cursor: Cursor) -> int:
    """Return the position at which the condition of IF or WHILE ends and its statement begins."""
    tokens = cursor.tokens
    at, depth, cases = cursor.at, 0, 0
    while tokens[at].kind not in (TokenType.END, TokenType.DIRECTIVE):
        token = tokens[at]
        word = token.upper
        if word == "CASE":
            cases += 1
        elif cases and word in ("ELSE", "END"):
            cases -= word == "END"
        elif token.kind is TokenType.MARK:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if token.text == ";" and depth <= 0:
                break
        elif word in STARTS and (depth <= 0 or (word in _OBJECTS and token.first)):
            asks = word == "UPDATE" and tokens[at + 1].text == "("  # a trigger's IF UPDATE
            if not asks:
                break
        at += 1
    return at
