"""Lists as Python-Markdown wants them: each level is indented by four columns.

The pages are written in CommonMark, where a level is as wide as its marker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt

_MARKER = re.compile(r" *(?:[-*+]|\d+[.)]) +")
_STEP = 4


@dataclass(frozen=True, slots=True)
class _Item:
    """An item of a list: its lines, and the column where its content begins."""

    first: int
    end: int
    column: int


def widened(text: str) -> str:
    """Return a page's text with lists that Python-Markdown reads as CommonMark would."""
    lines = text.splitlines()
    tokens = MarkdownIt("commonmark").parse(text)
    items = [
        _item(token.map, lines) for token in tokens if token.type == "list_item_open" and token.map
    ]
    starts = {
        token.map[0]
        for token in tokens
        if token.type.endswith("_list_open") and token.level == 0 and token.map
    }
    return "\n".join(_lines(lines, items, starts)) + "\n"


def _item(span: list[int], lines: list[str]) -> _Item:
    marker = _MARKER.match(lines[span[0]])
    return _Item(span[0], span[1], marker.end() if marker else 0)


def _lines(lines: list[str], items: list[_Item], starts: set[int]) -> Iterator[str]:
    for number, line in enumerate(lines):
        around = [item for item in items if item.first <= number < item.end]
        if not around or not line.strip():
            yield line
            continue
        begins = around[-1].first == number
        if begins and number and lines[number - 1].strip():
            # A paragraph of Python-Markdown's ends neither before a list nor before an item.
            before = next((item for item in items if item.end == number), around[-1])
            loose = any(not one.strip() for one in lines[before.first : number])
            yield from ("",) if number in starts or loose else ()
        outer = around[:-1] if begins else around
        rest = line.lstrip() if begins else _without(line, around[-1].column)
        yield " " * _STEP * len(outer) + rest


def _without(line: str, columns: int) -> str:
    indent = len(line) - len(line.lstrip())
    return line[min(indent, columns) :]
