"""Every page in a real browser: what it asks for, what it complains of, what it shows."""

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
    expect(seen.page.locator("#main .panel:visible").first).to_be_visible()
    expect(seen.page.locator("html")).to_have_attribute("data-theme", theme)
    seen.page.wait_for_function("document.fonts.status === 'loaded'")
    hosts = {urlsplit(url).netloc for url in seen.requests if not url.startswith("data:")}
    assert hosts == {urlsplit(dashboard).netloc}
    assert seen.complaints == []


def test_the_overview_has_the_numbers_of_the_store(seen: Seen, dashboard: str) -> None:
    seen.page.goto(f"{dashboard}/?{AT}")
    expect(seen.page.locator("#tile-messages")).to_contain_text("2,000 delivered")
    assert seen.text("#tile-p95") == "Latency p95 40 ms median 12 ms"
    assert seen.text("#tile-missing") == "Missing 0 no missing messages"
    assert seen.text("#tile-p99") == "Latency p99 80 ms max 80 ms"
    assert seen.text("#tile-waiting") == "Waiting to be sent 1,234 oldest since 13:30:05"
    assert "21" in seen.text("#tile-copies")
    path = "ServerA › GatewayA › ServerB/DatabaseB 1,200 12 ms 24 ms"
    seen.shows("[data-place=ways]", path)
    seen.shows("[data-place=losses]", "11285")
    for chart in ("rates", "latencies", "depths", "duplicates"):
        expect(seen.page.locator(f"[data-place={chart}] svg path").nth(3)).to_be_attached()


def test_the_axis_of_counts_ends_at_a_round_number(seen: Seen, dashboard: str) -> None:
    """A label for the highest value, here 1,234, can lie on the label of a round number."""
    seen.page.goto(f"{dashboard}/?{AT}")
    labels = seen.page.locator("[data-place=depths] svg text")
    expect(labels.filter(has_text="1,000")).to_have_count(1)
    counts = [text for text in labels.all_text_contents() if text.replace(",", "").isdigit()]
    assert counts == ["0", "500", "1,000", "1,500"]


def test_figures_say_of_when_they_are(seen: Seen, dashboard: str) -> None:
    seen.page.goto(f"{dashboard}/?last=5m")
    expect(seen.page.locator("[data-place=as_of]")).to_contain_text("Figures as of 13:32:00, ")
    expect(seen.page.locator("[data-place=as_of] .old")).to_be_visible()
    expect(seen.page.locator("[data-place=alarms]")).to_contain_text("No monitor is running")
    seen.page.get_by_text("Show 2026-11-21 13:27:00 – 13:32:00").click()
    expect(seen.page.locator("#tile-messages")).to_contain_text("2,000 delivered")
    expect(seen.page).to_have_url(
        f"{dashboard}/?from=2026-11-21T13%3A27%3A00Z&until=2026-11-21T13%3A32%3A00Z"
    )


def test_a_link_and_an_instance_show_their_details(seen: Seen, dashboard: str) -> None:
    seen.page.goto(f"{dashboard}/topology?{AT}")
    expect(seen.page.locator("#node-ServerA")).to_be_visible()
    seen.click_link("ServerA>GatewayB")
    expect(seen.page.locator("#link-detail")).to_contain_text("800, 6.7/s")
    buffered = "Buffered here 17 copies, 4.2 kB"
    seen.shows("#link-detail", "State down", buffered, "TargetRouteB in DatabaseA")
    expect(seen.page.locator("[data-place=link_chart] svg path").nth(3)).to_be_attached()

    seen.page.locator("#node-ServerA").click()
    expect(seen.page.locator("#instance-detail")).to_contain_text("1,234 messages")
    expect(seen.page.locator("#link-detail")).to_have_count(0)
    expect(seen.page.locator("[data-place=link_chart]")).to_be_hidden()
    seen.shows("#instance-detail", "Status 9753 1,234 messages", "to GatewayA 10/s 3 ms")
    seen.shows("[data-place=views]", "tcp://GatewayA:4022")
    seen.page.locator("[id='view-sys.transmission_queue']").click()
    expect(seen.page.locator("[data-place=views]")).to_contain_text("--bootstrap")


