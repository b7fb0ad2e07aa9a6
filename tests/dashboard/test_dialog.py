"""The Dialog page in a real browser, over the topics of dialogs that were really held."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from streams.errors import Number
from streams.live.life import Life, read_life
from streams.store import DialogSide, Store
from tests.dashboard.rows import AT, SINCE
from tests.dashboard.served import Seen, serving
from tests.live.lives import AT_A, chosen, lived
from tests.running import running
from tests.workers.rig import QUICK

LONG = 150


@dataclass(frozen=True)
class RunningSystem:
    """Dialogs that were held, and the dashboard that shows them."""

    address: str
    plain: Life
    retried: Life
    long: uuid.UUID


@pytest.fixture(scope="module")
def system(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """Hold three dialogs: one over a gateway, one with retries, one with many messages."""
    folder = tmp_path_factory.mktemp("dialogs")
    prefix = f"t{uuid.uuid4().hex[:12]}."
    with running(kafka, prefix, "combined", limits=QUICK, start=False) as system:
        system.start("ServerA", "ServerC", "GatewayA", "GatewayB", "GatewayC", "GatewayD")
        system.start("ServerB", roles=("forwarder",))
        services = ("InitiatorService", "TargetService")
        to_b = chosen(system.topology, "DatabaseB")
        with system.client() as client:
            late = client.begin(*AT_A, *services, conversation=to_b)
            client.send(late, b"<late/>", wait=True)
            system.records(system.cluster.topics.inbox("ServerB"), count=3)
            system.start("ServerB", roles=("endpoint",))
            system.events(160, lambda e: e["error"] == Number.DUPLICATE, count=2)
            system.received("ServerB", "DatabaseB", "TargetQueue", 1)
            system.events(149)
            long = client.begin(*AT_A, *services, conversation=chosen(system.topology, "DatabaseC"))
            for number in range(LONG):
                client.send(long, b"%d" % number, wait=number == LONG - 1)
            queue = system.cluster.topics.queue("ServerC", "DatabaseC", "TargetQueue")
            system.records(queue, count=LONG)
        told = lived(system, chosen(system.topology, "DatabaseB")).conversation
    # the workers have ended, so the pages find the same records
    plain, retried = (read_life(system.cluster, each) for each in (told, late.id))
    url = f"sqlite:///{folder}/monitor.sqlite"
    with Store.open(url) as store:
        store.write("dialogs", "run", 0, [slow(str(plain.conversation))])
    options = ("--store", url, "--bootstrap", kafka, "--prefix", prefix)
    with serving(*options, log=folder / "log") as address:
        yield RunningSystem(address, plain, retried, long.id)


def slow(conversation: str) -> DialogSide:
    """Return a side that waited a second and a half for its target."""
    return DialogSide(
        "ServerA", "DatabaseA", conversation, True, "InitiatorService", "TargetService",
        "DEFAULT", "CD", SINCE, SINCE + 3_600_000, "DatabaseB", SINCE + 1_500, None, None, None,
        SINCE + 2_000, 2, 2, 1, 0, 0, None, 0, 0, 0, SINCE + 2_000, 7,
    )  # fmt: skip


def shown(seen: Seen, system: RunningSystem, life: Life, more: str = "") -> None:
    seen.page.goto(f"{system.address}/dialog/{life.conversation}{more}")
    expect(seen.page.locator("svg.sequence")).to_be_visible(timeout=60_000)


@pytest.mark.long
def test_what_the_page_shows_is_what_is_in_the_topics(seen: Seen, system: RunningSystem) -> None:
    shown(seen, system, system.plain, "?rows=all")
    assert seen.page.locator("svg.sequence a").count() == len(system.plain.steps)
    labels = [
        a.get_attribute("aria-label") or "" for a in seen.page.locator("svg.sequence a").all()
    ]
    for label, step in zip(labels, system.plain.steps, strict=True):
        assert step.sight.verb in label
    assert seen.text("#tile-sent") == "Messages 3 2 to the target, 1 back"
    assert seen.text("#tile-delivered").startswith("In a queue 3 the slowest after")
    assert seen.text("#tile-locked").startswith("Locked to DatabaseB after")
    assert seen.text(".head h1") == (
        "ServerA/DatabaseA/InitiatorService → ServerB/DatabaseB/TargetService"
    )
    rows = seen.page.locator("[data-place=messages] tbody tr")
    assert rows.count() == len(system.plain.messages)
    hosts = {urlsplit(url).netloc for url in seen.requests if not url.startswith("data:")}
    assert hosts == {urlsplit(system.address).netloc}
    assert seen.complaints == []


@pytest.mark.long
def test_a_row_leads_to_its_decision_and_the_address_brings_it_back(
    seen: Seen, system: RunningSystem
) -> None:
    shown(seen, system, system.plain, "?rows=all")
    number = next(n for n, step in enumerate(system.plain.steps) if step.decisions)
    step = system.plain.steps[number]
    seen.page.locator(f"#row-{number}").click()
    panel = seen.page.locator("[data-place=step]")
    expect(panel).to_contain_text(f"Step {number + 1}")
    expect(panel).to_contain_text(step.decisions[0].rule)
    expect(panel).to_contain_text(step.where)
    for rule in step.decisions[0].answer.explanation.trace:
        expect(panel).to_contain_text(rule.why)
    assert "STOPPED" not in panel.inner_text()
    assert f"step={number}" in seen.page.url
    expect(seen.page.locator(f"#row-{number}")).to_have_attribute("aria-current", "true")
    before = panel.inner_text()
    seen.page.goto(seen.page.url)
    expect(panel).to_contain_text(f"Step {number + 1}")
    assert panel.inner_text() == before
    assert seen.complaints == []


@pytest.mark.long
def test_duplicates_say_why_and_are_counted(seen: Seen, system: RunningSystem) -> None:
    shown(seen, system, system.retried)
    [message] = system.retried.messages
    assert seen.text("#tile-removed").startswith(f"Copies removed {message.removed} ")
    again = next(n for n, s in enumerate(system.retried.steps) if s.number == Number.DUPLICATE)
    seen.page.goto(f"{system.address}/dialog/{system.retried.conversation}?step={again}")
    panel = seen.page.locator("[data-place=step]")
    expect(panel).to_contain_text("the sender retried")
    expect(panel).to_contain_text("11218: the message is a duplicate")


@pytest.mark.long
def test_a_keyboard_is_enough(seen: Seen, system: RunningSystem) -> None:
    seen.page.goto(f"{system.address}/dialog")
    expect(seen.page.locator("#dialog-id")).to_be_visible()
    seen.page.keyboard.press("/")
    expect(seen.page.locator("#dialog-id")).to_be_focused()
    seen.page.keyboard.type(f"{{{str(system.plain.conversation).upper()}}}")
    seen.page.keyboard.press("Enter")
    expect(seen.page.locator("svg.sequence")).to_be_visible(timeout=60_000)
    panel = seen.page.locator("[data-place=step]")
    for key, heading in (("j", "Step 1"), ("j", "Step 2"), ("k", "Step 1")):
        seen.page.keyboard.press(key)
        expect(panel.locator("h2")).to_contain_text(f"{heading} ")
    seen.page.keyboard.press("r")
    expect(seen.page.locator("svg.sequence")).to_contain_text("(M3 TargetRoute")
    assert "rules=yes" in seen.page.url
    seen.page.locator("#row-2").focus()
    seen.page.keyboard.press("Enter")
    expect(panel).to_contain_text("Step 3")
    expect(seen.page.locator("#row-2")).to_be_focused()
    assert seen.complaints == []


@pytest.mark.long
def test_the_picture_is_dark_where_the_page_is(seen: Seen, system: RunningSystem) -> None:
    colours = {}
    for theme in ("light", "dark"):
        seen.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        shown(seen, system, system.plain)
        text = seen.page.locator("svg.sequence text.name").first
        colours[theme] = text.evaluate("e => getComputedStyle(e).fill")
    assert colours == {"light": "rgb(31, 35, 40)", "dark": "rgb(230, 232, 235)"}


@pytest.mark.long
def test_a_long_dialog_has_pages(seen: Seen, system: RunningSystem) -> None:
    seen.page.goto(f"{system.address}/dialog/{system.long}?rows=all")
    pager = seen.page.locator("[data-place=diagram] .pager")
    expect(pager).to_contain_text("1–60 of")
    assert seen.page.locator("svg.sequence a").count() == 60
    seen.page.keyboard.press("l")
    expect(pager).to_contain_text("61–120 of")
    assert "page=1" in seen.page.url
    messages = seen.page.locator("[data-place=messages]")
    expect(messages).to_contain_text(f"1–25 of {LONG}")
    seen.page.locator("#messages-after").click()
    expect(messages).to_contain_text("26–50 of")
    seen.page.locator("#message-i40").click()
    expect(seen.page.locator("[data-place=step]")).to_contain_text("40")
    expect(pager).not_to_contain_text("61–120 of")
    assert seen.complaints == []


@pytest.mark.long
def test_invalid_and_unknown_ids_are_reported(seen: Seen, system: RunningSystem) -> None:
    seen.page.goto(f"{system.address}/dialog?id=hello")
    expect(seen.page.locator("[role=alert]")).to_contain_text("This is not a conversation id")
    nobody = uuid.uuid4()
    seen.page.goto(f"{system.address}/dialog/{nobody}")
    expect(seen.page.locator("[data-place=diagram]")).to_contain_text(
        f"There is no record of {nobody}"
    )
    assert seen.complaints == []


@pytest.mark.long
def test_lists_lead_to_dialogs(seen: Seen, system: RunningSystem) -> None:
    seen.page.goto(f"{system.address}/dialog?{AT}")
    expect(seen.page.locator("[data-place=list-slow]")).to_contain_text("1.5 s")
    expect(seen.page.locator("[data-place=list-leaked]")).to_contain_text("No dialog is left open")
    seen.page.locator("#slow-0").click()
    expect(seen.page).to_have_url(re.compile(f"/dialog/{system.plain.conversation}"))
    expect(seen.page.locator("svg.sequence")).to_be_visible(timeout=60_000)


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "was started without a Kafka cluster"),
        (("--bootstrap", "127.0.0.1:1"), "Kafka at 127.0.0.1:1 cannot be reached"),
    ],
)
def test_without_kafka_the_page_reports_it_and_the_rest_works(
    seen: Seen, small: str, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    with serving("--store", small, *options, log=tmp_path / "log") as address:
        seen.page.goto(f"{address}/dialog/{uuid.uuid4()}")
        expect(seen.page.locator("[data-place=diagram]")).to_contain_text(words)
        seen.page.goto(f"{address}/dialog?{AT}")
        expect(seen.page.locator("[data-place=list-slow]")).to_contain_text(
            "No initiator has waited"
        )
        assert seen.complaints == []
