"""Latencies per window and path, held against a plain recomputation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F

from streams.monitor import collected, latency, read
from streams.monitor.sink import delivery_row
from streams.protocol.frames import Flag
from streams.protocol.limits import Limits
from streams.store import LatencyWindow, MalformedWindow
from tests.monitor.recompute import windows
from tests.monitor.records import MALFORMED, NOON, Delivery, Stored, frame
from tests.monitor.traffic import deliveries


def _now() -> Column:
    return F.timestamp_millis(F.lit(NOON + 3_600_000))


def _computed(spark: SparkSession, records: list[Stored], length: int = 10_000) -> list[Row]:
    legs = latency.legs(read.envelopes(frame(spark, records)), _now())
    assert tuple(legs.columns) == latency.LEGS
    rows = latency.windows(legs, length=length, late=60_000)
    assert tuple(rows.columns) == latency.WINDOWS
    return rows.collect()


def _latencies(rows: list[Row]) -> list[LatencyWindow]:
    stored = [delivery_row(row) for row in rows]
    found = [row for row in stored if isinstance(row, LatencyWindow)]
    names = ("window_start", "from_service", "path", "leg")
    return sorted(found, key=lambda row: [getattr(row, name) for name in names])


def test_verify_every_window_against_a_recomputation(spark: SparkSession) -> None:
    traffic = deliveries(1_500)
    records = [Stored(d.headers, timestamp=d.enqueued_at) for d in traffic]
    records += [Stored(headers) for _, headers in MALFORMED.values()]
    expected = windows(traffic, 10_000)
    computed = [_rounded(row) for row in _latencies(_computed(spark, records))]
    assert sorted(computed, key=repr) == sorted(expected, key=repr)
    assert len(expected) > 100


def _rounded(row: LatencyWindow) -> LatencyWindow:
    p50, p95, p99 = (round(value, 6) for value in (row.p50, row.p95, row.p99))
    return replace(row, p50=p50, p95=p95, p99=p99)


def test_the_legs_of_a_message_add_up(spark: SparkSession) -> None:
    rows = _latencies(_computed(spark, [Stored(Delivery().headers)]))
    assert [(r.leg, r.leg_from, r.leg_to, r.max) for r in rows] == [
        (0, "ServerA", "ServerB/DatabaseB", 9),
        (1, "", "ServerA", 2),
        (2, "ServerA", "ServerB", 3),
        (3, "ServerB", "ServerB/DatabaseB", 4),
    ]
    assert {(r.path, r.hops, r.target) for r in rows} == {
        ("ServerA>ServerB/DatabaseB", 1, "ServerB/DatabaseB")
    }


def test_a_path_names_an_instance_that_is_not_the_targets_own(spark: SparkSession) -> None:
    gateway = (("ServerA", NOON), ("Server", NOON), ("ServerB/DatabaseB", NOON))
    (row, *_) = _latencies(_computed(spark, [Stored(Delivery(visits=gateway).headers)]))
    assert (row.path, row.hops) == ("ServerA>Server>ServerB/DatabaseB", 2)


@pytest.mark.long
def test_system_messages_and_those_that_never_travelled_are_left_out(spark: SparkSession) -> None:
    local = Delivery(visits=(("ServerA/DatabaseA", NOON),))
    system = [Delivery(flags=flag) for flag in (Flag.END, Flag.ERROR, Flag.UNSEQUENCED)]
    records = [Stored(d.headers) for d in (local, Delivery(visits=()), *system)]
    assert _computed(spark, records) == []
    assert len(_computed(spark, [Stored(Delivery(flags=Flag.SKIPS).headers)])) == 4


@pytest.mark.long
def test_a_path_with_more_visits_than_hops_allow_has_only_its_total(spark: SparkSession) -> None:
    most = Limits().hops + 2
    for count, legs in ((most, most + 1), (most + 1, 1), (63, 1)):
        visits = tuple((f"I{n}", NOON + n) for n in range(count))
        rows = _latencies(_computed(spark, [Stored(Delivery(visits=visits).headers)]))
        assert len(rows) == legs
        assert (rows[0].leg, rows[0].max, rows[0].hops) == (0, count - 1, count - 1)
        assert rows[0].path == ">".join(name for name, _ in visits)


@pytest.mark.long
def test_a_path_with_long_names_has_only_its_total_and_is_clipped(spark: SparkSession) -> None:
    """Each leg would be a row with all names."""
    longest = latency.LONGEST_PATH
    services = len(Delivery().from_service + Delivery().to_service)
    name = "x" * (longest - services - len("A>"))
    short, long, full = (
        _latencies(_computed(spark, [Stored(delivery.headers)]))
        for delivery in (
            Delivery(visits=(("A", NOON), (name, NOON + 3))),
            Delivery(visits=(("A", NOON), (f"{name}x", NOON + 3))),
            Delivery(visits=tuple((f"{n}" * 4_000, NOON + n) for n in range(4))),
        )
    )
    assert [(row.leg, row.path) for row in short] == [(leg, f"A>{name}") for leg in range(3)]
    assert [(row.leg, row.path, row.max) for row in long] == [(0, f"A>{name}x", 3)]
    (row,) = full
    first, last = ("0" * longest + "...", "3" * longest + "...")
    assert (row.path, row.leg_from, row.leg_to, row.target) == (first, first, last, last)
    assert (row.leg, row.max, row.hops) == (0, 3, 3)


def test_of_too_many_rows_of_a_batch_the_rest_is_left_out_and_counted(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows with long texts are the first to be left out."""
    large = "y" * (collected.LARGE + 1)
    texts = ["a", large, "b", large, large, "c", "d"]
    batch = spark.createDataFrame([(n, text) for n, text in enumerate(texts)], "n int, text string")
    batch = batch.coalesce(1)
    assert len(collected.collect(batch, "deliveries")) == len(texts)
    assert caplog.messages == []
    monkeypatch.setattr(collected, "MOST_LARGE", 3)
    monkeypatch.setattr(collected, "MOST_ROWS", 6)
    rows = collected.collect(batch, "deliveries")
    assert [(row["n"], row["text"]) for row in rows] == [(0, "a"), (1, large), (2, "b"), (5, "c")]
    assert [message.split(",")[0] for message in caplog.messages] == [
        "deliveries: 3 rows of a batch were left out"
    ]


