"""A few faults of every kind at once, on real Kafka; ``make soak`` is the long suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.load import Load
from tests.faults.run import run
from tests.faults.scenarios import SHORT


@pytest.mark.long
def test_nothing_is_lost_repeated_or_out_of_order_whatever_dies(tmp_path: Path) -> None:
    """Every process is killed; some are suspended, fenced or rebalanced; Kafka dies too."""
    outcome = run(SHORT, Load(2_000, 50.0), 1, tmp_path, print)
    assert outcome.verdict.faults == {}
    assert (outcome.verdict.messages, outcome.verdict.dialogs) == (2_500, 100)
    happened = sum(recovery.count for recovery in outcome.recoveries)
    assert happened == sum(wanted.count for wanted in SHORT.wanted)
