"""The overview in a browser: messages that wait, refused statements, incomplete figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playwright.sync_api import expect

from streams.store import EventWindow, Store
from streams.store.freshness import ARRIVALS, QUERIES
from tests.dashboard.rows import AT, ROWS, SINCE, UNTIL
from tests.dashboard.served import Seen, serving
from tests.store.build import MISSING
from tests.store.build_state import dialog

FAR = 4_000_000_000_000


def test_the_overview_names_what_waits_what_was_refused_and_what_it_lacks(
    seen: Seen, tmp_path: Path
) -> None:
    """Messages for a queue that is off are not missing, as in the alarms."""
    sender = dialog(1, acknowledged=9, depth=0, waiting_since=None, expires_at=FAR)
    receiver = replace(sender, instance="ServerB", is_initiator=False, parked=3_008)
    waits = replace(
        MISSING, conversation=sender.conversation, seen_at=SINCE + 1_000, expires_at=FAR
    )
    refused = EventWindow(
        SINCE, SINCE + 10_000, 124, 8429, "ServerA", "DatabaseA", None, None, None, None, 943
    )
    late = {"first_at": SINCE, "until": SINCE + 5_000, "at": UNTIL}
    url = f"sqlite:///{tmp_path}/monitor.sqlite"
    with Store.open(url) as store:
        store.write("deliveries", "run", 0, [*ROWS, sender, receiver, waits, refused])
        store.add_late("deliveries", "run", 0, 4, **late)
        store.reach(dict.fromkeys((*QUERIES, ARRIVALS), FAR))
    with serving("--store", url, log=tmp_path / "log") as address:
        seen.page.goto(f"{address}/?{AT}")
        seen.shows("#tile-missing", "0", "1 waiting")
        expect(seen.page.locator("#tile-missing.bad")).to_have_count(0)
        seen.shows("#tile-refused", "943", "mostly 8429")
        seen.shows("[data-place=losses]", "cannot send in its present state", "ServerA/DatabaseA")
        seen.shows("#tile-messages", "incomplete 13:30:00 to 13:30:05")
        expect(seen.page.locator("[data-place=alarms]")).to_contain_text("queue off")
        expect(seen.page.locator("[data-place=alarms]")).not_to_contain_text("figures incomplete")
        assert seen.complaints == []
        seen.page.set_viewport_size({"width": 390, "height": 800})
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
        seen.page.goto(f"{address}/?from=2026-11-21T13:31:00Z&until=2026-11-21T13:32:00Z")
        seen.shows("#tile-missing", "0", "no missing messages")
        seen.shows("#tile-refused", "0", "no statement or dialog")
        expect(seen.page.locator("#tile-messages")).not_to_contain_text("incomplete")
