"""What the dashboard serves to Prometheus."""

from __future__ import annotations

import urllib.request

from playwright.sync_api import expect
from prometheus_client.parser import text_string_to_metric_families

from tests.dashboard.rows import AT
from tests.dashboard.served import Seen
from tests.running import DEADLINE

Samples = dict[tuple[str, ...], float]


def metrics(dashboard: str) -> Samples:
    with urllib.request.urlopen(f"{dashboard}/metrics", timeout=DEADLINE) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_queries_are_counted_and_an_unavailable_store_is_reported(
    seen: Seen, dashboard: str
) -> None:
    before = metrics(dashboard).get(("hopline_dashboard_looks_total", "overview"), 0.0)
    seen.page.goto(f"{dashboard}/?{AT}")
    expect(seen.page.locator("#tile-messages")).to_contain_text("2,000 delivered")
    found = metrics(dashboard)
    assert found["hopline_dashboard_looks_total", "overview"] > before
    assert found["hopline_dashboard_look_seconds_total", "overview"] > 0
    assert found["hopline_dashboard_failures_total", "overview"] == 0
    assert found["hopline_dashboard_source_away", "store"] == 0
    assert found["hopline_dashboard_browsers",] >= 1
    assert found["hopline_dashboard_figures_age_seconds",] != 0
    assert found["process_cpu_seconds_total",] > 0
