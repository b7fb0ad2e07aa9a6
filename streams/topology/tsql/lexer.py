"""Split a T-SQL script into batches of tokens with places.

The lexer reads one batch at a time, and a very long batch in parts, so that the tokens of a script
of 50 MB are never all in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streams.errors import InputError
from streams.topology.findings import Skipped
from streams.topology.tsql.sqlcmd import NO_VARIABLES, SqlcmdVariables
from streams.topology.tsql.tokens import (
    CLOSES,
    COMMENT_EDGE,
    GO_LINE,
    LINE,
    NEW_LINE,
    OPENS,
    PATTERNS,
    REMARKS,
    Reading,
    Token,
    TokenType,
    content,
)

_PART = 200_000  # tokens, about 40 MB of memory
_MOST_UNCLOSED = 20
"""Maximum number of comments and brackets without end; each search reads the rest of the script."""
_PART_STARTS = frozenset({"DECLARE", "DELETE", "INSERT", "PRINT", "SELECT", "UPDATE"})
_WORD, _MARK = TokenType.WORD, TokenType.MARK
_new = tuple.__new__
_NAMES = frozenset({"bracket", "quote", "curved_quote"})
_TEXTS = frozenset({"string", "curved", "half"})


@dataclass(slots=True)
class Remark:
    """Unusual text that was accepted: its kind, its count, and its first place."""

    message: str
    file: str
    line: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """The tokens of a batch, with END last; ``goes_on``: another part of the batch follows."""

    tokens: tuple[Token, ...]
    goes_on: bool = False


class Lexer:
    """The batches of one script.

    ``place``: the place of the text, if it is a string in a script; there, GO does not separate
    batches. ``unset`` collects uses of unset sqlcmd variables, and ``remarks`` unusual text.
    """

    def __init__(
        self,
        text: str,
        file: str,
        reading: Reading = Reading.STRICT,
        place: tuple[int, int] | None = None,
        variables: Mapping[str, str] = NO_VARIABLES,
    ) -> None:
        self.text, self.file, self.reading, self.place = text, file, reading, place
        self.remarks: dict[str, Remark] = {}
        self.unset: list[Skipped] = []
        self._match = PATTERNS[reading].match
        self._variables = SqlcmdVariables(len(text), variables)
        self._substitutes = place is None and "$(" in text
        self._at, self._line, self._start = 0, 1, 0
        self._upper: dict[str, str] = {}
        self._doubtful: bool | None = None
        self._part = _PART
        self._unclosed = 0

    def batches(self) -> Iterator[Batch | InputError]:
        """Yield each batch; in as-found reading, yield an error in place of an invalid batch.

        Strict reading raises the error instead. In both cases, the error is raised if the variables
        make the script too large.
        """
        while True:
            tokens: list[Token] = []
            try:
                end = self._batch(tokens)
            except InputError as error:
                if self.reading is Reading.STRICT or self._variables.exhausted:
                    raise
                self._resume()
                yield error
                continue
            goes_on = end is TokenType.WORD
            if len(tokens) > 1 or not goes_on:
                yield Batch(tuple(tokens), goes_on)
            if end is TokenType.END:
                return
            self._part = _PART

    def _batch(self, tokens: list[Token]) -> TokenType:
        """Read up to the next GO, the end, or the word at which the next part starts.

        This function is long because every line runs ten million times, so frequent steps are
        inlined.
        """
        text, match_at, add = self.text, self._match, tokens.append
        uppers, place, substitutes = self._upper, self.place, self._substitutes
        first = True
        while True:
            match = match_at(text, self._at)
            if match is None:
                self._at = len(text)
                self._add(tokens, TokenType.END, "", len(text), False)
                return TokenType.END
            group, start = match.lastgroup, match.start(match.lastindex or 0)
            if first and place is None and text[start] in "gG:!":
                line = LINE.match(text, start)
                if line is not None:
                    self._at = line.end()
                    if line["go"]:
                        self._add(tokens, TokenType.END, "", start, True)
                        return TokenType.GO
                    self._directive(tokens, line[0].strip(), start)
                    continue
            self._at = match.end()
            if group == "newline":
                self._line += 1
                self._start = self._at
                first = True
            elif group == "word" and not substitutes:
                raw = text[start : self._at]
                upper = uppers.get(raw)
                if upper is None:
                    upper = uppers[raw] = raw.upper()
                line_column = place or (self._line, start - self._start + 1)
                if first and len(tokens) >= self._part and self._part_ends(upper, tokens):
                    self._at = start
                    self._add(tokens, TokenType.END, "", start, False)
                    return TokenType.WORD
                add(_new(Token, (_WORD, raw, *line_column, upper, first)))
                first = False
            elif group == "mark" and text[start] not in OPENS:
                line_column = place or (self._line, start - self._start + 1)
                add(_new(Token, (_MARK, text[start], *line_column, "", first)))
                first = False
            elif group == "block":
                self._comment(start)
            elif group in ("comment", "dash", "invisible"):
                self._remark(group)
            else:
                self._token(tokens, match, start, first)
                first = False

    def _part_ends(self, upper: str, tokens: list[Token]) -> bool:
        """Return whether a long batch may be split before a word that begins a statement."""
        if upper not in _PART_STARTS:
            return False
        marks = [token.text for token in tokens if token.kind is TokenType.MARK]
        level = marks.count("(") <= marks.count(")")
        if not level:
            self._part *= 2  # check again much later, so that checks stay cheap
        return level

    def _token(self, tokens: list[Token], match: re.Match[str], start: int, first: bool) -> None:
        group, raw = str(match.lastgroup), self.text[start : self._at]
        if group == "mark":
            raise self._never_ends(start)
        if group in _TEXTS or group in _NAMES:
            line, column = self._line, start - self._start + 1
            self._count_lines(raw, start)
            kind = TokenType.QUOTED if group in _NAMES else TokenType.STRING
            self._remark(group)
            text = self._put_variables(content(raw, group), line, column)
            place = self.place or (line, column)
            tokens.append(Token(kind, text, *place, first=first))
        elif group == "word" and "$(" in raw:
            self._substituted(tokens, raw, start, first)
        elif group == "word":
            self._add(tokens, TokenType.WORD, raw, start, first, raw.upper())
        else:
            self._add(tokens, TokenType.NUMBER, raw, start, first)

    def _add(
        self, to: list[Token], kind: TokenType, text: str, start: int, first: bool, upper: str = ""
    ) -> None:
        place = self.place or (self._line, start - self._start + 1)
        to.append(Token(kind, text, *place, upper, first))

    # --- sqlcmd ----------------------------------------------------------------------------------

    def _directive(self, tokens: list[Token], text: str, start: int) -> None:
        if not self._variables.set(text):
            self._add(tokens, TokenType.DIRECTIVE, text, start, True)

    def _put_variables(self, text: str, line: int, column: int) -> str:
        if not self._substitutes or "$(" not in text:
            return text
        put, unknown = self._variables.put_into(text, (self.file, line, column))
        for name in unknown:
            why = "this sqlcmd variable is not set"
            self.unset.append(Skipped(f"$({name})", self.file, line, column, why))
        return put

    def _substituted(self, tokens: list[Token], raw: str, start: int, first: bool) -> None:
        """Add the tokens of a word after replacing its variables, all at the word's place."""
        line, column = self.place or (self._line, start - self._start + 1)
        text = self._put_variables(raw, line, column)
        if text == raw:
            tokens.append(Token(TokenType.WORD, raw, line, column, raw.upper(), first))
            return
        inner = Lexer(text, self.file, Reading.STRICT, (line, column))
        for found in inner.batches():
            assert not isinstance(found, InputError), "strict reading raises it"
            for token in found.tokens[:-1]:
                tokens.append(token._replace(first=first))
                first = False

    # --- Places, and unclosed tokens -------------------------------------------------------------

    def _count_lines(self, raw: str, start: int) -> None:
        """Count the lines of a token; raise InputError if it is probably an unclosed string."""
        if "\n" not in raw and "\r" not in raw:
            return
        if self.reading is Reading.AS_FOUND and GO_LINE.search(raw) and self._is_doubtful():
            raise self._never_ends(start)
        for end in NEW_LINE.finditer(raw):
            self._line += 1
            self._start = start + end.end()

    def _is_doubtful(self) -> bool:
        """Return whether any string in this script is not closed.

        If so, the likely cause is a string that spans a GO, because a missing quote inverts all
        later quotes. Without this check, only the last string would be reported.
        """
        if self._doubtful is None:
            rest = Lexer(self.text[self._at :], self.file, self.reading)
            rest._doubtful = rest._substitutes = False
            self._doubtful = any(isinstance(found, InputError) for found in rest.batches())
        return self._doubtful

    def _comment(self, start: int) -> None:
        """Skip a block comment; T-SQL nests them."""
        depth, at = 1, start + 2
        while depth:
            edge = COMMENT_EDGE.search(self.text, at)
            if edge is None:
                raise self._never_ends(start)
            depth += 1 if edge[0] == "/*" else -1
            at = edge.end()
        for end in NEW_LINE.finditer(self.text, start, at):
            self._line += 1
            self._start = end.end()
        self._at = at

    def _never_ends(self, start: int) -> InputError:
        line, column = self.place or (self._line, start - self._start + 1)
        mark = self.text[start].replace("n", "'").replace("N", "'")
        what, remedy = "a comment", "Close it with */; comments nest."
        if mark in OPENS:
            what = OPENS[mark]
            remedy = f"Close it with {CLOSES[mark]}; inside it, {CLOSES[mark]} is written twice."
        self._at = start
        message = f"{what} begins here and is not closed"
        self._unclosed += mark in "[/"
        if self._unclosed > _MOST_UNCLOSED:
            message += f", like {_MOST_UNCLOSED} others; the rest of the script is not read"
        return InputError(message, file=self.file, line=line, column=column, remedy=remedy)

    def _resume(self) -> None:
        """After an error, continue after the next GO."""
        self._doubtful = True
        stops = self.place or self._unclosed > _MOST_UNCLOSED
        found = None if stops else GO_LINE.search(self.text, self._at)
        end = len(self.text) if found is None else found.end()
        for line in NEW_LINE.finditer(self.text, self._at, end):
            self._line += 1
            self._start = line.end()
        self._at = end

    def _remark(self, group: str) -> None:
        message = REMARKS.get(group)
        if message is None:
            return
        known = self.remarks.setdefault(message, Remark(message, self.file, self._line, 0))
        known.count += 1
