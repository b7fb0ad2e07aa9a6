"""Evaluate expressions that the text alone determines: literals, known variables and ``+``.

Nothing is executed. Parameters, columns, and functions that are not in the table are unknown, and
so is every expression that contains one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from streams.topology.tsql.tokens import Token, TokenType
from streams.topology.tsql.variables import Known, Value, Variables

_LONGEST = 4_000_000  # characters; without a limit, a loop that doubles a string never ends
_LONGEST_NAME = 128  # characters of a sysname
_DEEPEST = 32
_COPIED = 1_000  # copied characters that count as one added character


class _UnknownError(Exception):
    """The value is known only at run time."""


class _Reader:
    """Reads one expression from tokens."""

    def __init__(self, tokens: Sequence[Token], variables: Variables) -> None:
        self.tokens = tokens
        self.origin: Token | None = None
        self.variables = variables
        self.at = 0
        self.depth = 0
        self.literal = 0  # characters of literals

    def mark(self, mark: str) -> bool:
        """Consume a mark if it is next."""
        here = self.tokens[self.at] if self.at < len(self.tokens) else None
        found = here is not None and here.is_mark(mark)
        self.at += found
        return found

    def need(self, found: bool) -> None:
        """Treat the value as unknown unless an expected token was found."""
        if not found:
            raise _UnknownError

    def expression(self) -> Value:
        """Read terms between plus signs; if there are several, all must be strings."""
        self.depth += 1
        self.need(self.depth <= _DEEPEST)
        value = self.term()
        parts: list[str] = []
        size = 0
        while self.mark("+"):
            self.need(isinstance(value, str))
            parts.append(str(value))
            size += len(parts[-1])
            value = self.term()
            self.need(isinstance(value, str) and size + len(value) <= _LONGEST)
        self.depth -= 1
        if not parts:
            return value
        self.variables.budget.spend(size // _COPIED)
        return "".join([*parts, str(value)])

    def term(self) -> Value:
        """Read a literal, a variable, an expression in parentheses, or a function of the table."""
        if self.mark("("):
            value = self.expression()
            self.need(self.mark(")"))
            return value
        self.need(self.at < len(self.tokens))
        token = self.tokens[self.at]
        self.at += 1
        if token.kind is TokenType.STRING:
            self.origin = self.origin or token
            self.literal += len(token.text)
            return token.text
        if token.kind is TokenType.NUMBER and token.text.isdecimal() and len(token.text) < 20:
            return int(token.text)
        if token.upper.startswith("@"):
            known = self.variables.value(token.text)
            if known is None:
                raise _UnknownError
            self.origin = self.origin or known.origin
            return known.value
        function = _FUNCTIONS.get(token.upper)
        if function is None or not self.mark("("):
            raise _UnknownError
        value = function(self)
        self.need(self.mark(")"))
        return value

    def type_name(self) -> str:
        """Consume a data type, with its length."""
        self.need(self.at < len(self.tokens))
        name = self.tokens[self.at].upper or self.tokens[self.at].text.upper()
        self.at += 1
        if self.mark("("):
            self.at += 1
            self.need(self.mark(")"))
        return name

    def word(self, word: str) -> bool:
        """Consume a word if it is next."""
        found = self.at < len(self.tokens) and self.tokens[self.at].upper == word
        self.at += found
        return found


def _as(value: Value, type_name: str) -> Value:
    if "CHAR" in type_name or type_name == "SYSNAME":
        return str(value)
    if isinstance(value, int):
        return value
    raise _UnknownError


def _cast(reader: _Reader) -> Value:
    value = reader.expression()
    reader.need(reader.word("AS"))
    return _as(value, reader.type_name())


def _convert(reader: _Reader) -> Value:
    type_name = reader.type_name()
    reader.need(reader.mark(","))
    return _as(reader.expression(), type_name)


def _quotename(reader: _Reader) -> Value:
    """Return a quoted name; a longer text is not a name, and QUOTENAME returns NULL for it."""
    text = str(reader.expression())
    reader.need(len(text) <= _LONGEST_NAME)
    quote = str(reader.expression()) if reader.mark(",") else "["
    if quote in ("'", '"'):
        return quote + text.replace(quote, quote * 2) + quote
    reader.need(quote in ("[", "]"))
    return "[" + text.replace("]", "]]") + "]"


def _char(reader: _Reader) -> Value:
    code = reader.expression()
    reader.need(isinstance(code, int) and code < 128)
    return chr(int(code))


_FUNCTIONS: Mapping[str, Callable[[_Reader], Value]] = {
    "CAST": _cast,
    "CONVERT": _convert,
    "QUOTENAME": _quotename,
    "CHAR": _char,
    "NCHAR": _char,
}


def settled(tokens: Sequence[Token], variables: Variables) -> Known | None:
    """Return the value of an expression, or ``None`` if it is unknown."""
    reader = _Reader(tokens, variables)
    try:
        value = reader.expression()
    except _UnknownError:
        return None
    if reader.at < len(tokens):
        return None
    added = len(value) - reader.literal if isinstance(value, str) else 0
    return Known(value, reader.origin or tokens[0], max(0, added))


def between_commas(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Split tokens at commas outside parentheses."""
    parts: list[Sequence[Token]] = []
    depth, begin = 0, 0
    for at, token in enumerate(tokens):
        if token.kind is TokenType.MARK:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if token.text == "," and depth == 0:
                parts.append(tokens[begin:at])
                begin = at + 1
    return [*parts, tokens[begin:]]
