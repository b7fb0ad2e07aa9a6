"""Writers that mean harm, beside a load that must notice nothing; ``make soak`` takes longer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.faults.load import Load
from tests.faults.run import run
from tests.faults.scenarios import SCENARIOS


def test_whoever_may_write_harms_nobody_else(tmp_path: Path) -> None:
    """As many records are hostile as there are messages; no process ends, nothing is missing."""
    [hostile] = [s for s in SCENARIOS if s.hostile]
    said: list[str] = []
    plan = replace(hostile, hostile=100.0)
    outcome = run(plan, Load(2_000, 50.0), 7, tmp_path, said.append)
    assert outcome.verdict.faults == {}
    assert "hostile: 0 ended by themselves" in "\n".join(said)
