"""Every metric, from what the processes serve."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from docs_site.page import Page, code, escaped, table
from streams.dashboard.metrics import Counts
from streams.dashboard.metrics import figures_of as dashboard_figures
from streams.monitor.metrics import figures_of as monitor_figures
from streams.store import Store
from streams.telemetry import Series
from streams.workers.metrics import FIGURES
from streams.workers.metrics import figures_of as worker_figures

_HEAD = """\
# All metrics

[Metrics](../settings.md#metrics) explains where metrics are served and what their labels mean.
Metrics whose names end in `_total` are counters; all others are gauges.
"""


def pages() -> Iterator[Page]:
    """Yield the page of all metrics."""
    mirrored = {figure.name: figure.mirrors for figure in FIGURES}
    parts = [
        _HEAD,
        _part("Workers", worker_figures(_process()), mirrored),
        _part("Monitor", _of_monitor(), {}),
        _part("Dashboard", dashboard_figures(_context(), Counts()), {}),
    ]
    yield Page("reference/metrics.md", "\n".join(parts))


def _part(title: str, series: Iterable[Series], mirrored: Mapping[str, str]) -> str:
    head = ["metric", "labels", "what it is", *(["Service Broker's counter"] if mirrored else [])]
    rows = []
    for one in series:
        labels = ", ".join(code(label) for label in one.labels)
        row = [code(one.name, one.name), labels, escaped(one.says)]
        rows.append(row + ([escaped(mirrored.get(one.name, ""))] if mirrored else []))
    return f"## {title}\n\n{table(head, rows)}"


def _of_monitor() -> list[Series]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(f"sqlite:///{folder}/monitor.sqlite") as store,
    ):
        return list(monitor_figures([], store, 0))


def _process() -> Any:
    """Return a process without workers: its metrics have names and no values."""
    return SimpleNamespace(catalog_version=0, differences=list, workers=())


def _context() -> Any:
    """Return the context of a dashboard that has read nothing."""
    return SimpleNamespace(figures=SimpleNamespace(ask=lambda *_: None), troubles=dict)
