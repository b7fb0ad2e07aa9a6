"""Keywords that structure code: BEGIN and END, IF, ELSE and WHILE, TRY and CATCH."""

from __future__ import annotations

from streams.topology.tsql.blocks import Blocks, Form
from streams.topology.tsql.boundaries import end_of_condition, read_over
from streams.topology.tsql.conditions import asks_the_catalog, comparison
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.endings import Endings
from streams.topology.tsql.table import understood

_NO_BLOCK = frozenset({"DIALOG", "CONVERSATION", "TRAN", "TRANSACTION", "DISTRIBUTED"})


def structures(cursor: Cursor, blocks: Blocks, endings: Endings) -> bool:
    """Consume a keyword that opens or closes a block or a branch; return whether there was one."""
    word = cursor.token.upper
    if word == "BEGIN":
        return _begin(cursor, blocks)
    if word == "END":
        return _end(cursor, blocks)
    if word in ("IF", "WHILE"):
        _condition(cursor, blocks, endings, word)
        return True
    if word == "ELSE":  # this is an ELSE without IF
        cursor.next()
        return True
    return False


def _begin(cursor: Cursor, blocks: Blocks) -> bool:
    behind = cursor.peek(1).upper
    if behind in _NO_BLOCK:
        return False
    cursor.next()
    if behind in ("TRY", "CATCH"):
        cursor.next()
        blocks.open(Form[behind])
        return True
    if cursor.accept("ATOMIC"):
        cursor.accept("WITH")
        read_over(cursor, cursor.at, understood)
    blocks.open(Form.BLOCK)
    return True


def _end(cursor: Cursor, blocks: Blocks) -> bool:
    if cursor.peek(1).upper == "CONVERSATION":
        return False
    cursor.next()
    tried = cursor.accept("TRY")
    if not tried:
        cursor.accept("CATCH")
    blocks.close()
    if tried and cursor.is_mark(";"):
        cursor.next()
    if not (tried and cursor.is_words("BEGIN", "CATCH")):
        blocks.completed(cursor)
    return True


def _condition(cursor: Cursor, blocks: Blocks, endings: Endings, word: str) -> None:
    source = cursor.source()
    cursor.next()
    start = cursor.at
    cursor.at = end_of_condition(cursor)
    condition = cursor.tokens[start : cursor.at]
    endings.names(condition)
    if word == "WHILE":
        # The assignments that follow may have run in an earlier iteration of the loop.
        cursor.variables.forget_from(cursor.tokens, cursor.at)
        blocks.open(Form.LOOP)
    else:
        known = asks_the_catalog(condition)
        blocks.open(Form.THEN, None if known else source, comparison(condition, endings.types))
