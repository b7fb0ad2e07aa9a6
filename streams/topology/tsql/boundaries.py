"""Where a statement ends: T-SQL does not ask for semicolons, so the next one's first word tells."""

from __future__ import annotations

from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.tokens import Kind

# fmt: off
STARTS = frozenset({
    "ALTER", "BACKUP", "BEGIN", "CHECKPOINT", "CLOSE", "COMMIT", "CREATE", "DBCC", "DEALLOCATE",
    "DECLARE", "DELETE", "DENY", "DROP", "ELSE", "END", "EXEC", "EXECUTE", "FETCH", "GET", "GOTO",
    "GRANT", "IF", "INSERT", "KILL", "MERGE", "MOVE", "OPEN", "PRINT", "RAISERROR", "RECEIVE",
    "RECONFIGURE", "RESTORE", "RETURN", "REVERT", "REVOKE", "ROLLBACK", "SAVE", "SELECT", "SEND",
    "SET", "THROW", "TRUNCATE", "UPDATE", "USE", "WAITFOR", "WHILE",
})
# fmt: on
"""The words with which a statement can begin."""


def batch_ends(cursor: Cursor) -> bool:
    """Tell whether nothing more belongs to this batch."""
    return cursor.token.kind in (Kind.END, Kind.GO, Kind.DIRECTIVE)


def statement_ends(cursor: Cursor) -> bool:
    """Tell whether a complete statement may end here."""
    return batch_ends(cursor) or cursor.is_mark(";") or cursor.token.upper in STARTS


def rest_of_statement(cursor: Cursor) -> tuple[str, ...]:
    """Take the words up to the end of a statement whose details are of no interest."""
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
    """Return what the next token adds to the depth of parentheses."""
    return 1 if cursor.is_mark("(") else -1 if cursor.is_mark(")") else 0
