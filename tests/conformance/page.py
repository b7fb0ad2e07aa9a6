"""Generate the blocks of ``docs/conformance.md`` from the tables that the tests run.

``python -m tests.conformance --write`` rewrites all of them. A block is the text between
``<!-- name: generated -->`` and ``<!-- name: end -->``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"

Blocks = Mapping[str, Callable[[], str]]
"""The functions that generate the blocks, by the name of the block."""


def table(header: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """Return a table of the page."""
    body = [header, tuple("---" for _ in header), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in body)


def rewritten(page: str, blocks: Blocks) -> str:
    """Return the page with newly generated blocks."""
    for name, made in blocks.items():
        begin, end = f"<!-- {name}: generated -->\n", f"<!-- {name}: end -->"
        head, rest = page.split(begin)
        _, tail = rest.split(end)
        page = f"{head}{begin}\n{made()}\n{end}{tail}"
    return page


def stale(page: str, blocks: Blocks) -> list[str]:
    """Return the names of the blocks of a page that differ from the generated text."""
    return [name for name in blocks if rewritten(page, {name: blocks[name]}) != page]


def main(arguments: list[str], blocks: Blocks) -> int:
    """Rewrite the page, or print the names of its stale blocks."""
    page = PAGE.read_text(encoding="utf-8")
    if "--write" in arguments:
        PAGE.write_text(rewritten(page, blocks), encoding="utf-8")
        return 0
    old = stale(page, blocks)
    if old:
        what = ", ".join(old)
        print(f"{PAGE}: {what} stale: python -m tests.conformance --write", file=sys.stderr)
    return int(bool(old))
