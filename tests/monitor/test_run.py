"""The monitor as a whole: starts before there are topics, goes on, stops in order, says why not."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, read_ends, trim
from streams.monitor import MonitorConfig, open_session, run
from streams.monitor.cluster import cluster_id
from streams.store import Report, Row, Store, database
from streams.wire import Topics
from tests.monitor.records import Stored, create_topics, produce
from tests.monitor.traffic import deliveries
from tests.running import DEADLINE
from tests.workers.raw_produce import produce_unreadable

_PATIENCE = 2 * DEADLINE  # Spark has to start


@pytest.fixture
def config(kafka: str, unique: str, tmp_path: Path) -> MonitorConfig:
    return MonitorConfig(
        bootstrap=kafka,
        prefix=unique,
        store=f"sqlite:///{tmp_path}/monitor.sqlite",
        checkpoint=tmp_path / "checkpoint",
        trigger=200,
        ready_file=tmp_path / "ready",
    )


def _wait(condition: Callable[[], bool], what: str) -> None:
    end, pause = time.monotonic() + _PATIENCE, threading.Event()
    while not condition():
        assert time.monotonic() < end, what
        pause.wait(0.05)


def _delivered(config: MonitorConfig) -> int:
    with Store.open(config.store) as store:
        return sum(row.count for row in Report(store).latency())


def _produce(config: MonitorConfig, count: int, seed: int) -> int:
    traffic = [d for d in deliveries(count, seed=seed) if len(d.visits) > 1 and not d.flags]
    topic = Topics(config.prefix).queue("ServerB", "DatabaseB", "TargetQueue")
    produce(config.bootstrap, [Stored(d.headers, topic=topic) for d in traffic])
    return len(traffic)


def _missed(lines: Iterable[str]) -> list[str]:
    return [line.partition(" that the")[0] for line in lines if "has deleted" in line]


@pytest.mark.long
def test_topics_may_come_later_and_a_second_run_goes_on(
    spark: SparkSession, config: MonitorConfig
) -> None:
    stop, lines = threading.Event(), list[str]()
    running = threading.Thread(
        target=run, args=(config,), kwargs={"stop": stop, "say": lines.append, "spark": spark}
    )
    running.start()
    ready = config.ready_file
    assert ready is not None
    _wait(lambda: ready.exists(), "the queries run")
    create_topics(
        config.bootstrap, Topics(config.prefix).queue("ServerB", "DatabaseB", "TargetQueue")
    )
    first = _produce(config, 40, seed=1)
    _wait(lambda: _delivered(config) == first, "the first deliveries are counted")
    stop.set()
    running.join(_PATIENCE)
    assert not running.is_alive()
    assert not spark.streams.active
    assert lines[-1].startswith(f"records read: deliveries {first}, ")

    second = _produce(config, 30, seed=2)
    again = replace(config, until_idle=1.0)
    lines.clear()
    run(again, stop=threading.Event(), say=lines.append, spark=spark)
    assert _delivered(config) == first + second
    assert not _missed(lines)

    queue = Topics(config.prefix).queue("ServerB", "DatabaseB", "TargetQueue")
    gone = read_ends(config.kafka, [queue])[queue, 0] + 3
    third = _produce(config, 30, seed=3)
    trim(config.kafka, {(queue, 0): gone})
    run(again, stop=threading.Event(), say=lines.append, spark=spark)
    assert _delivered(config) == first + second + third - 3
    assert _missed(lines) == [f"{queue}/0: Kafka has deleted up to 3 records"]


@pytest.mark.long
def test_records_that_the_java_client_cannot_read_are_left_out(
    spark: SparkSession, config: MonitorConfig
) -> None:
    """The broker stores what no client library makes: first, between others, twice and last."""
    queue = Topics(config.prefix).queue("ServerB", "DatabaseB", "TargetQueue")
    create_topics(config.bootstrap, queue, partitions=1)
    count = 0
    for seed, unreadable in ((1, 1), (2, 2), (3, 1)):
        for _ in range(unreadable):
            produce_unreadable(config.bootstrap, queue)
        count += _produce(config, 30, seed)
    produce_unreadable(config.bootstrap, queue)
    lines, once = list[str](), replace(config, until_idle=1.0)
    run(once, stop=threading.Event(), say=lines.append, spark=spark)
    assert _delivered(config) == count
    reports = [line.partition(", so")[0] for line in lines if "cannot read" in line]
    begin = f"{queue}/0: Kafka's Java client cannot read the records from offset"
    assert reports[0] == f"{begin} 0 to 0"
    assert len(reports) == len(set(reports)) == 4
    lines.clear()
    count += _produce(config, 30, 4)
    run(once, stop=threading.Event(), say=lines.append, spark=spark)
    assert _delivered(config) == count
    assert not [line for line in lines if "cannot read" in line]


@pytest.mark.long
def test_a_store_that_fails_ends_the_monitor_with_its_words(
    spark: SparkSession, config: MonitorConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: Iterable[Row]) -> bool:
        raise SurroundingsError("the disk is full")

    monkeypatch.setattr(Store, "write", refuse)
    create_topics(
        config.bootstrap, Topics(config.prefix).queue("ServerB", "DatabaseB", "TargetQueue")
    )
    _produce(config, 10, seed=1)
    with pytest.raises(SurroundingsError, match="the disk is full"):
        run(config, stop=threading.Event(), spark=spark)
    assert not spark.streams.active


@pytest.mark.long
def test_a_locked_store_is_waited_for_until_the_monitor_is_stopped(
    spark: SparkSession, config: MonitorConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_S", 0.5)
    create_topics(
        config.bootstrap, Topics(config.prefix).queue("ServerB", "DatabaseB", "TargetQueue")
    )
    stop, lines, errors = threading.Event(), list[str](), list[SurroundingsError]()

    def follow() -> None:
        try:
            run(config, stop=stop, say=lines.append, spark=spark)
        except SurroundingsError as error:
            errors.append(error)

    running = threading.Thread(target=follow)
    running.start()
    ready = config.ready_file
    assert ready is not None
    _wait(lambda: ready.exists(), "the queries run")
    other = sqlite3.connect(config.store.removeprefix("sqlite:///"), isolation_level=None)
    delivered = 0
    for seed in (1, 2):
        other.execute("BEGIN IMMEDIATE")
        delivered += _produce(config, 40, seed)
        _wait(lambda: any("waits until" in line for line in lines), "the store is waited for")
        if seed == 1:
            other.execute("ROLLBACK")
            _wait(lambda: _delivered(config) == delivered, "the deliveries are counted")  # noqa: B023
            assert not errors
            lines.clear()
    stop.set()
    running.join(_PATIENCE)
    other.close()
    assert not running.is_alive()
    assert not spark.streams.active
    assert [type(error) for error in errors] == [database.UnavailableError]
    run(replace(config, until_idle=1.0), stop=threading.Event(), spark=spark)
    assert _delivered(config) == delivered


def test_a_store_of_other_figures_is_refused(spark: SparkSession, config: MonitorConfig) -> None:
    with Store.open(config.store) as store:
        store.claim({"window": "5000 ms"})
    with pytest.raises(UsageError, match="window is 5000 ms there, not 10000 ms"):
        run(config, stop=threading.Event(), spark=spark)


def test_a_cluster_that_does_not_answer_is_reported(spark: SparkSession) -> None:
    with pytest.raises(SurroundingsError, match=r"No Kafka cluster answers at 127\.0\.0\.1:1:"):
        cluster_id(spark, Cluster("127.0.0.1:1"), timeout_ms=500)


def test_java_that_is_missing_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SurroundingsError, match="Java was not found"):
        open_session(master="local[1]", log=tmp_path / "log")


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_signal_stops_the_command_in_order(config: MonitorConfig, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    command = [
        *(sys.executable, "-m", "streams", "monitor", "--bootstrap", config.bootstrap),
        *("--prefix", config.prefix, "--store", config.store),
        *("--checkpoint", str(config.checkpoint), "--ready-file", str(ready)),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as monitor:
        _wait(lambda: ready.exists() or monitor.poll() is not None, "the command is ready")
        monitor.send_signal(signal.SIGTERM)
        _, output = monitor.communicate(timeout=_PATIENCE)
    assert monitor.returncode == 0, output
    *lines, last = output.splitlines()
    assert lines[0] == "monitor: starting Spark"
    assert last.startswith("monitor: records read: deliveries 0, ")
    assert "hopline apply" in lines[1]  # there is no topic for figures
    # where Spark takes long to start, the figures are also printed every five seconds
    others = [line for line in lines if not line.startswith("monitor: records read: ")]
    assert len(others) == 4, output


def test_state_belongs_to_one_cluster_and_one_set_of_windows(config: MonitorConfig) -> None:
    same = replace(config, store="sqlite:///other", trigger=5, until_idle=1.0)
    assert same.checkpoint_for("c") == config.checkpoint_for("c")
    others = [replace(config, **{name: 7}) for name in ("window", "late", "horizon")]
    folders = {other.checkpoint_for("c") for other in others}
    folders |= {config.checkpoint_for("c"), config.checkpoint_for("d")}
    assert len(folders) == 5
