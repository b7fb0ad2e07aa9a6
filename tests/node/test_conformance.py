"""Every rule of forwarding and dialogs has its tests, and the page says so."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.evidence import evidence
from tests.routing.rulings import NOT_EMULATED, OURS, Ruling
from tests.routing.rulings import RULINGS as ROUTING
from tests.services.rulings import SERVICES
from tests.topology.rulings import DDL, RESTORE

from .codes import CODES
from .rulings import DIALOGS, FORWARDING

RULINGS = (*FORWARDING, *DIALOGS, *CODES, *DDL, *RESTORE, *SERVICES)


@pytest.mark.parametrize("ruling", RULINGS, ids=lambda ruling: ruling.id)
def test_ruling_is_shown(ruling: Ruling) -> None:
    """Every rule has a test that shows it, unless it says that it is not emulated."""
    assert (ruling.id in evidence()) is (ruling.verdict != NOT_EMULATED)


@pytest.mark.parametrize("ruling", (*ROUTING, *RULINGS), ids=lambda ruling: ruling.id)
def test_only_what_a_source_states_is_documented(ruling: Ruling) -> None:
    """Our choices need no source; everything else names the page or article that states it."""
    assert ruling.sources or ruling.verdict in (OURS, NOT_EMULATED)
    assert "articles" not in ruling.sources, "a source has a title"


def test_ids_are_unique() -> None:
    """No two rules of forwarding and dialogs share an id."""
    assert max(Counter(ruling.id for ruling in RULINGS).values()) == 1


def test_every_code_that_hopline_sends_is_explained() -> None:
    """docs/numbers.md names every emulated code, and no other."""
    page = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text(encoding="utf-8")
    sent = {r.id for r in CODES if r.verdict != NOT_EMULATED and r.id.startswith("-")}
    assert set(re.findall(r"(?<!\w)-\d{4,5}\b", page)) == sent
