"""Alert rules and the Grafana dashboard ask for metrics that processes really serve."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from streams.analysis.check.table import CHECKS
from streams.cli.commands import COMMANDS
from streams.dashboard.context import Context
from streams.dashboard.figures import Figures
from streams.dashboard.metrics import Counts
from streams.dashboard.metrics import figures_of as dashboard_figures
from streams.dashboard.network import network_of
from streams.dashboard.slow import Slow
from streams.kafka import Cluster
from streams.monitor.metrics import figures_of as monitor_figures
from streams.store import Store
from streams.telemetry import exposition_of
from streams.workers import ROLES, Plan, Process
from streams.workers.metrics import figures_of as worker_figures

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
BOARD = json.loads((DEPLOY / "grafana" / "hopline.json").read_text("utf-8"))
SCRAPED = {"job", "instance"}
"""Labels that Prometheus itself adds."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return every metric that some process of ours serves, with its labels."""
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/monitor.sqlite"
    process = Process(Cluster("127.0.0.1:1"), Plan(ROLES, ("A",)))
    found: dict[str, set[str]] = {"up": set()}  # Prometheus's own
    with Store.open(url) as store:
        figures = Figures(store, lambda: 0, 2.0)
        context = Context(figures, network_of(None, None), None, Slow(lambda: 0), lambda: 0)
        of_dashboard = dashboard_figures(context, Counts())
        for series in (*worker_figures(process), *monitor_figures([], store, 0), *of_dashboard):
            assert series.name not in found, "two processes call different things alike"
            found[series.name] = set(series.labels)
    for family in text_string_to_metric_families(exposition_of(list)().decode()):
        found.update({sample.name: set(sample.labels) for sample in family.samples})
    return found


def of_board() -> Iterator[tuple[str, str]]:
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")


EXPRESSIONS = [*((rule["alert"], rule["expr"]) for rule in RULES), *of_board()]


def selectors(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the metrics of an expression, with the labels by which they are chosen."""
    found: list[Any] = []
    promql.walk(promql.parse(expression), pre_visit=lambda node: found.append(node) or True)
    for node in found:
        vector = getattr(node, "vector_selector", node)
        if isinstance(vector, promql.VectorSelector):
            yield vector.name, {m.name for m in vector.matchers.matchers}


@pytest.mark.parametrize(("title", "expression"), EXPRESSIONS, ids=[t for t, _ in EXPRESSIONS])
def test_an_expression_asks_for_what_there_is(
    title: str, expression: str, served: dict[str, set[str]]
) -> None:
    asked = list(selectors(expression))
    assert asked
    for name, labels in asked:
        assert name in served, f"{title}: no process serves {name}"
        known = served[name] | SCRAPED
        assert labels <= known, f"{title}: {name} has no label {labels - known}"
        for by in re.findall(r"\bby \(([^)]*)\)", expression):
            wanted = set(by.replace(" ", "").split(","))
            assert wanted <= known, f"{title}: {name} has no label {wanted - known}"


def test_what_an_alert_shows_of_its_labels_is_there(served: dict[str, set[str]]) -> None:
    for rule in RULES:
        shown = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        left = [served[name] | SCRAPED for name, _ in selectors(rule["expr"])]
        by = re.search(r"\bby \(([^)]*)\)", rule["expr"])
        kept = set(by[1].replace(" ", "").split(",")) if by else set.intersection(*left)
        assert shown <= kept, rule["alert"]


def test_every_alert_that_documentation_and_commands_name_exists() -> None:
    root = DEPLOY.parent
    texts = [path.read_text("utf-8") for path in (root / "docs").rglob("*.md")]
    texts += [path.read_text("utf-8") for path in (root / "streams").rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"\balerts?\s+`?(Hopline\w+)", text)}
    alerts = (DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8")
    named |= set(re.findall(r"\((Hopline\w+)\)", alerts))
    assert {"HoplineStatementHeldBack", "HoplineMessagesHeld"} <= named
    assert named <= {rule["alert"] for rule in RULES}


def test_every_alert_says_what_to_do() -> None:
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        said = rule["annotations"]
        assert set(said) == {"summary", "description", "runbook"}, rule["alert"]
        assert all(len(text) > 20 for text in said.values()), rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_drops_that_repeat_until_somebody_acts_raise_an_alert() -> None:
    """All numbers with which a forwarder drops copies, except 11288: the copy is buffered here."""
    numbers = {9750, 9770, 9789, 9792, 9794, 11285, 11289, 11290, 11291, 11292, 11293, 11294}
    counted = re.compile(r'hopline_forwarded_messages_discarded_total\{number=~?"([\d|]+)"\}')
    watched = [found for rule in RULES for found in counted.findall(rule["expr"])]
    assert {int(number) for found in watched for number in found.split("|")} == numbers


def test_what_an_alert_names_exists() -> None:
    text = (DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8")
    assert set(re.findall(r"TA-\d+", text)) <= {check.code for check in CHECKS}
    assert set(re.findall(r"hopline ([a-z]+)", text)) <= set(COMMANDS)


def test_panels_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_all_that_the_monitor_tells_of_itself_is_watched(served: dict[str, set[str]]) -> None:
    asked = {name for _, expression in EXPRESSIONS for name, _ in selectors(expression)}
    told = {name for name in served if name.startswith("hopline_monitor_")}
    # How many batches there were, and when the last one ended, is for whoever asks.
    assert told - asked == {
        "hopline_monitor_batches_total",
        "hopline_monitor_last_batch_timestamp_seconds",
    }


def test_every_metric_of_ours_is_in_the_documentation(served: dict[str, set[str]]) -> None:
    page = (DEPLOY.parent / "docs" / "settings.md").read_text("utf-8")
    assert {name for name in served if name.startswith("hopline_") and name not in page} == set()
