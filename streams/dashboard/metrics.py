"""Metrics of a dashboard for Prometheus: views, durations, unavailable sources.

The only labels are the names of pages and sources, which are few.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from nicegui import Client

from streams.dashboard.address import Address
from streams.dashboard.context import Context
from streams.dashboard.header import as_of_store
from streams.dashboard.page import Content, Page
from streams.dashboard.span import Span
from streams.telemetry import Series


class Counts:
    """Counts, durations and failures of the computations of pages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looks: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}

    def watched(self, page: Page) -> Page:
        """Wrap a page so that its views are counted."""

        def view(context: Context, address: Address) -> Mapping[str, Content]:
            began, failed = time.perf_counter(), 1
            try:
                contents = page.view(context, address)
                failed = 0
                return contents
            finally:
                self._note(page.name.lower(), time.perf_counter() - began, failed)

        return replace(page, view=view)

    def _note(self, page: str, took: float, failed: int) -> None:
        with self._lock:
            self._looks[page] += 1
            self._failures[page] += failed
            self._seconds[page] = self._seconds.get(page, 0.0) + took

    def figures(self) -> Iterator[Series]:
        """Yield the counters."""
        with self._lock:
            looks, failures = Counter(self._looks), Counter(self._failures)
            seconds = dict(self._seconds)
        yield _series("looks_total", "Page contents that were computed.", looks)
        yield _series("look_seconds_total", "Time to compute page contents, in seconds.", seconds)
        yield _series("failures_total", "Page contents that could not be computed.", failures)


def _series(name: str, says: str, figures: Mapping[str, float]) -> Series:
    samples = [((page,), figure) for page, figure in sorted(figures.items())]
    return Series(f"hopline_dashboard_{name}", says, samples, ("page",))


def figures_of(context: Context, counts: Counts) -> Iterator[Series]:
    """Yield the figures of a dashboard."""
    yield from counts.figures()
    away = context.troubles().items()
    yield Series(
        "hopline_dashboard_source_away",
        "1 while the store, the topology, or Kafka, cannot be read, otherwise 0.",
        [((source,), trouble is not None) for source, trouble in away],
        ("source",),
    )
    as_of = context.figures.ask(as_of_store, Span(), None)
    yield Series(
        "hopline_dashboard_figures_age_seconds",
        "Age of the newest figures in the store.",
        [] if as_of is None else [((), (context.now() - as_of) / 1_000)],
    )
    yield Series(
        "hopline_dashboard_browsers",
        "Pages that are open in browsers.",
        [((), sum(client.has_socket_connection for client in list(Client.instances.values())))],
    )
