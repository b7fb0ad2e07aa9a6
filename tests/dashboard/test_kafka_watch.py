"""An outage of Kafka is shown at once, with the time at which it began."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.dashboard.context import Context
from streams.dashboard.figures import Figures
from streams.dashboard.header import troubles
from streams.dashboard.kafka_watch import ANSWERS_WITHIN, EVERY, KafkaWatch
from streams.dashboard.metrics import Counts, figures_of
from streams.dashboard.network import Network, network_of
from streams.dashboard.slow import Slow
from streams.embedded import Broker
from streams.errors import SurroundingsError
from streams.kafka import Cluster
from streams.store import Store
from streams.topology import Topology
from streams.wire import Topics
from tests.running import eventually

AT = 1_795_267_800_000
"""2026-11-21T13:30:00Z."""


class Clock:
    now = AT

    def __call__(self) -> int:
        return self.now


@contextmanager
def frozen(broker: Broker) -> Iterator[None]:
    running = broker.data.recorded()
    assert running is not None
    os.kill(running.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(running.pid, signal.SIGCONT)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[tuple[Context, Broker, Clock]]:
    clock = Clock()
    with Broker(tmp_path / "kafka") as broker, Store.open(f"sqlite:///{tmp_path}/store") as store:
        cluster = Cluster(broker.bootstrap, Topics("ssb."))
        network, slow = network_of(None, cluster), Slow(clock)
        watch = KafkaWatch(cluster, clock)
        yield (
            Context(Figures(store, clock, 2.0), network, cluster, slow, clock, watch),
            broker,
            clock,
        )


def away(context: Context) -> dict[tuple[str, ...], float]:
    (series,) = (s for s in figures_of(context, Counts()) if s.name.endswith("_source_away"))
    return dict(series.samples)


def test_a_frozen_broker_is_an_outage_since_the_first_check_that_failed(
    context: tuple[Context, Broker, Clock],
) -> None:
    """No banner was shown, and the metric stayed 0, while reads of the catalog waited."""
    page, broker, clock = context
    watch = page.kafka
    eventually(lambda: watch.look() or watch.trouble is None, "it answers")
    assert (troubles(page), set(away(page).values())) == ((), {0})
    with frozen(broker):
        clock.now += 60_000
        watch.look()
        (banner,) = troubles(page)
        assert (banner.what, banner.since) == ("Kafka", "13:31:00")
        assert "does not answer" in banner.message
        assert away(page) == {("store",): 0, ("topology",): 1, ("kafka",): 1}
        clock.now += 60_000
        watch.look()
        assert troubles(page) == (banner,)
    eventually(lambda: watch.look() or watch.trouble is None, "it answers again")
    assert troubles(page) == ()


def test_an_outage_is_found_within_five_seconds() -> None:
    """In the worst case, the last check has just succeeded; pages are shown every two seconds."""
    assert EVERY + ANSWERS_WITHIN + 2.0 <= 5.0


def test_without_a_cluster_kafka_is_no_source(tmp_path: Path) -> None:
    clock = Clock()
    with Store.open(f"sqlite:///{tmp_path}/store") as store:
        figures = Figures(store, clock, 2.0)
        page = Context(figures, network_of(None, None), None, Slow(clock), clock)
        page.kafka.look()
        assert away(page) == {("store",): 0, ("topology",): 0}


def test_a_read_that_fails_late_began_to_fail_early() -> None:
    """A read waits half a minute for Kafka: its end is not when the outage began."""
    clock = Clock()

    def read() -> tuple[object, Topology | None]:
        clock.now += 30_000
        raise SurroundingsError("Kafka does not answer.")

    network = Network("the catalog", read, clock)
    for _ in range(2):
        network.look()
        assert network.trouble is not None
        assert network.trouble.since == AT
