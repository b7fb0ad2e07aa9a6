"""Walk through a script: batch by batch, statement by statement, block by block."""

from __future__ import annotations

from collections.abc import Iterator

from streams.errors import InputError
from streams.topology.findings import Skipped, Source
from streams.topology.tsql.assign import assign
from streams.topology.tsql.blocks import Blocks
from streams.topology.tsql.boundaries import (
    STARTS,
    is_label,
    read_over,
    statement_ends,
)
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.endings import Endings
from streams.topology.tsql.evidence import BeginsDialog, Calls, EnterText, Evidence, LeaveText
from streams.topology.tsql.execute import Execution, execution
from streams.topology.tsql.lexer import Lexer
from streams.topology.tsql.modules import Module, module_begins, module_head, must_be_first
from streams.topology.tsql.sqlcmd import leads_elsewhere, without_login
from streams.topology.tsql.statements import MisplaceModule, Misread, Statement, Step, Use
from streams.topology.tsql.structure import structures
from streams.topology.tsql.table import TABLE, Words, row_of, understood
from streams.topology.tsql.tokens import GO_LINE, Reading, Token, TokenType
from streams.topology.tsql.variables import Budget, Variables

Item = Step | Skipped | Misread
_TWO_WORDS = frozenset({"ALTER", "BEGIN", "CREATE", "DROP", "END", "GET", "MOVE"})
_DEEPEST_TEXT = 32  # the engine's nesting limit


def statements(lexer: Lexer, outer: Walker | None = None) -> Iterator[Item]:
    """Yield a script's statements, in order; ``outer``: the walker of the enclosing EXECUTE.

    Unsupported statements are skipped and reported. An invalid supported statement or an unclosed
    token raises InputError, except in as-found reading.
    """
    walker: Walker | None = None
    budget = outer.budget if outer else Budget(len(lexer.text))
    for batch in lexer.batches():
        if isinstance(batch, InputError):
            yield from walker.end() if walker else ()
            walker = None
            yield misread(batch)
            continue
        cursor = Cursor(batch.tokens, lexer.file, lexer.reading)
        if walker is None:
            walker = Walker(cursor, lexer, budget, outer)
        else:
            walker.go_on(cursor)
        yield from walker.items()
        if not batch.goes_on:
            yield from walker.end()
            walker = None
    yield from lexer.unset


