"""The monitor's figures equal what another engine finds in the same topics, drivers killed or not.

Once of traffic that was made up, with what never happens in it; once of a real run whose workers
are killed, and there `hopline verify` has a third opinion. ``HOPLINE_MESSAGES`` says how many
messages (200,000: ``make recount``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streams.kafka import Cluster
from streams.monitor import MonitorConfig
from streams.report.account import Account
from streams.store import (
    EventWindow,
    FoundMessage,
    Gap,
    LatencyWindow,
    MissingMessage,
    Repeat,
    Report,
    Store,
)
from streams.wire import Topics
from tests.faults.clusters import RunClusters
from tests.faults.load import Load
from tests.faults.plan import FaultKind, Wanted
from tests.faults.run import run
from tests.faults.scenarios import ENDPOINTS, FORWARDERS, Scenario
from tests.monitor.agreed import agreed_clusters
from tests.monitor.faulty import MINUTE, closing, traffic
from tests.monitor.killed import Several, read_on
from tests.monitor.records import Stored, create_topics, produce
from tests.monitor.recount import KINDS, Figures, recounted, stored
from tests.postgres import Postgres

MESSAGES = int(os.environ.get("HOPLINE_MESSAGES", "1000"))
SPAN = 40 * MINUTE
PARTS = 3
KILLED = ("messages", "deliveries")
"""Which queries' commits are the last thing that the first drivers do."""
FAULTY = Scenario(
    "counted",
    "Gateways and endpoint workers die, or stand still",
    (
        Wanted(FaultKind.KILL, FORWARDERS, 12),
        Wanted(FaultKind.KILL, ENDPOINTS, 6),
        Wanted(FaultKind.PAUSE, FORWARDERS, 4, (1.0, 15.0)),
    ),
    share=1.0,
)
WHOLE, RATE, SHORT_RATE = 200_000, 500.0, 50.0


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[list[str]]:
    server = Postgres()
    try:
        server.start()
        yield [f"sqlite:///{tmp_path}/monitor.sqlite", server.url]
    finally:
        server.stop()


@pytest.fixture
def config(kafka: str, unique: str, tmp_path: Path) -> MonitorConfig:
    topics = Topics(unique)
    create_topics(
        kafka,
        topics.out("ServerA"),
        topics.queue("ServerB", "DatabaseB", "TargetQueue"),
        topics.queue("ServerC", "DatabaseC", "TargetQueue"),
        topics.event,
        topics.presence,
    )
    return MonitorConfig(bootstrap=kafka, prefix=unique, checkpoint=tmp_path / "checkpoint")


def _parts(config: MonitorConfig) -> list[list[Stored]]:
    topics = Topics(config.prefix)
    records = traffic(MESSAGES, topics, seed=11, span=SPAN)
    size = len(records) // PARTS + 1
    parts = [records[begin : begin + size] for begin in range(0, len(records), size)]
    return [*parts, [closing(topics)], [closing(topics)]]


def _killed(config: MonitorConfig, urls: list[str], query: str) -> None:
    """Read on in a process of its own that is killed between the stores' commit and Spark's."""
    values = {name: str(getattr(config, name)) for name in ("bootstrap", "prefix", "checkpoint")}
    arguments = json.dumps({**values, "urls": urls, "killing": query})
    command = [sys.executable, "-m", "tests.monitor.killed", arguments]
    ended = subprocess.run(command)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.timeout(3600)
def test_verify_all_figures_with_duckdb_after_two_kills(
    spark: SparkSession, config: MonitorConfig, urls: list[str], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.open(url)) for url in urls]
        for number, part in enumerate(_parts(config)):
            produce(config.bootstrap, part)
            if number < len(KILLED):
                _killed(config, urls, KILLED[number])
            else:
                read_on(spark, config, Several(stores))
        cluster = Cluster(config.bootstrap, Topics(config.prefix))
        expected = recounted(cluster, tmp_path, window=config.window, horizon=config.horizon)
        for store in stores:
            _compare(store, expected)


def _compare(store: Store, expected: Figures) -> None:
    for kind in KINDS:
        assert stored(store, kind) == expected[kind], kind.__name__
        assert expected[kind], kind.__name__
    report = Report(store)
    assert not any(report.late().values())
    found = {row.message_id for row in store.read(FoundMessage)}
    missing = {row.message_id for row in store.read(MissingMessage)}
    still = report.missing(0, limit=MESSAGES)
    assert {m.message.message_id for m in still} == missing - found


@pytest.mark.skipif("HOPLINE_MESSAGES" not in os.environ, reason="takes minutes: make recount")
@pytest.mark.timeout(3600)
def test_of_a_real_run_with_faults_verify_finds_the_same(
    spark: SparkSession, urls: list[str], tmp_path: Path
) -> None:
    def look(where: RunClusters) -> None:
        [site] = where.all
        cluster = site.cluster
        at = {"bootstrap": cluster.bootstrap, "prefix": cluster.topics.prefix}
        config = MonitorConfig(**at, checkpoint=tmp_path / "checkpoint")
        for _ in range(2):  # what the first has stored, the second stores again
            _killed(config, urls, "deliveries")
        (tmp_path / "duckdb").mkdir()
        expected = recounted(
            cluster, tmp_path / "duckdb", window=config.window, horizon=config.horizon
        )
        account = agreed_clusters(spark, [cluster]).account
        assert account.ledger.verdict == "nothing lost"
        with ExitStack() as stack:
            stores = [stack.enter_context(Store.open(url)) for url in urls]
            read_on(spark, config, Several(stores))
            for store in stores:
                for kind in (LatencyWindow, EventWindow, Repeat, Gap):
                    assert stored(store, kind) == expected[kind], kind.__name__
                _agree(store, account)

    load = Load(MESSAGES, RATE if MESSAGES >= WHOLE else SHORT_RATE)
    outcome = run(FAULTY.scaled(MESSAGES / WHOLE), load, 1, tmp_path, print, look)
    assert outcome.verdict.faults == {}


def _agree(store: Store, account: Account) -> None:
    """Hold the monitor's totals against the account of every message."""
    whole = [row for row in store.read(LatencyWindow) if row.leg == 0]
    assert sum(row.count for row in whole) == account.ledger.delivered
    assert not store.read(Repeat) and not [gap for gap in store.read(Gap) if gap.missing]
    counts = Counter[int]()
    for row in store.read(EventWindow):
        if row.event in (140, 160):
            counts[row.error] += row.count
    duplicates = counts.pop(11218, 0)
    assert duplicates == account.duplicates.total()
    assert counts == account.drops
