"""Every row of the conformance table answers as its source states, and every rule has its row."""

from __future__ import annotations

from collections import Counter

import pytest

from streams.routing import Origin

from .conformance import ROWS, rows_that_show
from .rows import RoutingExample
from .rulings import NOT_EMULATED, RULINGS, Ruling


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row(row: RoutingExample) -> None:
    """The plan and the explanation both give the row's answer."""
    assert row.planned() == row.expects, row.says
    assert row.explained() == row.expects, row.says


@pytest.mark.parametrize("ruling", RULINGS, ids=lambda ruling: ruling.id)
def test_ruling_is_shown(ruling: Ruling) -> None:
    """Every rule has a row that shows it, unless it says that it is not emulated."""
    assert bool(rows_that_show(ruling)) is (ruling.verdict != NOT_EMULATED)


@pytest.mark.parametrize(
    "ruling", [r for r in RULINGS if r.id.startswith("O-")], ids=lambda r: r.id
)
def test_outcome_is_shown_from_both_sides(ruling: Ruling) -> None:
    """Every outcome has a row that began here and one that came from another instance."""
    assert {row.asks.origin for row in rows_that_show(ruling)} == set(Origin)


def test_ids_are_unique() -> None:
    """No two rows and no two rulings share an id."""
    assert max(Counter(row.id for row in ROWS).values()) == 1
    assert max(Counter(ruling.id for ruling in RULINGS).values()) == 1


def test_rows_show_rulings_that_exist() -> None:
    """No row is evidence of something that nobody states."""
    assert {tag for row in ROWS for tag in row.shows.split()} <= {r.id for r in RULINGS}
