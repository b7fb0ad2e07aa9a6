"""The topic of figures: rows with keys, before they are in the store, again where a batch is."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster, create, read_all
from streams.monitor.publish import Publisher
from streams.store import EventWindow, LatencyWindow, Row, Store
from streams.wire import Topics
from streams.wire.metric import decode_metric
from streams.wire.specs import spec
from tests.store.build import COPIED, EVENT, LATENCY
from tests.store.build_state import DIALOG


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


@pytest.fixture
def cluster(kafka: str, unique: str) -> Cluster:
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, [spec(cluster.topics.metric, "metric")])
    return cluster


def _written(cluster: Cluster) -> list[tuple[bytes, dict[str, object]]]:
    records = read_all(cluster, cluster.topics.metric)
    return [(record.key(), decode_metric(record.value())) for record in records]


def test_a_row_is_in_the_topic_as_it_is_in_the_store(cluster: Cluster, store: Store) -> None:
    rows: list[Row] = [LATENCY, EVENT, COPIED, DIALOG]
    assert Publisher(store, cluster).write("deliveries", "run", 0, rows)
    (first, latency), (_, event), (_, copied) = _written(cluster)  # a dialog has a topic of its own
    assert first.startswith(b"latency_windows/")
    assert (latency["table"], latency["query"], latency["batch"]) == (
        "latency_windows",
        "deliveries",
        0,
    )
    values = latency["values"]
    assert isinstance(values, dict)
    assert (values["path"], values["p95"], values["count"]) == (
        LATENCY.path,
        LATENCY.p95,
        LATENCY.count,
    )
    assert event["values"]["cause"] == "retry"  # type: ignore[index]
    assert copied["values"]["from_initiator"] == 1  # type: ignore[index]
    assert store.read(LatencyWindow) == (LATENCY,)


def test_a_batch_that_is_repeated_has_the_same_keys(cluster: Cluster, store: Store) -> None:
    publisher = Publisher(store, cluster)
    assert publisher.write("deliveries", "run", 0, [LATENCY])
    assert not publisher.write("deliveries", "run", 0, [LATENCY])
    publisher.write("deliveries", "run", 1, [replace(LATENCY, count=9)])
    keys, figures = zip(*_written(cluster), strict=True)
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert figures[-1]["values"]["count"] == 9


def _is_left_out(
    cluster: Cluster, store: Store, large: Sequence[Row], caplog: pytest.LogCaptureFixture
) -> None:
    """Check that the topic gets only the other rows of a batch, with one warning per table."""
    rows = [LATENCY, large[0], EVENT, *large[1:], COPIED]
    publisher = Publisher(store, cluster)
    assert publisher.write("deliveries", "run", 0, rows)
    assert not publisher.write("deliveries", "run", 0, rows)
    tables = {values["table"] for _, values in _written(cluster)}
    assert tables == {"copied_messages", "event_windows", "latency_windows"}
    keys = {key for key, _ in _written(cluster)}
    assert len(keys) == 3
    assert set(store.read(EventWindow)) == {EVENT, *large}
    (record,) = caplog.records
    assert "a row of event_windows" in record.getMessage()


def test_rows_that_the_client_refuses_for_their_size_are_only_in_the_store(
    cluster: Cluster, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    large = [replace(EVENT, from_service=letter * 2_000_000) for letter in "ab"]
    _is_left_out(cluster, store, large, caplog)


def test_rows_that_the_broker_refuses_for_their_size_are_only_in_the_store(
    kafka: str, unique: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker refuses the batch, with the other rows in it."""
    cluster = Cluster(kafka, Topics(unique))
    metric = spec(cluster.topics.metric, "metric")
    create(cluster, [replace(metric, config={**metric.config, "max.message.bytes": "20000"})])
    noise = random.Random(1)  # cannot be compressed
    large = [
        replace(EVENT, from_service="".join(chr(noise.randrange(32, 50_000)) for _ in range(9_000)))
    ]
    _is_left_out(cluster, store, large, caplog)


@dataclass
class Full:
    """A producer whose queue is full ``times`` times; what it takes is confirmed at once."""

    times: int
    taken: int = 0
    polls: int = 0

    def produce(self, *_: object, **__: object) -> None:
        if self.times:
            self.times -= 1
            raise BufferError
        self.taken += 1

    def poll(self, _: float) -> None:
        self.polls += 1

    def flush(self, _: float) -> int:
        return 0


def test_rows_wait_while_the_clients_queue_is_full(store: Store) -> None:
    """Another query may have filled it."""
    publisher = Publisher(store, Cluster("nobody:1"))
    publisher._producer = full = Full(3)  # type: ignore[assignment]
    assert publisher.write("deliveries", "run", 0, [LATENCY, EVENT])
    assert (full.taken, full.polls) == (2, 3 + 2)
    publisher = Publisher(store, Cluster("nobody:1"), wait=0)
    publisher._producer = Full(1_000)  # type: ignore[assignment]
    with pytest.raises(SurroundingsError, match="queue has been full"):
        publisher.write("deliveries", "run", 1, [LATENCY])


def test_without_the_topic_nothing_is_written(kafka: str, unique: str, store: Store) -> None:
    publisher = Publisher(store, Cluster(kafka, Topics(unique)), wait=1.0)
    with pytest.raises(SurroundingsError, match=f"{unique}metric"):
        publisher.write("deliveries", "run", 0, [LATENCY])
    assert store.read(LatencyWindow) == ()
