"""A generated page, and text that is safe in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

_CODE = re.compile(r"(`+[^`]+`+)")
_SPECIAL = re.compile(r"([\\*_\[\]])")


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is in no file of ``docs/``.

    ``path`` is relative to ``docs/``. ``base``: the file of the repository to which the links of
    ``text`` are relative; empty if they are relative to ``path``. ``stands_for``: the files and
    anchors of the repository for which a link leads to this page.
    """

    path: str
    text: str
    base: str = ""
    stands_for: tuple[str, ...] = ()


def escaped(text: str) -> str:
    """Return plain text as Markdown; only code in backticks keeps its meaning."""
    parts = _CODE.split(text)
    parts[::2] = (
        _SPECIAL.sub(r"\\\1", part).replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")
        for part in parts[::2]
    )
    return "".join(parts)


def code(text: str, anchor: str = "") -> str:
    """Return text as code in a line, with an anchor if there is one."""
    return f"`{text}`" + (f"{{ #{anchor} }}" if anchor else "")


def block(text: str, language: str = "text") -> str:
    """Return a block of code; its fence is longer than every fence in it."""
    fence = max([*re.findall(r"^`{3,}", text, re.MULTILINE), "```"], key=len)
    fence += "`" if fence in text else ""
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; each cell is Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(_row(line))} |\n" for line in lines)


def _row(cells: Iterable[str]) -> Iterator[str]:
    yield from (" ".join(cell.split()) for cell in cells)
