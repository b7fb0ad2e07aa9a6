"""The pages over a real run: Kafka, workers, Spark; what they show is what the store holds."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from streams.dashboard import wording
from streams.dashboard.span import Span
from streams.store import Report, Situation, Store
from tests.dashboard.served import Seen, serving
from tests.running import eventually, running

pytestmark = pytest.mark.timeout(600)  # Spark starts within
DIALOGS, MESSAGES = 12, 5
SERVICES = ("InitiatorService", "TargetService")


@dataclass(frozen=True, slots=True)
class Real:
    """A dashboard over the figures of a real monitor; ``report`` is about ``span``."""

    address: str
    store: Store
    report: Report
    span: Span

    @property
    def at(self) -> str:
        """Return the time span of an address."""
        return "&".join(f"{name}={value}" for name, value in self.span.parameters().items())


@pytest.fixture(scope="module")
def real(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """Run a small traffic through gateways, and the monitor over it."""
    folder, prefix = tmp_path_factory.mktemp("real"), f"t{uuid.uuid4().hex[:12]}."
    url = f"sqlite:///{folder}/monitor.sqlite"
    with running(kafka, prefix, "combined") as system:
        with system.client() as client:
            for _ in range(DIALOGS):
                dialog = client.begin("ServerA", "DatabaseA", *SERVICES)
                for number in range(MESSAGES):
                    client.send(dialog, b"%d" % number, wait=number == MESSAGES - 1)
            system.events(149, count=DIALOGS)
            queues = [
                system.cluster.topics.queue(f"Server{name}", f"Database{name}", "TargetQueue")
                for name in "BC"
            ]

            def arrived() -> bool:
                return sum(len(system.snapshot(queue)) for queue in queues) == DIALOGS * MESSAGES

            eventually(arrived, "everything has arrived")
        monitor(*system.options, "--store", url, "--checkpoint", str(folder / "checkpoint"))
        options = ("--store", url, "--topology", "combined", *system.options)
        with Store.open(url) as store, serving(*options, log=folder / "log") as address:
            windows = Report(store).latency_windows()
            since = min(row.window_start for row in windows)
            span = Span("", since - 60_000, max(row.window_end for row in windows) + 60_000)
            yield Real(address, store, Report(store, span.bounds(0)), span)


def monitor(*options: str) -> None:
    """Run `hopline monitor` until it has read everything."""
    command = [sys.executable, "-m", "streams", "monitor", "--until-idle", "3", *options]
    subprocess.run(command, check=True, capture_output=True, timeout=500)


@pytest.mark.long
def test_the_overview_shows_the_figures_of_the_store(seen: Seen, real: Real) -> None:
    seen.page.goto(f"{real.address}/?{real.at}")
    [whole] = real.report.latency()
    delivered = DIALOGS * MESSAGES
    assert whole.count == delivered
    expect(seen.page.locator("#tile-messages")).to_contain_text(
        f"{wording.count(delivered)} delivered"
    )
    for share in ("p95", "p99"):
        value = wording.duration(getattr(whole, share))
        assert seen.text(f"#tile-{share} .figure") == value
    assert seen.text("#tile-p95 .note") == f"median {wording.duration(whole.p50)}"
    assert seen.text("#tile-repeats") == "Exactly once kept no repeat, no gap"
    text = seen.text("[data-place=ways]")
    for latency in real.report.latency("path"):
        places, count = latency.key[0].replace(">", " › "), wording.count(latency.count)
        assert f"{places} {count} {wording.duration(latency.p50)}" in text
    assert seen.complaints == []


@pytest.mark.long
def test_the_links_show_the_figures_of_the_store(seen: Seen, real: Real) -> None:
    links = Situation(real.store).links(*real.span.bounds(0))
    busy = max(links, key=lambda link: link.count)
    assert busy.count >= MESSAGES
    seen.page.goto(f"{real.address}/topology?{real.at}&link={busy.instance}>{busy.other}")
    detail = seen.page.locator("#link-detail")
    expect(detail).to_contain_text(f"{wording.count(busy.count)}, {wording.rate(busy.rate)}/s")
    assert f"p95 {wording.duration(busy.p95)}" in seen.text("#link-detail")
    expect(seen.page.locator(".node")).to_have_count(7)
    expect(seen.page.locator(".edge text")).to_have_count(sum(link.count > 0 for link in links))
    assert seen.complaints == []


@pytest.mark.long
def test_a_system_view_is_read_from_kafka(seen: Seen, real: Real) -> None:
    view = "view=sys.conversation_endpoints"
    seen.page.goto(f"{real.address}/topology?{real.at}&instance=ServerA&{view}")
    rows = seen.page.locator("[data-place=views] tbody tr")
    expect(rows).to_have_count(DIALOGS)
    expect(rows.first).to_contain_text("TargetService")
    assert seen.complaints == []


@pytest.mark.long
def test_charts_are_drawn_in_the_room_they_have(seen: Seen, real: Real) -> None:
    seen.page.goto(f"{real.address}/?{real.at}")
    expect(seen.page.locator("[data-place=latencies] svg path").nth(5)).to_be_attached()
    bars = seen.page.locator("[data-place=rates] svg path").evaluate_all(
        "paths => Math.max(...paths.map(p => p.getBoundingClientRect().height))"
    )
    assert bars > 50
