"""The page matches the tables that the tests run."""

from __future__ import annotations

import pytest

from .blocks import BLOCKS
from .page import PAGE, rewritten, stale


def test_the_page_is_up_to_date() -> None:
    """``python -m tests.conformance --write`` would change nothing."""
    assert stale(PAGE.read_text(encoding="utf-8"), BLOCKS) == []


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_that_says_something_else_is_stale(name: str) -> None:
    """Rewriting it changes nothing else."""
    page = PAGE.read_text(encoding="utf-8")
    end = f"<!-- {name}: end -->"
    assert stale(page.replace(end, f"one line too many\n{end}"), BLOCKS) == [name]
    assert rewritten(page.replace(end, f"one line too many\n{end}"), BLOCKS) == page


@pytest.mark.parametrize("name", BLOCKS)
def test_every_line_of_a_table_has_as_many_cells_as_its_header(name: str) -> None:
    cells = 0
    for line in BLOCKS[name]().splitlines():
        count = line.count("|") if line.startswith("|") else 0
        assert not cells or not count or count == cells, line
        cells = count