def test_a_clock_that_is_ahead_opens_no_window_in_the_future(spark: SparkSession) -> None:
    ahead = NOON + 7_200_000
    visits = (("ServerA", NOON), ("ServerB/DatabaseB", ahead))
    rows = _latencies(_computed(spark, [Stored(Delivery(visits=visits).headers)]))
    assert {row.window_start for row in rows} == {NOON - NOON % 10_000}
    assert rows[0].max == ahead - NOON


def test_negative_latencies_of_skewed_clocks_are_reported(spark: SparkSession) -> None:
    visits = (("ServerA", NOON - 5), ("ServerB/DatabaseB", NOON - 2))
    rows = _latencies(_computed(spark, [Stored(Delivery(visits=visits).headers)]))
    assert [row.min for row in rows] == [-2, -5, 3]


def test_malformed_records_are_counted_by_topic_and_reason(spark: SparkSession) -> None:
    headers = [headers for _, headers in MALFORMED.values()]
    records = [Stored(one, topic=topic) for topic in ("a", "b") for one in headers]
    rows = [delivery_row(row) for row in _computed(spark, records)]
    reasons = [reason for reason, _ in MALFORMED.values()]
    start = NOON - NOON % 10_000
    assert sorted(rows, key=repr) == sorted(
        (
            MalformedWindow(start, start + 10_000, topic, reason, reasons.count(reason))
            for topic in ("a", "b")
            for reason in set(reasons)
        ),
        key=repr,
    )


@pytest.mark.long
def test_a_window_with_many_values_keeps_its_total(spark: SparkSession) -> None:
    several = [
        Delivery(id=n, visits=(("ServerA", NOON), ("B/D", NOON + n)), enqueued_at=NOON)
        for n in range(3 * latency.HISTOGRAM_BINS)
    ]
    whole = _latencies(_computed(spark, [Stored(d.headers) for d in several]))[0]
    assert len(whole.histogram) <= latency.HISTOGRAM_BINS
    assert sum(count for _, count in whole.histogram) == whole.count == len(several)
