"""What a monitor that runs says of itself over HTTP."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from streams.errors import UsageError
from streams.monitor import MonitorConfig, run
from streams.monitor.metrics import serving
from streams.monitor.watch import Watch
from streams.store import Store
from streams.wire import Topics
from tests.monitor.records import create_topics
from tests.monitor.test_run import _PATIENCE, _produce, _wait

Samples = dict[tuple[str, ...], float]


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def metrics(port: int) -> Samples:
    code, text = get(port, "/metrics")
    assert code == 200
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_records_batches_and_delay_are_served(
    spark: SparkSession, kafka: str, unique: str, tmp_path: Path
) -> None:
    config = MonitorConfig(
        bootstrap=kafka,
        prefix=unique,
        store=f"sqlite:///{tmp_path}/monitor.sqlite",
        checkpoint=tmp_path / "checkpoint",
        trigger=200,
        http="0",
    )
    create_topics(kafka, Topics(unique).queue("ServerB", "DatabaseB", "TargetQueue"))
    stop, lines = threading.Event(), list[str]()
    running = threading.Thread(
        target=run, args=(config,), kwargs={"stop": stop, "say": lines.append, "spark": spark}
    )
    running.start()
    told = "metrics and health on port "
    _wait(lambda: any(line.startswith(told) for line in lines), "it serves")
    port = int(next(line for line in lines if line.startswith(told)).removeprefix(told))
    _wait(lambda: get(port, "/readyz") == (200, "ok\n"), "it is ready")
    assert get(port, "/healthz") == (200, "ok\n")
    count = _produce(config, 40, seed=1)
    read = ("hopline_monitor_records_total", "deliveries")
    _wait(lambda: metrics(port).get(read) == count, "the deliveries are read")
    found = metrics(port)
    assert found["hopline_monitor_batches_total", "deliveries"] >= 1
    assert found["hopline_monitor_batch_seconds", "deliveries"] > 0
    assert found["hopline_monitor_behind_records", "deliveries"] == 0
    assert found["hopline_monitor_query_active", "deliveries"] == 1
    assert found["hopline_monitor_late_records_total", "deliveries"] == 0
    assert found["hopline_monitor_last_batch_timestamp_seconds", "deliveries"] > 0
    assert ("hopline_monitor_delay_seconds", "deliveries") in found
    assert found["hopline_monitor_repeated_messages",] == 0
    stop.set()
    running.join(_PATIENCE)
    assert not running.is_alive()


def test_nothing_is_served_unless_asked_and_an_address_must_be_one(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        with serving(None, [], store) as port:
            assert port is None
        with pytest.raises(UsageError, match="is no HOST:PORT"), serving("x", [], store):
            pass
        with serving("0", [], store) as port:
            assert port is not None
            assert get(port, "/readyz") == (200, "ok\n")
            assert get(port, "/elsewhere")[0] == 404


def test_a_query_that_ended_is_no_health(tmp_path: Path) -> None:
    class Ended:
        name, isActive = "deliveries", False
        status = MappingProxyType({"message": "Stopped"})

    watch = replace(Watch(Ended()), rows=3)
    with (
        Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store,
        serving("0", [watch], store) as port,
    ):
        assert port is not None
        assert get(port, "/healthz") == (503, "The query 'deliveries' has ended.\n")
        assert metrics(port)["hopline_monitor_query_active", "deliveries"] == 0
        assert metrics(port)["hopline_monitor_records_total", "deliveries"] == 3
        assert ("hopline_monitor_delay_seconds", "deliveries") not in metrics(port)
