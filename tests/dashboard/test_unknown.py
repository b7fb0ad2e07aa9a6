"""A page never shows as good what the monitor has not read."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import expect

from streams.store import Store
from streams.store.freshness import QUERIES
from tests.dashboard.served import Seen, serving
from tests.store.build_state import HEARTBEAT, dialog

MINUTE = 60_000


def test_a_store_without_figures_is_unknown_and_not_good(seen: Seen, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/monitor.sqlite"
    Store.open(url).close()
    with serving("--store", url, log=tmp_path / "log") as address:
        seen.page.goto(address)
        seen.shows("#tile-repeats", "unknown", "queues not read yet")
        seen.shows("#tile-messages", "–", "not read yet")
        seen.shows("[data-place=alarms]", "No monitor has read the topics yet")
        expect(seen.page.locator(".tile.good")).to_have_count(0)


def test_a_monitor_that_lags_is_behind_and_no_dialog_is_stuck(seen: Seen, tmp_path: Path) -> None:
    """The samples are current, the queries have read until ten minutes ago."""
    now = time.time_ns() // MINUTE // 1_000_000 * MINUTE
    read = now - 10 * MINUTE
    url = f"sqlite:///{tmp_path}/monitor.sqlite"
    with Store.open(url) as store:
        later = now + 60 * MINUTE  # however long the test takes
        rows = [
            dialog(1, waiting_since=read - 5_000, progress_at=read, begun_at=read),
            replace(HEARTBEAT, at=read, until=later, seen_at=later),
        ]
        store.write("dialogs", "run", 0, rows)
        store.reach(dict.fromkeys(QUERIES, read))
    with serving("--store", url, log=tmp_path / "log") as address:
        seen.page.goto(address)
        seen.shows("[data-place=alarms]", "monitor behind", "The monitor is ")
        seen.shows("#tile-repeats", "kept", "later not read")
        expect(seen.page.locator("[data-place=alarms] li")).to_have_count(1)
        expect(seen.page.locator(".tile.good")).to_have_count(0)
