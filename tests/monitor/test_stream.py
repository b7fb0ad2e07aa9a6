"""The queries on a real broker: what they write equals what a recomputation finds."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from streams.kafka import read_ends
from streams.monitor import MonitorConfig
from streams.monitor.queries import Query, queries
from streams.monitor.watch import Watch
from streams.store import Cause, LatencyWindow, MalformedWindow, Report, Store
from streams.store.freshness import QUERIES
from streams.wire import Topics, encode_event
from tests.monitor.recompute import windows
from tests.monitor.records import (
    MALFORMED,
    MALFORMED_EVENTS,
    NOON,
    Delivery,
    Stored,
    create_topics,
    produce,
)
from tests.monitor.traffic import deliveries


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


@pytest.fixture
def config(kafka: str, unique: str) -> MonitorConfig:
    topics = Topics(unique)
    create_topics(kafka, topics.queue("ServerB", "DatabaseB", "TargetQueue"), topics.event)
    return MonitorConfig(bootstrap=kafka, prefix=unique)


def _queue(config: MonitorConfig) -> str:
    return Topics(config.prefix).queue("ServerB", "DatabaseB", "TargetQueue")


def _catch_up(defined: tuple[Query, ...], checkpoint: Path, store: Store) -> int:
    """Run the queries to the end of what is there; return the rows that came too late."""
    running = [query.start(checkpoint.as_uri(), available_now=True) for query in defined]
    late = 0
    for query in running:
        query.awaitTermination()
        watch = Watch(query)
        watch.look(store)
        late += watch.late
    return late


def _rounded(rows: tuple[LatencyWindow, ...]) -> list[LatencyWindow]:
    names = ("p50", "p95", "p99")
    return [replace(row, **{n: round(getattr(row, n), 6) for n in names}) for row in rows]


def test_the_store_knows_every_query(spark: SparkSession, kafka: str, store: Store) -> None:
    defined = queries(spark, MonitorConfig(bootstrap=kafka), store)
    assert tuple(query.name for query in defined) == QUERIES


def test_the_lag_of_a_query_counts_what_has_arrived_since_its_batch(
    spark: SparkSession, config: MonitorConfig, store: Store, tmp_path: Path
) -> None:
    """Between batches it was always 0."""
    topic = _queue(config)
    written = [
        Stored(d.headers, topic=topic, timestamp=d.enqueued_at) for d in deliveries(9, seed=1)
    ]
    produce(config.bootstrap, written[:4], transactional=config.prefix)
    running = queries(spark, config, store)[0].start(tmp_path.as_uri(), available_now=True)
    watch = Watch(running)
    running.awaitTermination()
    watch.look(store)
    watch.ends = read_ends(config.kafka, [topic])
    assert watch.behind == 0
    produce(config.bootstrap, written[4:])
    watch.ends = read_ends(config.kafka, [topic])
    assert watch.behind == len(written[4:])


@pytest.mark.long
def test_verify_all_figures_of_the_stream_against_a_recomputation(
    spark: SparkSession, config: MonitorConfig, store: Store, tmp_path: Path
) -> None:
    chance = random.Random(3)
    topic, event = _queue(config), Topics(config.prefix).event
    traffic = deliveries(600, seed=5)
    broken = [Stored(headers, topic=topic) for _, headers in MALFORMED.values()]
    ahead = Delivery(
        id=9_001,
        from_service="Ahead",
        visits=(("ServerA", NOON), ("ServerB/DatabaseB", 4 * 10**12)),
    )
    attempts = [chance.choice([0, 0, 1, 2, 5]) for _ in range(60)]
    copies = [
        {"event": 160, "error": 11218, "at": NOON + n, "instance": "ServerB", "attempt": attempt}
        for n, attempt in enumerate(attempts)
    ]
    written = [Stored(d.headers, topic=topic, timestamp=d.enqueued_at) for d in traffic]
    halves = (written[:400] + broken, [*written[400:], Stored(ahead.headers, topic=topic)])
    events = [Stored(value=encode_event(copy), topic=event) for copy in copies]
    events += [Stored(value=value, topic=event) for _, value in MALFORMED_EVENTS.values()]

    for number, half in enumerate(halves):
        chance.shuffle(half)
        name = f"{config.prefix}{number}"
        produce(config.bootstrap, half, transactional=name)
        produce(config.bootstrap, half[:50], transactional=name, commit=False)
        produce(config.bootstrap, events[number::2])
        assert _catch_up(queries(spark, config, store), tmp_path / "checkpoint", store) == 0

    found = store.read(LatencyWindow)
    on_time = [row for row in _rounded(found) if row.from_service != "Ahead"]
    assert sorted(on_time, key=repr) == sorted(windows(traffic, config.window), key=repr)
    # The record from the future counts where Kafka's timestamp is.
    assert {r.window_start for r in found if r.from_service == "Ahead"} == {NOON - NOON % 10_000}
    report = Report(store)
    causes = report.duplicates_by_cause()
    assert causes[Cause.RETRY] == sum(attempt > 0 for attempt in attempts)
    assert causes[Cause.REDELIVERY] == attempts.count(0)
    reasons = Counter(
        reason for table in (MALFORMED, MALFORMED_EVENTS) for reason, _ in table.values()
    )
    counts: Counter[str] = Counter()
    for row in store.read(MalformedWindow):
        counts[row.reason] += row.count
    assert counts == reasons
    assert report.repeats() == ()


@pytest.mark.long
def test_verify_that_a_crash_after_the_stores_commit_changes_nothing(
    spark: SparkSession, config: MonitorConfig, store: Store, tmp_path: Path
) -> None:
    traffic = deliveries(200, seed=8)
    records = [Stored(d.headers, topic=_queue(config)) for d in traffic]
    produce(config.bootstrap, records[:120])
    (deliveries_query, *_) = queries(spark, config, store)
    _catch_up((deliveries_query,), tmp_path, store)
    before = store.progress()[0].batch_id

    produce(config.bootstrap, records[120:])
    (crashing, *_) = queries(spark, config, store)
    write = crashing.sink.__call__

    class Crash:
        query = crashing.sink.query

        def __call__(self, frame: DataFrame, batch_id: int) -> None:
            write(frame, batch_id)
            raise RuntimeError("killed between the two commits")

    with pytest.raises(StreamingQueryException):
        _catch_up((replace(crashing, sink=Crash()),), tmp_path, store)  # type: ignore[arg-type]
    crashed = store.read(LatencyWindow)
    assert store.progress()[0].batch_id == before + 1

    (again, *_) = queries(spark, config, store)
    _catch_up((again,), tmp_path, store)
    assert store.read(LatencyWindow) == crashed
    assert store.progress()[0].batch_id == before + 1
    expected = windows(traffic, config.window)
    assert sorted(_rounded(crashed), key=repr) == sorted(expected, key=repr)


@pytest.mark.long
def test_no_two_queries_decode_with_the_same_expression(
    spark: SparkSession, config: MonitorConfig, store: Store
) -> None:
    """Spark's from_avro is not safe for batches of two queries at the same moment."""
    decoders = [
        set(re.findall(r" AS (?:to|sent|way|read)(#\d+)", plan(query.frame)))
        for query in queries(spark, config, store)
        if query.name != "dialogs"  # its batches are decoded where they are stored
    ]
    assert all(decoders)
    assert len(set().union(*decoders)) == sum(map(len, decoders))


