"""The tokens of T-SQL, and the patterns that recognize them.

Strings, bracketed and quoted names, GO lines and sqlcmd's ``:`` lines are one token each, and
comments are not tokens. So later code never has to examine text. As-found reading also accepts the
changes that word processors and web pages make to a script, and reports each in a remark.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple


class TokenType(Enum):
    """Kind of a token; QUOTED is a name in brackets or double quotes."""

    WORD = auto()
    QUOTED = auto()
    STRING = auto()
    NUMBER = auto()
    MARK = auto()
    GO = auto()
    DIRECTIVE = auto()
    END = auto()


class Token(NamedTuple):
    """A token; ``text`` is without quotes; ``upper`` is set only for words.

    This is a tuple, not a frozen dataclass, because a script has millions of tokens, and a tuple is
    created four times as fast.
    """

    kind: TokenType
    text: str
    line: int
    column: int
    upper: str = ""
    first: bool = False  # the offset of its line

    def is_mark(self, mark: str) -> bool:
        """Return whether the token is this mark, not a name or string with the same text."""
        return self.kind is TokenType.MARK and self.text == mark

    def __str__(self) -> str:
        if self.kind is TokenType.END:
            return "the end"
        if self.kind is TokenType.STRING:
            return "'" + self.text.replace("'", "''") + "'"
        return f"[{self.text}]" if self.kind is TokenType.QUOTED else self.text


class Reading(Enum):
    """How a script is read: strictly, or as found."""

    STRICT = "strict"
    AS_FOUND = "as_found"


_PLAIN = r"""
    | (?P<string>[nN]?'[^']*+(?:''[^']*+)*+')
    | (?P<word>(?:[^\W\d]|[@#]|\$\(\w[\w-]*\))[\w@#]*+(?:\$(?:\(\w[\w-]*\))?+[\w@#]*+)*+)
    | (?P<newline>\r\n?|\n)
    | (?P<comment>--[^\r\n]*+)
    | (?P<block>/\*)
    | (?P<bracket>\[[^\]]*+(?:\]\][^\]]*+)*+\])
    | (?P<quote>"[^"]*+(?:""[^"]*+)*+")
    | (?P<number>0[xX][0-9A-Fa-f]*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<mark>.)
"""
# The order matters. The second alternative matches '...’ if the line has no other quote. A low
# quote ends the search for the end of another one, so a line of them is not searched from each.
_TYPOGRAPHIC = r"""
      (?P<curved>[nN]?(?:[‘’‛][^‘’‛'\r\n]*+|‚[^‘’‚‛'\r\n]*+)[‘’‛'])
    | (?P<half>[nN]?'[^'‘’\r\n]*+’(?=[^\S\r\n]*+(?:[,;)\r\n]|\Z))(?![^'\r\n]*+'))
    | (?P<curved_quote>(?:[“”][^“”"\r\n]*+|„[^“”„"\r\n]*+)[“”"])
    | (?P<dash>[–—][^\r\n]*+)
    | (?P<invisible>[\u200b-\u200d\u2060\ufeff\ufffd\u00ad\x00\x1a]+)
"""
_BLANKS = r"[^\S\r\n]*+"
PATTERNS = {
    Reading.STRICT: re.compile(f"{_BLANKS}(?:(?!){_PLAIN})", re.VERBOSE | re.DOTALL),
    Reading.AS_FOUND: re.compile(f"{_BLANKS}(?:{_TYPOGRAPHIC}{_PLAIN})", re.VERBOSE | re.DOTALL),
}
"""A token with the blanks before it; blanks at the end of the text do not match."""

REMARKS = {
    "curved": "typographic quotes are read as plain quotes",
    "half": "typographic quotes are read as plain quotes",
    "curved_quote": "typographic quotes are read as plain quotes",
    "dash": "a typographic dash is read as the start of a comment",
    "invisible": "invisible characters are ignored",
}
"""Notes for text that as-found reading accepts but the engine would reject."""

LINE = re.compile(
    r"(?P<go>go(?:[^\S\r\n]++\d++)?+)[^\S\r\n]*+(?:;[^\S\r\n]*+)?+(?:--[^\r\n]*+)?+(?=\r|\n|\Z)"
    r"|(?P<directive>(?::[a-z!]|!!)[^\r\n]*)",
    re.IGNORECASE,
)
GO_LINE = re.compile(
    r"^[^\S\r\n]*+go(?:[^\S\r\n]++\d++)?+[^\S\r\n]*+(?:;[^\S\r\n]*+)?+(?:--[^\r\n]*+)?+\r?$",
    re.IGNORECASE | re.MULTILINE,
)
COMMENT_EDGE = re.compile(r"/\*|\*/")
NEW_LINE = re.compile(r"\r\n|\r|\n")
OPENS = {"'": "a string", "[": "a name in brackets", '"': "a name in double quotes"}
CLOSES = {"'": "'", "[": "]", '"': '"'}


def content(raw: str, group: str) -> str:
    """Return the text between the quotes, with each doubled quote reduced to one."""
    begin = 1 if raw[0] not in "nN" else 2
    inner = raw[begin:-1]
    closing = {"string": "'", "bracket": "]", "quote": '"'}.get(group)
    return inner if closing is None else inner.replace(closing * 2, closing)
