"""Hostile writers in every kind of topic, during a load; ``make soak`` takes ten minutes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams.wire.specs import KINDS
from tests.faults.hostile import kinds
from tests.faults.load import Load
from tests.faults.run import run
from tests.faults.scenarios import EVERYBODY, SCENARIOS


@pytest.mark.long
def test_hostile_writers_in_every_topic_harm_nobody_else(tmp_path: Path) -> None:
    """Every role that may write is hostile: no process ends, and nothing is lost.

    The hostile records begin before the applications, so these read some of them at their start.
    Latency and memory are only judged in the long run: they need a time without hostile records
    and a quiet machine.
    """
    [hostile] = [s for s in SCENARIOS if s.hostile]
    said: list[str] = []
    plan = replace(hostile, hostile=10.0)
    outcome = run(plan, Load(3_000, 50.0), 7, tmp_path, said.append, quiet=0.0)
    text = "\n".join(said)
    assert outcome.verdict.faults == {}, text
    assert "hostile: 0 ended by themselves" in text
    assert outcome.effect is not None and outcome.effect.bombs > 0
    assert set(outcome.effect.memory) == set(EVERYBODY)


def test_every_kind_of_topic_that_a_role_may_write_is_written() -> None:
    assert set(kinds()) == set(KINDS) - {"dialog"}
