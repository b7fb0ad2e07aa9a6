"""Every page in a real browser: what it asks for, what it complains of, what a keyboard can do."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from streams.dashboard.pages import PAGES
from tests.dashboard.rows import AT
from tests.dashboard.served import Seen

PATHS = [page.path for page in PAGES]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_complains_of_nothing_and_asks_nobody_else(
    seen: Seen, dashboard: str, path: str, theme: str
) -> None:
    seen.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    seen.page.goto(f"{dashboard}{path}?{AT}")
    expect(seen.page.locator("main")).to_be_visible()
    expect(seen.page.locator("html")).to_have_attribute("data-theme", theme)
    seen.page.wait_for_load_state("networkidle")
    hosts = {urlsplit(url).netloc for url in seen.requests if not url.startswith("data:")}
    assert hosts == {urlsplit(dashboard).netloc}
    assert seen.complaints == []


def test_numbers_are_those_of_the_store(seen: Seen, dashboard: str) -> None:
    seen.page.goto(f"{dashboard}/?{AT}")
    expect(seen.page.locator("#tile-messages")).to_contain_text("2,000 delivered")
    assert seen.text("#tile-p50") == "Latency p50 12 ms half of all are faster"
    assert seen.text("#tile-p99") == "Latency p99 80 ms 80 ms at most"
    assert "21" in seen.text("#tile-copies")
    assert "ServerA › GatewayA › ServerB/DatabaseB 1,200 12 ms 24 ms" in seen.text(
        "[data-place=ways]"
    )
    assert seen.page.locator("[data-place=rates] svg path").count() > 2
