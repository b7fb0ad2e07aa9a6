"""Every rule of forwarding and dialogs has its tests, and the page says so."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.evidence import evidence
from tests.routing.rulings import NOT_EMULATED, Ruling
from tests.services.rulings import SERVICES

from .rulings import DIALOGS, FORWARDING

RULINGS = (*FORWARDING, *DIALOGS, *SERVICES)


@pytest.mark.parametrize("ruling", RULINGS, ids=lambda ruling: ruling.id)
def test_ruling_is_shown(ruling: Ruling) -> None:
    """Every rule has a test that shows it, unless it says that it is not emulated."""
    assert (ruling.id in evidence()) is (ruling.verdict != NOT_EMULATED)


def test_ids_are_unique() -> None:
    """No two rules of forwarding and dialogs share an id."""
    assert max(Counter(ruling.id for ruling in RULINGS).values()) == 1
