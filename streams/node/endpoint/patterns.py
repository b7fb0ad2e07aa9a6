"""Run the patterns of a schema collection in linear time, with RE2.

Python's ``re`` backtracks, so ``([a-z]+ ?)+`` takes minutes for 40 characters. An automaton can run
the expressions of XML Schema in linear time. RE2 gets one byte for each character: the number of a
block, which is a set of characters that the pattern does not distinguish. So ``\\w``, with 770
ranges of characters, is one instruction instead of 1,300, and matches the same characters as in
``re``.
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xmlschema import XMLSchema
    from xmlschema.validators import XsdPatternFacets

_BEGIN, _END = "^(?:", r")$(?!\n\Z)"
_SYNTAX = re.compile(  # parses the ``re`` expression into which xmlschema converts a pattern
    r"\(\?:|[()|?*+]|\{[\d,]+\}"
    r"|(?P<set>\[(?:\^\\r\\n|\^\\w\\W|(?:\\\W|[^\\\]])+)\]|\\[dDsSwWnrt\W]|[^\\\[.^$])",
    re.DOTALL,
)
_MEMORY = 1 << 18
"""Memory of each automaton in bytes; RE2 rejects programs above about 20,000 instructions."""
_BLOCKS = 256
_BYTE, _NONE = "\\x{:02x}".format, r"^\x00-\xff"
_LARGE = frozenset(f"\\{letter}" for letter in "dDsSwW")
_PLANE = 1 << 16
_KEPT_SETS = 64
"""Maximum number of cached sets of characters; the largest set, ``\\w``, takes 100 kB."""


def run_linearly(schema: XMLSchema) -> float:
    """Replace the patterns of a schema collection with linear patterns.

    Return the number of steps per character of the most expensive type. The result is 0 without
    patterns, and infinite if ``re`` must run a pattern. This is the case for patterns with a
    repetition count above 1,000 or more than 20,000 instructions, and for all patterns if RE2 is
    not installed.
    """
    return max(map(_replace, _facets(schema)), default=0.0)


class LinearPattern:
    """A pattern with the interface of the schema library; ``steps`` is its program size."""

    __slots__ = ("_blocks", "_regexp", "steps")

    def __init__(self, expression: str) -> None:
        """Compile an expression of ``re``; raise ValueError or ImportError if RE2 cannot run it."""
        tokens = list(_tokens(expression))
        sets = dict.fromkeys(text for text, is_set in tokens if is_set)
        self._blocks = _Blocks(list(sets))
        classes = self._blocks.classes
        self._regexp = _compile("".join(classes[t] if is_set else t for t, is_set in tokens))
        self.steps: int = self._regexp.programsize

    def match(self, text: str) -> object | None:
        """Return a value other than ``None`` if the whole text matches."""
        blocks = str.translate(text, self._blocks).encode("latin-1")
        found: object | None = self._regexp.fullmatch(blocks)
        return found


class _Blocks(dict[int, int]):
    """Map each character to its block. ``classes``: the blocks of each set, as an RE2 class."""

    __slots__ = ("_edges", "_numbers", "classes")

    def __init__(self, sets: list[str]) -> None:
        changes = defaultdict[int, int](int)  # the sets that begin or end at a character
        for n, text in enumerate(sets):
            for edge in _edges(text):
                changes[edge] ^= 1 << n
        members, blocks = 0, {0: 0}
        self._edges, self._numbers = [0], [0]
        for edge in sorted(changes):
            members ^= changes[edge]
            self._edges.append(edge)
            self._numbers.append(blocks.setdefault(members, len(blocks)))
        if len(blocks) > _BLOCKS:
            raise ValueError("too many sets of characters")
        self.classes = {
            text: _class([block for members, block in blocks.items() if members >> n & 1])
            for n, text in enumerate(sets)
        }
        self.update((code, self[code]) for code in range(128))

    def __missing__(self, code: int) -> int:
        return self._numbers[bisect(self._edges, code) - 1]


def _replace(facets: XsdPatternFacets) -> float:
    """Replace the patterns of one type, any of which can match; return their steps."""
    try:
        linear = [LinearPattern(pattern.pattern) for pattern in facets.patterns]
    except (ImportError, ValueError):
        return math.inf
    facets.patterns[:] = linear  # type: ignore[assignment]
    return sum(pattern.steps for pattern in linear)


def _facets(schema: XMLSchema) -> set[XsdPatternFacets]:
    from xmlschema.validators import XsdFacet, XsdPatternFacets

    return {
        facet
        for document in schema.maps.owned_schemas
        for facet in document.iter_components(XsdFacet)
        if isinstance(facet, XsdPatternFacets)
    }


def _tokens(expression: str) -> Iterator[tuple[str, bool]]:
    """Yield operators and sets of characters, each with the kind of the token."""
    at, end = len(_BEGIN), len(expression) - len(_END)
    if not (expression.startswith(_BEGIN) and expression.endswith(_END)):
        raise ValueError("not anchored")
    while at < end:
        token = _SYNTAX.match(expression, at, end)
        if token is None:
            raise ValueError("not an expression of XML Schema")
        at = token.end()
        yield token[0], token.lastgroup == "set"


@lru_cache(_KEPT_SETS)
def _edges(text: str) -> tuple[int, ...]:
    """Return the codes at which a set of characters begins or ends, as ``re`` matches the set.

    A range can begin or end only at a character of the set's text, but a class such as ``\\w`` may
    have edges anywhere. An edge that is found twice is dropped, because one range there continues
    another.
    """
    if text in _LARGE:
        return tuple(_scan(text))
    is_member = re.compile(text).match
    edges, inside = [], False
    for code in sorted({*range(129), *(ord(c) + n for c in text for n in (0, 1))}):
        if code <= sys.maxunicode and (is_member(chr(code)) is not None) != inside:
            inside = not inside
            edges.append(code)
    return tuple(edges)


def _scan(text: str) -> Iterator[int]:
    for start in range(0, sys.maxunicode, _PLANE):
        plane = "".join(map(chr, range(start, start + _PLANE)))
        for run in re.finditer(f"{text}+", plane):
            yield from (start + run.start(), start + run.end())


def _class(blocks: list[int]) -> str:
    return f"[{''.join(map(_BYTE, blocks)) or _NONE}]"


def _compile(expression: str) -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return re2.compile(expression.encode("latin-1"), options)
    except re2.error as error:
        raise ValueError(str(error)) from None
