"""Metrics in Prometheus's text format, read on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Metric,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Samples = Iterable[tuple[tuple[str, ...], float]]
"""Label values, and the value of the sample."""


@dataclass(frozen=True, slots=True)
class Series:
    """A metric with its samples; a name that ends in ``_total`` marks a counter.

    A label has a bounded set of values: it may be a role, an instance, a topic or an error number,
    but never an id.
    """

    name: str
    says: str
    samples: Samples
    labels: tuple[str, ...] = ()


class _Reader(Collector):
    def __init__(self, read: Callable[[], Iterable[Series]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        """Read all metrics."""
        for series in self._read():
            counts = series.name.endswith("_total")
            family = CounterMetricFamily if counts else GaugeMetricFamily
            metric = family(series.name, series.says, labels=series.labels)
            for labels, value in series.samples:
                metric.add_metric(list(labels), float(value))
            yield metric


def exposition_of(read: Callable[[], Iterable[Series]]) -> Callable[[], bytes]:
    """Return a function that writes these metrics, and the process's own, as Prometheus text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Reader(read))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return lambda: generate_latest(registry)
