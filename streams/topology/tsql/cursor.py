"""Walk through tokens; errors state exactly which token was expected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from streams.errors import InputError
from streams.prose import clipped
from streams.topology.findings import Source
from streams.topology.tsql.parentheses import Parentheses
from streams.topology.tsql.statements import Name
from streams.topology.tsql.tokens import Reading, Token, TokenType
from streams.topology.tsql.variables import Budget, Variables

_DIGITS = 38
"""Maximum number of digits of a number in SQL Server."""
_SYSNAME = 128
"""Maximum number of characters of a name."""


class Cursor:
    """A position in the tokens of one batch. ``syntax`` is the remedy of all errors here.

    ``variables``: the values known at this position (:mod:`streams.topology.tsql.variables`);
    ``parentheses``: set if one of the batch's parentheses is not closed.
    """

    def __init__(
        self, tokens: tuple[Token, ...], file: str, reading: Reading = Reading.STRICT
    ) -> None:
        self.tokens = tokens
        self.file = file
        self.reading = reading
        self.at = 0
        self.syntax = ""
        self.parentheses: Parentheses | None = None
        self.variables = Variables(Budget(0))

    @property
    def token(self) -> Token:
        """Return the next token."""
        return self.tokens[self.at]

    def peek(self, ahead: int) -> Token:
        """Return the token ``ahead`` places later, or the last token if there is none."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def source(self) -> Source:
        """Return the place of the next token."""
        return Source(self.file, self.token.line, self.token.column)

    def next(self) -> Token:
        """Consume the next token."""
        token = self.token
        if token.kind is not TokenType.END:
            self.at += 1
        return token

    def fail(self, expected: str, at: Token | None = None) -> NoReturn:
        """Raise an error that names the expected token."""
        token = at or self.token
        found = "the end of the batch" if token.first and token.kind is TokenType.END else token
        raise InputError(
            f"expected {expected}, found {clipped(str(found))}",
            file=self.file, line=token.line, column=token.column, remedy=self.syntax,
        )  # fmt: skip

    def is_words(self, *words: str) -> bool:
        """Return whether these words follow."""
        return all(self.peek(n).upper == word for n, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Consume these words if they are next."""
        found = self.is_words(*words)
        if found:
            self.at += len(words)
        return found

    def expect(self, *words: str) -> None:
        """Consume these words; raise an error if other tokens follow."""
        for word in words:
            if not self.accept(word):
                self.fail(word)

    def choice(self, words: Iterable[str]) -> str:
        """Consume one of several words and return it in upper case."""
        allowed = tuple(words)
        if self.token.upper not in allowed:
            self.fail(" or ".join(allowed))
        return self.next().upper

    def is_mark(self, mark: str) -> bool:
        """Return whether a mark such as ``(`` is next."""
        return self.token.kind is TokenType.MARK and self.token.text == mark

    def accept_mark(self, mark: str) -> bool:
        """Consume a mark if it is next."""
        found = self.is_mark(mark)
        if found:
            self.at += 1
        return found

    def expect_mark(self, mark: str) -> None:
        """Consume a mark."""
        if not self.accept_mark(mark):
            self.fail(f"'{mark}'")

    def name(self, what: str) -> str:
        """Consume one name, plain or quoted, of type sysname."""
        token = self.token
        quoted = token.kind is TokenType.QUOTED and bool(token.text)
        if not quoted and (token.kind is not TokenType.WORD or token.text.startswith("@")):
            self.fail(what)
        if len(token.text) > _SYSNAME:  # SQL Server's error 103
            self.fail(f"{what}, of at most {_SYSNAME} characters")
        return self.next().text

    def dotted(self, what: str) -> Name:
        """Consume a name with its prefixes."""
        parts = [self.name(what)]
        while self.accept_mark("."):
            # In database..name, the schema is the default.
            parts.append("" if self.is_mark(".") else self.name(what))
        return tuple(parts)

    def names(self, what: str) -> tuple[Name, ...]:
        """Consume names between commas."""
        found = [self.dotted(what)]
        while self.accept_mark(","):
            found.append(self.dotted(what))
        return tuple(found)

    def string(self, what: str) -> str:
        """Consume a string literal."""
        kinds = (
            (TokenType.STRING, TokenType.QUOTED)
            if self.reading is Reading.AS_FOUND
            else (TokenType.STRING,)
        )
        # With QUOTED_IDENTIFIER OFF, the default of sqlcmd, double quotes enclose strings.
        if self.token.kind not in kinds:
            self.fail(f"{what}: a string in single quotes")
        return self.next().text

    def integer(self, what: str) -> int:
        """Consume a whole number, which may have a sign."""
        start = self.token
        negative = self.accept_mark("-")
        token = self.token
        is_whole = token.kind is TokenType.NUMBER and token.text.isdecimal()
        if not is_whole or len(token.text) > _DIGITS:
            self.fail(f"{what}: a whole number" + " of at most 38 digits" * is_whole, start)
        return int(self.next().text) * (-1 if negative else 1)

    def on_off(self) -> bool:
        """Consume ON or OFF."""
        return self.choice(("ON", "OFF")) == "ON"

    def authorization(self) -> str | None:
        """Consume AUTHORIZATION and its owner; it matters only for services and certificates."""
        return self.dotted("the owner")[-1] if self.accept("AUTHORIZATION") else None