class Walker:
    """Read one batch; ``outer`` is the walker whose EXECUTE contains the batch's text."""

    def __init__(
        self, cursor: Cursor, lexer: Lexer, budget: Budget, outer: Walker | None = None
    ) -> None:
        self.cursor = cursor
        self.budget = budget
        cursor.variables = Variables(budget)
        self.remarks = lexer.remarks
        self.depth: int = outer.depth + 1 if outer else 0
        self.module: Module | None = outer.module if outer else None
        self.blocks: Blocks = Blocks(cursor.variables, outer.blocks if outer else None)
        self.endings = Endings()
        self._inherited = self.module
        self._lexer = lexer
        self._begun = self._is_refused = False

    def go_on(self, cursor: Cursor) -> None:
        """Continue with the next part of the batch, with the same variables and blocks."""
        cursor.variables = self.cursor.variables
        self.cursor = cursor

    def items(self) -> Iterator[Item]:
        """Yield the batch's statements, in order."""
        cursor = self.cursor
        while cursor.token.kind is not TokenType.END:
            if cursor.accept_mark(";"):
                continue
            if cursor.token.kind is not TokenType.DIRECTIVE:
                yield from self._misplaced()
                self._begun = True
            if not structures(cursor, self.blocks, self.endings):
                yield from self._statement()
                self.blocks.completed(cursor)

    def end(self) -> Iterator[Item]:
        """Yield the module that the batch defines, which is complete only at its end."""
        if self.module is not None and self.module is not self._inherited:
            define = self.module.define(system_types=self.endings.system_types)
            yield Step(f"CREATE {self.module.kind}", define, *self.blocks.under())

    def _misplaced(self) -> Iterator[Item]:
        """Yield the batch's first module with statements before it.

        A script without GO may be for a tool that separates batches differently. A module under
        a condition is a syntax error (156).
        """
        if not self._begun or self._is_refused or self.blocks.frames:
            return
        what = must_be_first(self.cursor)
        if what and (self.depth or GO_LINE.search(self._lexer.text)):
            self._is_refused = True
            yield Step("", MisplaceModule(self.cursor.source(), what))

    # --- Statements ------------------------------------------------------------------------------

    def _statement(self) -> Iterator[Item]:
        cursor, start = self.cursor, self.cursor.at
        if cursor.token.kind is TokenType.DIRECTIVE:
            yield self._directive()
        elif is_label(cursor.tokens, cursor.at):
            cursor.at += 2
            cursor.variables.forget_from(cursor.tokens, cursor.at)  # a GOTO may jump here
        elif self.module is None and module_begins(cursor):
            yield from self._head(start)
        elif cursor.token.upper in ("EXEC", "EXECUTE"):
            yield from self._execute(start)
        else:
            words = understood(cursor)
            if words is None:
                yield from self._other(start)
            else:
                yield from self._understood(words, start)

    def _directive(self) -> Skipped:
        source, text = self.cursor.source(), without_login(self.cursor.next().text)
        return Skipped(text, source.file, source.line, source.column, leads_elsewhere(text))

    def _head(self, start: int) -> Iterator[Item]:
        try:
            self.module = module_head(self.cursor)
            self.endings.begin_module()
        except InputError as error:
            yield self._misread(error, start)

    def _other(self, start: int) -> Iterator[Item]:
        """Skip an unsupported statement; track its assignments."""
        cursor = self.cursor
        cursor.next()
        read_over(cursor, start, understood)
        tokens = cursor.tokens[start : cursor.at]
        self.endings.observe(tokens)
        if self.module is not None and [t.upper for t in tokens[:2]] == ["EXTERNAL", "NAME"]:
            self.module.body.external = True
        assigned = assign(cursor.variables, tokens)
        if not assigned and self.module is None:
            yield self._skipped(start)

    def _understood(self, words: Words, start: int) -> Iterator[Item]:
        cursor, source = self.cursor, self.cursor.source()
        declares = words in TABLE
        idle = self._idle() if declares else ""
        if idle:
            cursor.next()
            read_over(cursor, start, understood)
            yield self._skipped(start, f"{' '.join(words)} in {idle}")
            return
        row = row_of(words)
        cursor.at += len(words)
        cursor.syntax = row.syntax
        try:
            statement = row.parse(cursor, source)
            if statement is not None and not statement_ends(cursor):
                cursor.fail("';' or the next statement")
        except InputError as error:
            yield self._misread(error, start)
            return
        if statement is None:
            read_over(cursor, start, understood)
            self.endings.observe(cursor.tokens[start : cursor.at])
            if self.module is None:
                yield self._skipped(start)
            return
        if not declares:
            tokens = cursor.tokens[start : cursor.at]
            self.endings.observe(tokens)
            statement = self.endings.related(statement, self.blocks)
            assign(cursor.variables, tokens)
        yield from self._found(" ".join(words), statement)

    def _idle(self) -> str:
        """Return why declarations here are not applied; "" if they are applied."""
        return self.blocks.dead() if self.module is None else f"a {self.module.kind.lower()}"

    def _found(self, kind: str, statement: Statement) -> Iterator[Item]:
        if isinstance(statement, Evidence):
            if isinstance(statement, BeginsDialog) and statement.dialog.unresolved:
                source, clauses = statement.source, ", ".join(statement.dialog.unresolved)
                why = f"known only at run time: {clauses}"
                yield Skipped("BEGIN DIALOG", source.file, source.line, source.column, why)
            if self.module is not None:
                self.module.body.add(statement)
            else:
                yield Step(kind, statement)
            return
        if not isinstance(statement, Use):
            for source in self.blocks.unknown():
                why = "its condition is unknown; the guarded statements are applied if possible"
                yield Skipped("IF", source.file, source.line, source.column, why)
        yield Step(kind, statement, *self.blocks.under())

    # --- EXECUTE ---------------------------------------------------------------------------------

    def _execute(self, start: int) -> Iterator[Item]:
        cursor, source = self.cursor, self.cursor.source()
        cursor.next()
        behind = cursor.at
        read_over(cursor, start, understood)
        end, tokens = cursor.at, cursor.tokens[behind : cursor.at]
        cursor.at = behind
        found = execution(cursor, tokens)
        cursor.at = end
        self.endings.observe(cursor.tokens[start:end])
        if found is not None and found.call is None:  # dynamic SQL, which may name anything
            self.endings.system_types = True
        if found is None:
            if self.module is None:
                yield self._skipped(start)
        elif found.call is not None:
            yield from self._found("EXECUTE", Calls(source, found.call))
        elif found.text is not None and self.depth < _DEEPEST_TEXT:
            yield from self._text(found)
        else:
            why = found.why or "it is nested too deeply"
            yield Skipped("EXECUTE", source.file, source.line, source.column, why)
        assign(cursor.variables, cursor.tokens[start:end])

    def _text(self, found: Execution) -> Iterator[Item]:
        """Read the statements in a string as if they were written in place of the EXECUTE."""
        assert found.text is not None and found.place is not None
        place = found.place
        source = Source(self.cursor.file, place.line, place.column)
        inside = self.module is not None
        if not inside:
            yield Step("EXECUTE", EnterText(source, found.database))
        lexer = Lexer(found.text, source.file, self.cursor.reading, (place.line, place.column))
        lexer.remarks = self.remarks
        yield from statements(lexer, self)
        if not inside:
            yield Step("", LeaveText(source))

    # --- Notes ----------------------------------------------------------------

    def _misread(self, error: InputError, start: int) -> Misread:
        cursor = self.cursor
        if cursor.reading is Reading.STRICT:
            raise error
        cursor.at = start + 1
        read_over(cursor, start, understood, broken=True)
        return misread(error)

    def _skipped(self, start: int, kind: str = "") -> Skipped:
        first = self.cursor.tokens[start]
        kind = kind or _kind(first, self.cursor.tokens[start + 1])
        return Skipped(kind, self.cursor.file, first.line, first.column)


def misread(error: InputError) -> Misread:
    """Turn an error into a note about a statement or a batch."""
    source = Source(error.file, error.line, error.column)
    return Misread(source, error.message, error.remedy)


def _kind(first: Token, second: Token) -> str:
    kind = first.upper or str(first)
    if kind in _TWO_WORDS and second.upper and not (second.first and second.upper in STARTS):
        return f"{kind} {second.upper}"
    return kind
