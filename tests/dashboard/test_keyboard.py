"""Everything can be done without a mouse, and the focus is never lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.dashboard.rows import AT
from tests.dashboard.served import Seen

FOCUSED = "document.activeElement.id"


@pytest.mark.long
def test_the_first_stop_leads_to_the_content(seen: Seen, dashboard: str) -> None:
    seen.page.goto(f"{dashboard}/?{AT}")
    expect(seen.page.locator("#tile-messages")).to_be_visible()
    seen.page.keyboard.press("Tab")
    expect(seen.page.locator(".skip")).to_be_focused()
    seen.page.keyboard.press("Enter")
    expect(seen.page.locator("#main")).to_be_focused()


@pytest.mark.long
def test_keys_lead_to_pages_times_and_the_theme(seen: Seen, dashboard: str) -> None:
    page = seen.page
    page.goto(f"{dashboard}/?{AT}")
    expect(page.locator("#span-back")).to_be_visible()
    page.keyboard.press("[")
    expect(page.locator("#span-words")).to_contain_text("13:28:00 – 13:30:00")
    page.keyboard.press("]")
    expect(page.locator("#span-words")).to_contain_text("13:30:00 – 13:32:00")
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.keyboard.press("2")
    expect(page.locator("#node-ServerA")).to_be_visible()
    assert "from=2026-11-21T13%3A30%3A00Z" in page.url
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")  # it is kept
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type("12t[")  # within a text they are letters
    assert page.locator("#find").input_value() == "12t["


def test_an_instance_is_chosen_and_left_and_keeps_the_focus(seen: Seen, dashboard: str) -> None:
    page = seen.page
    page.goto(f"{dashboard}/topology?{AT}")
    page.locator("#node-GatewayA").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#instance-detail h2")).to_contain_text("GatewayA")
    expect(page.locator("#node-GatewayA")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED).startswith(("node-", "link-"))
    page.keyboard.press("Escape")
    expect(page.locator("#instance-detail")).to_have_count(0)


def test_everything_that_can_be_pressed_has_a_name(seen: Seen, dashboard: str) -> None:
    for path in ("/", "/topology"):
        seen.page.goto(f"{dashboard}{path}?{AT}")
        expect(seen.page.locator("#main .panel:visible").first).to_be_visible()
        nameless = seen.page.evaluate(
            """() => [...document.querySelectorAll('a, button, input, select, [role=img]')]
                .filter(e => e.type !== 'hidden' && !(e.ariaLabel || e.textContent.trim()
                    || e.closest('label') || e.getAttribute('aria-label')))
                .map(e => e.outerHTML)"""
        )
        assert nameless == []
