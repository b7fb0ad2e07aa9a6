"""Every rule of forwarding and dialogs has its tests, and the page says so."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.routing.rulings import NOT_EMULATED, Ruling
from tests.services.rulings import SERVICES

from .conformance import BLOCKS, PAGE, evidence, generated, rewritten
from .rulings import DIALOGS, ELSEWHERE, FORWARDING

RULINGS = (*FORWARDING, *DIALOGS, *SERVICES)


@pytest.mark.parametrize("ruling", RULINGS, ids=lambda ruling: ruling.id)
def test_ruling_is_shown(ruling: Ruling) -> None:
    """Every rule has a test that shows it, unless it says that it is not emulated."""
    assert (ruling.id in evidence()) is (ruling.verdict != NOT_EMULATED)


def test_tests_show_rulings_that_exist() -> None:
    """No test is evidence of something that nobody states."""
    assert set(evidence()) <= {ruling.id for ruling in RULINGS} | ELSEWHERE


def test_ids_are_unique() -> None:
    """No two rules of forwarding and dialogs share an id."""
    assert max(Counter(ruling.id for ruling in RULINGS).values()) == 1


def test_the_page_is_well_formed() -> None:
    """Every line of a table has as many cells as its header."""
    lines = [line for rulings in BLOCKS.values() for line in generated(rulings).splitlines()]
    assert {line.count("|") for line in lines} == {6}


def test_the_page_is_up_to_date() -> None:
    """``python -m tests.node.conformance --write`` would change nothing."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == rewritten(page)