def plan(frame: DataFrame) -> str:
    """Return the analysed plan, each expression with its id."""
    return str(frame._jdf.queryExecution().analyzed().toString())


@pytest.mark.long
def test_what_comes_too_late_is_left_out_and_counted(
    spark: SparkSession, config: MonitorConfig, store: Store, tmp_path: Path
) -> None:
    topic, hour = _queue(config), 3_600_000
    arrived = (("ServerA", NOON + hour), ("ServerB/DatabaseB", NOON + hour))
    newest = Delivery(id=1, enqueued_at=NOON + hour, visits=arrived)
    # A batch is held against the watermark that the one before the last has left.
    for delivery in (newest, newest, Delivery(id=2)):
        produce(config.bootstrap, [Stored(delivery.headers, topic=topic)])
        (query, *_) = queries(spark, config, store)
        _catch_up((query,), tmp_path, store)
    report = Report(store)
    assert [row.count for row in report.latency()] == [2]
    assert report.late() == {"deliveries": 4}  # the whole path and three legs


def test_a_message_that_comes_twice_is_an_alarm_at_once(
    spark: SparkSession, config: MonitorConfig, store: Store, tmp_path: Path
) -> None:
    message = Stored(Delivery(id=6).headers, topic=_queue(config))
    for alarms in (0, 1):
        produce(config.bootstrap, [message])
        (*_, query) = queries(spark, config, store)
        _catch_up((query,), tmp_path, store)
        assert [row.copies for row in Report(store).repeats()] == [2] * alarms
