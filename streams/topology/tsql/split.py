"""Cut a script into statements, batch by batch.

What nobody here understands is read over and reported as skipped; an understood statement that is
wrong is an error with its place, or in as-found reading something to be said.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.errors import InputError
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.lexer import Lexer
from streams.topology.tsql.walk import Item, Walker, misread


def statements(lexer: Lexer) -> Iterator[Item]:
    """Yield what a script says, in order.

    Strict reading raises InputError where an understood statement is wrong or a token never ends;
    as-found reading raises nothing.
    """
    for batch in lexer.batches():
        if isinstance(batch, InputError):
            yield misread(batch)
        else:
            yield from Walker(Cursor(batch, lexer.file, lexer.reading)).items()
    yield from lexer.unset
