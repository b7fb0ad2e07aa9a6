"""What is old is let go, an hour after the last time at the earliest; days are put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from streams.monitor.upkeep import Upkeep
from streams.store import LatencyStretch, LatencyWindow, Store
from streams.store.message_tables import ACKNOWLEDGED
from tests.store.build import LATENCY, MISSING
from tests.store.build_state import DIALOG

DAY = 86_400


@dataclass
class Clock:
    """A clock that stands where a test has put it, in seconds."""

    now: float

    def __call__(self) -> float:
        return self.now


def test_days_are_kept_and_the_rest_goes_once_an_hour(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        rows = [replace(LATENCY, window_start=day * DAY * 1000) for day in range(5)]
        store.write("deliveries", "run", 0, rows)
        clock = Clock(4 * DAY)
        upkeep = Upkeep(store, 2.0, clock)
        assert upkeep.look(100.0) == 2 * 2  # windows, and what they were put together to
        clock.now = 5 * DAY
        assert upkeep.look(100.0 + 3_599) == 0
        assert upkeep.look(100.0 + 3_600) == 1 * 2
        assert len(store.read(LatencyWindow)) == 2


def test_without_days_everything_is_kept(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("deliveries", "run", 0, [LATENCY])
        assert Upkeep(store, None, lambda: 1e9).look(0.0) == 0


def test_acknowledgements_of_missing_messages_are_dated_once_a_minute(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("messages", "run", 0, [MISSING, replace(DIALOG, acknowledged=4)])
        Upkeep(store, None, lambda: 1e9).look(0.0)
        (noted,) = store.ask(sa.select(ACKNOWLEDGED.c.at))
        assert noted["at"] == DIALOG.progress_at


def test_what_is_over_is_put_together_once_a_minute(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        upkeep = Upkeep(store, None, lambda: 1e9)
        upkeep.look(0.0)
        store.write("deliveries", "run", 0, [LATENCY])
        upkeep.look(59.0)
        assert not store.read(LatencyStretch)
        upkeep.look(60.0)
        assert [row.count for row in store.read(LatencyStretch)] == [LATENCY.count]
