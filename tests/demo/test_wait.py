"""The demo waits as long as something changes: a slow machine is no failure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams.demo.run import LONGEST_STILL, Options, Stage, _wait
from streams.errors import SurroundingsError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time of the demo's clock, on which each look takes a tenth of the longest wait."""
    at = [0.0]

    def sleep(_: float) -> None:
        at[0] += LONGEST_STILL / 10

    module = sys.modules[_wait.__module__]  # the package has a function of this name
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: at[0], sleep=sleep))
    return at


def wait(data: Path, condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
    """Wait as the demo does, with children that are well."""
    stage = Stage(Options(data), lambda _: None, lambda _: None, started=0.0)
    children: Any = SimpleNamespace(check=lambda: None)
    _wait(stage, children, condition, what)


def test_it_goes_on_while_the_figures_change(clock: list[float], tmp_path: Path) -> None:
    wait(tmp_path, lambda: clock[0] > 3 * LONGEST_STILL, lambda: f"{clock[0]} delivered")


@pytest.mark.parametrize("what", ["Spark starts", lambda: "3 of 5 delivered"])
def test_it_gives_up_when_they_stand_still(
    clock: list[float], tmp_path: Path, what: str | Callable[[], str]
) -> None:
    with pytest.raises(SurroundingsError, match=r"No progress for 300 s: (Spark|3 of 5)"):
        wait(tmp_path, lambda: clock[0] > 3 * LONGEST_STILL, what)
    assert LONGEST_STILL < clock[0] < 2 * LONGEST_STILL
