"""The monitor's figures equal what another engine finds in the same topics, drivers killed or not.

``HOPLINE_MESSAGES`` says how many messages (200,000: ``make recount``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streams.kafka import Cluster
from streams.monitor import MonitorConfig
from streams.monitor.queries import queries
from streams.store import FoundMessage, MissingMessage, Report, Store
from streams.wire import Topics
from tests.monitor.faulty import MINUTE, closing, traffic
from tests.monitor.records import SHORT_RUN, Stored, create_topics, produce
from tests.monitor.recount import KINDS, recounted, stored
from tests.postgres import Postgres

MESSAGES = int(os.environ.get("HOPLINE_MESSAGES", "1000"))
SPAN = 40 * MINUTE
PARTS = 3
KILLED = ("messages", "deliveries")
"""Which queries' commits are the last thing that the first drivers do."""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/monitor.sqlite"
        return
    server = Postgres()
    try:
        server.start()
        yield server.url
    finally:
        server.stop()


@pytest.fixture
def config(kafka: str, unique: str, url: str, tmp_path: Path) -> MonitorConfig:
    topics = Topics(unique)
    create_topics(
        kafka,
        topics.out("ServerA"),
        topics.queue("ServerB", "DatabaseB", "TargetQueue"),
        topics.queue("ServerC", "DatabaseC", "TargetQueue"),
        topics.event,
        topics.presence,
    )
    return MonitorConfig(
        bootstrap=kafka, prefix=unique, store=url, checkpoint=tmp_path / "checkpoint"
    )


def _parts(config: MonitorConfig) -> list[list[Stored]]:
    topics = Topics(config.prefix)
    records = traffic(MESSAGES, topics, seed=11, span=SPAN)
    size = len(records) // PARTS + 1
    parts = [records[begin : begin + size] for begin in range(0, len(records), size)]
    return [*parts, [closing(topics)], [closing(topics)]]


def _read_on(spark: SparkSession, config: MonitorConfig, store: Store) -> None:
    """Run all queries to the end of what is there."""
    checkpoint = config.checkpoint.as_uri()
    defined = queries(spark, config, store)
    for running in [query.start(checkpoint, available_now=True) for query in defined]:
        running.awaitTermination()


def _killed(config: MonitorConfig, query: str) -> None:
    """Do the same in a process of its own that is killed between the store's commit and Spark's."""
    values = {name: getattr(config, name) for name in ("bootstrap", "prefix", "store")}
    said = json.dumps({**values, "checkpoint": str(config.checkpoint), "query": query})
    command = [sys.executable, "-m", "tests.monitor.killed", said]
    ended = subprocess.run(command, env={**os.environ, **dict([SHORT_RUN])}, timeout=600)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.timeout(1800)
def test_verify_all_figures_with_duckdb_after_two_kills(
    spark: SparkSession, config: MonitorConfig, tmp_path: Path
) -> None:
    cluster = Cluster(config.bootstrap, Topics(config.prefix))
    with Store.open(config.store) as store:
        for number, part in enumerate(_parts(config)):
            produce(config.bootstrap, part)
            if number < len(KILLED):
                _killed(config, KILLED[number])
            else:
                _read_on(spark, config, store)
        expected = recounted(cluster, tmp_path, window=config.window, horizon=config.horizon)
        for kind in KINDS:
            assert stored(store, kind) == expected[kind], kind.__name__
            assert expected[kind], kind.__name__
        report = Report(store)
        assert {query: rows for query, rows in report.late().items() if rows} == {}
        found = {row.message_id for row in store.read(FoundMessage)}
        still = {m.message.message_id for m in report.missing(0, limit=MESSAGES)}
        missing = {row.message_id for row in store.read(MissingMessage)}
        assert still == missing - found
