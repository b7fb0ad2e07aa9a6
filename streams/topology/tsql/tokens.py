"""Cut a T-SQL script into tokens that know their place.

Strings, bracketed and quoted names, nested comments, GO lines and sqlcmd's ``:`` lines are each one
token or none, so that nothing later has to look into text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from streams.errors import InputError
from streams.topology.findings import Source


class Kind(Enum):
    """What a token is; QUOTED is a name in brackets or double quotes."""

    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    MARK = auto()
    GO = auto()
    DIRECTIVE = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token; ``text`` is without quotes, ``upper`` is set for words only."""

    kind: Kind
    text: str
    line: int
    column: int
    upper: str = ""
    first: bool = False  # of its line

    def __str__(self) -> str:
        if self.kind is Kind.END:
            return "the end"
        if self.kind is Kind.STRING:
            return "'" + self.text.replace("'", "''") + "'"
        return f"[{self.text}]" if self.kind is Kind.QUOTED else self.text


_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\r\n]*)
    | (?P<block>/\*)
    | (?P<string>[nN]?'(?:[^']|'')*')
    | (?P<bracket>\[(?:[^\]]|\]\])*\])
    | (?P<quote>"(?:[^"]|"")*")
    | (?P<number>0[xX][0-9A-Fa-f]*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<word>(?:[^\W\d]|[@#])[\w@$#]*)
    | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LINE = re.compile(
    r"(?P<go>go(?:[ \t]+\d+)?)[ \t]*;?[ \t]*(?:--[^\r\n]*)?(?=\r|\n|\Z)"
    r"|(?P<directive>(?::[a-z!]|!!)[^\r\n]*)",
    re.IGNORECASE,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_NEW_LINE = re.compile(r"\r\n|\r|\n")
_OPEN = {"'": "a string", "[": "a name in brackets", '"': "a name in double quotes"}
_CLOSE = {"'": "'", "[": "]", '"': '"'}


def tokenize(text: str, file: str) -> tuple[Token, ...]:
    """Return a script's tokens, END last; raise InputError at what never ends."""
    return tuple(_tokens(text, _Lines(text, file)))


class _Lines:
    """Turns offsets into lines and columns."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.starts = [0, *(match.end() for match in _NEW_LINE.finditer(text))]

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def never_ends(self, offset: int, what: str, remedy: str) -> InputError:
        line, column = self.place(offset)
        return InputError(
            f"{what} begins here and never ends",
            file=self.file, line=line, column=column, remedy=remedy,
        )  # fmt: skip


def _tokens(text: str, lines: _Lines) -> Iterator[Token]:
    at, known_line = 0, 0
    while at < len(text):
        line, column = lines.place(at)
        first = line != known_line
        match = _LINE.match(text, at) if first and text[at] in "gG:!" else None
        if match is not None:
            kind = Kind.GO if match["go"] else Kind.DIRECTIVE
            yield Token(kind, match[0].strip(), line, column, first=True)
            known_line, at = line, match.end()
            continue
        match = _TOKEN.match(text, at)
        assert match is not None, "the last branch takes any character"
        at = match.end()
        if match.lastgroup == "block":
            at = _end_of_comment(text, match.start(), lines)
        elif match.lastgroup not in ("space", "comment"):
            known_line = line
            yield _token(match, line, column, first, lines)
    line, column = lines.place(len(text))
    yield Token(Kind.END, "", line, column)


def _token(match: re.Match[str], line: int, column: int, first: bool, lines: _Lines) -> Token:
    raw, group = match[0], match.lastgroup
    if group == "string":
        raw = raw[raw.index("'") + 1 : -1].replace("''", "'")
        return Token(Kind.STRING, raw, line, column, first=first)
    if group == "bracket":
        return Token(Kind.QUOTED, raw[1:-1].replace("]]", "]"), line, column, first=first)
    if group == "quote":
        return Token(Kind.QUOTED, raw[1:-1].replace('""', '"'), line, column, first=first)
    if group == "number":
        return Token(Kind.NUMBER, raw, line, column, first=first)
    if group == "word":
        return Token(Kind.WORD, raw, line, column, raw.upper(), first)
    if raw in _OPEN:
        remedy = f"Close it with {_CLOSE[raw]}; inside it, {_CLOSE[raw]} is written twice."
        raise lines.never_ends(match.start(), _OPEN[raw], remedy)
    return Token(Kind.MARK, raw, line, column, first=first)


def _end_of_comment(text: str, start: int, lines: _Lines) -> int:
    """Return where a block comment ends; T-SQL nests them."""
    depth, at = 1, start + 2
    while depth:
        edge = _COMMENT_EDGE.search(text, at)
        if edge is None:
            raise lines.never_ends(start, "a comment", "Close it with */; comments nest.")
        depth += 1 if edge[0] == "/*" else -1
        at = edge.end()
    return at


def place_of(token: Token, file: str) -> Source:
    """Return a token's place as a source."""
    return Source(file, token.line, token.column)
