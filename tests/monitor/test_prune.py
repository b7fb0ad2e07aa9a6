"""What is old is let go, an hour after the last time at the earliest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streams.monitor.prune import Pruning
from streams.store import LatencyWindow, Store
from tests.store.build import LATENCY

DAY = 86_400


def test_days_are_kept_and_the_rest_goes_once_an_hour(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        rows = [replace(LATENCY, window_start=day * DAY * 1000) for day in range(5)]
        store.write("deliveries", "run", 0, rows)
        clock = iter([4 * DAY, 5 * DAY])
        pruning = Pruning(store, 2.0, lambda: float(next(clock)))
        assert pruning.look(100.0) == 2
        assert pruning.look(100.0 + 3_599) == 0
        assert pruning.look(100.0 + 3_600) == 1
        assert len(store.read(LatencyWindow)) == 2


def test_without_days_everything_is_kept(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("deliveries", "run", 0, [LATENCY])
        assert Pruning(store, None, lambda: 1e12).look(0.0) == 0