def test_an_address_shows_the_same_again(seen: Seen, dashboard: str) -> None:
    page = seen.page
    page.goto(f"{dashboard}/topology?{AT}")
    page.locator("#find").fill("gateway")
    page.locator("#find").press("Enter")
    expect(page.locator(".node")).to_have_count(4)
    page.locator("#around").select_option("1")
    expect(page.locator(".node")).to_have_count(7)
    page.locator("#show").select_option("trouble")
    page.locator("#node-GatewayB").click()
    expect(page.locator("#instance-detail")).to_contain_text("no heartbeat")
    places = ("filters", "graph", "side", "views")
    before = {name: seen.text(f"[data-place={name}]") for name in places}
    address = page.url

    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#instance-detail")).to_be_visible()
    assert {name: seen.text(f"[data-place={name}]") for name in places} == before
    assert page.locator("#find").input_value() == "gateway"
    assert page.locator("#around").input_value() == "1"


def test_back_and_forth_go_through_what_was_looked_at(seen: Seen, dashboard: str) -> None:
    page = seen.page
    page.goto(f"{dashboard}/topology?{AT}")
    page.locator("#node-ServerA").click()
    expect(page.locator("#instance-detail h2")).to_contain_text("ServerA")
    page.locator("#node-GatewayA").click()
    expect(page.locator("#instance-detail h2")).to_contain_text("GatewayA")
    page.go_back()
    expect(page.locator("#instance-detail h2")).to_contain_text("ServerA")
    page.go_back()
    expect(page.locator("#instance-detail")).to_have_count(0)
    page.go_forward()
    expect(page.locator("#instance-detail h2")).to_contain_text("ServerA")


def test_the_path_of_a_message_is_shown_and_drawn(seen: Seen, dashboard: str) -> None:
    page = seen.page
    page.goto(f"{dashboard}/topology?{AT}")
    page.locator("#ask-from").fill("ServerA/DatabaseA/InitiatorService")
    page.locator("#ask-to").fill("TargetService")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("[data-place=answer]")).to_contain_text("delivered to ServerB/DatabaseB")
    seen.shows("[data-place=answer] h2", "Predicted path ok")
    expect(page.locator(".edge.there")).to_have_count(8)
    page.locator("#ask-from").fill("ServerX/DatabaseA")
    page.locator("#ask-from").press("Enter")
    expect(page.locator("[data-place=answer]")).to_contain_text("There is no instance 'ServerX'")


def test_time_is_chosen_by_a_preset_by_steps_and_by_instants(seen: Seen, dashboard: str) -> None:
    page = seen.page
    page.goto(f"{dashboard}/?{AT}")
    expect(page.locator("#span-words")).to_have_text("2026-11-21 13:30:00 – 13:32:00 UTC")
    page.locator("#span-back").click()
    expect(page.locator("#span-words")).to_have_text("2026-11-21 13:28:00 – 13:30:00 UTC")
    expect(page.locator("#tile-messages")).to_contain_text("0 delivered")
    page.locator("#span-words").click()
    page.locator("#span-picker [name=from]").fill("2026-11-21T13:30:00Z")
    page.locator("#span-picker [name=until]").fill("2026-11-21T13:31:00Z")
    page.locator("#span-picker [name=until]").press("Enter")
    expect(page.locator("#tile-messages")).to_contain_text("800 delivered")
    expect(page.locator("#span-picker")).to_be_hidden()
    page.locator("#span-words").click()
    page.get_by_role("link", name="Last hour").click()
    expect(page).to_have_url(f"{dashboard}/?last=1h")
