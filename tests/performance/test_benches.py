"""Each part of the benchmark that needs no Kafka runs: nothing else would notice that it broke."""

from __future__ import annotations

import runpy
import sys

import pytest

PARTS = (
    ("bench.endpoint", "--dialogs", "20", "--each", "1", "2"),
    ("bench.crossing",),
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0])
def test_a_part_prints_its_table(
    part: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = part
    monkeypatch.setattr(sys, "argv", [name, "--rounds", "1", *options])
    runpy.run_module(name, run_name="__main__")
    assert "goals met" in capsys.readouterr().out
