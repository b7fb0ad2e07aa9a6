"""The topic of figures: rows with keys, before they are in the store, again where a batch is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster, create, read_all
from streams.monitor.publish import Publisher
from streams.store import LatencyWindow, Row, Store
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


def test_without_the_topic_nothing_is_written(kafka: str, unique: str, store: Store) -> None:
    publisher = Publisher(store, Cluster(kafka, Topics(unique)), wait=1.0)
    with pytest.raises(SurroundingsError, match=f"{unique}metric"):
        publisher.write("deliveries", "run", 0, [LATENCY])
    assert store.read(LatencyWindow) == ()
