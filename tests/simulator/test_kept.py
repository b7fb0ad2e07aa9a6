"""What exploration has found in many seeds, made small and kept: each broke an invariant once.

``kept/seed-N/scenario.yaml`` says what it shows. It stays what it is when other cases are drawn.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.simulator import Simulation, read_scenario

KEPT = sorted(Path(__file__).with_name("kept").glob("seed-*"))


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_no_invariant_is_broken_any_more(folder: Path) -> None:
    seed = int(folder.name.removeprefix("seed-"))
    result = Simulation(*read_scenario(folder / "scenario.yaml"), seed).run()
    assert result.violation is None
    assert result.good


def test_there_are_some() -> None:
    assert len(KEPT) >= 3
