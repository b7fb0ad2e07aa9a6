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


MOST_VISITS = Limits().hops + 2
LONGEST, TOO_LONG = "just fits", "too large"
"""Names of services, of one length, because the services' names count too."""
NAME = "x" * (latency.LONGEST_PATH - len(LONGEST + Delivery().to_service) - len("A>"))
SYSTEM = (Flag.END, Flag.ERROR, Flag.UNSEQUENCED)
GIVEN: dict[str, list[Delivery]] = {
    "plain": [Delivery()],
    "gateway": [
        Delivery(visits=(("ServerA", NOON), ("Server", NOON), ("ServerB/DatabaseB", NOON)))
    ],
    "left out": [
        Delivery(visits=(("ServerA/DatabaseA", NOON),)),
        Delivery(visits=()),
        *(Delivery(flags=flag) for flag in SYSTEM),
    ],
    "skips": [Delivery(flags=Flag.SKIPS)],
    **{
        f"{count} visits": [Delivery(visits=tuple((f"I{n}", NOON + n) for n in range(count)))]
        for count in (MOST_VISITS, MOST_VISITS + 1, 63)
    },
    LONGEST: [Delivery(visits=(("A", NOON), (NAME, NOON + 3)))],
    TOO_LONG: [Delivery(visits=(("A", NOON), (f"{NAME}x", NOON + 3)))],
    "long names": [Delivery(visits=tuple((f"{n}" * 4_000, NOON + n) for n in range(4)))],
    "ahead": [Delivery(visits=(("ServerA", NOON), ("ServerB/DatabaseB", NOON + 7_200_000)))],
    "skewed": [Delivery(visits=(("ServerA", NOON - 5), ("ServerB/DatabaseB", NOON - 2)))],
    "many": [
        Delivery(id=n, visits=(("ServerA", NOON), ("B/D", NOON + n)), enqueued_at=NOON)
        for n in range(3 * latency.HISTOGRAM_BINS)
    ],
}
"""Messages by the service that they are from."""


Found = dict[str, list[LatencyWindow]]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Found:
    """Return the rows of each service: one job for all, because a job takes seconds."""
    rows = _computed(
        spark,
        [
            Stored(replace(delivery, from_service=service).headers)
            for service, deliveries in GIVEN.items()
            for delivery in deliveries
        ],
    )
    latencies = _latencies(rows)
    assert len(latencies) == len(rows)
    return {service: [row for row in latencies if row.from_service == service] for service in GIVEN}


def test_the_legs_of_a_message_add_up(found: Found) -> None:
    rows = found["plain"]
    assert [(r.leg, r.leg_from, r.leg_to, r.max) for r in rows] == [
        (0, "ServerA", "ServerB/DatabaseB", 9),
        (1, "", "ServerA", 2),
        (2, "ServerA", "ServerB", 3),
        (3, "ServerB", "ServerB/DatabaseB", 4),
    ]
    assert {(r.path, r.hops, r.target) for r in rows} == {
        ("ServerA>ServerB/DatabaseB", 1, "ServerB/DatabaseB")
    }


def test_a_path_names_an_instance_that_is_not_the_targets_own(found: Found) -> None:
    (row, *_) = found["gateway"]
    assert (row.path, row.hops) == ("ServerA>Server>ServerB/DatabaseB", 2)


def test_system_messages_and_those_that_never_travelled_are_left_out(found: Found) -> None:
    assert found["left out"] == []
    assert len(found["skips"]) == 4


def test_a_path_with_more_visits_than_hops_allow_has_only_its_total(found: Found) -> None:
    for count, legs in ((MOST_VISITS, MOST_VISITS + 1), (MOST_VISITS + 1, 1), (63, 1)):
        rows = found[f"{count} visits"]
        assert len(rows) == legs
        assert (rows[0].leg, rows[0].max, rows[0].hops) == (0, count - 1, count - 1)
        assert rows[0].path == ">".join(f"I{n}" for n in range(count))


def test_a_path_with_long_names_has_only_its_total_and_is_clipped(found: Found) -> None:
    """Each leg would be a row with all names."""
    assert [(row.leg, row.path) for row in found[LONGEST]] == [
        (leg, f"A>{NAME}") for leg in range(3)
    ]
    assert [(row.leg, row.path, row.max) for row in found[TOO_LONG]] == [(0, f"A>{NAME}x", 3)]
    (row,) = found["long names"]
    longest = latency.LONGEST_PATH
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


def test_a_clock_that_is_ahead_opens_no_window_in_the_future(found: Found) -> None:
    rows = found["ahead"]
    assert {row.window_start for row in rows} == {NOON - NOON % 10_000}
    assert rows[0].max == 7_200_000


def test_negative_latencies_of_skewed_clocks_are_reported(found: Found) -> None:
    assert [row.min for row in found["skewed"]] == [-2, -5, 3]


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


def test_a_window_with_many_values_keeps_its_total(found: Found) -> None:
    whole = found["many"][0]
    assert len(whole.histogram) <= latency.HISTOGRAM_BINS
    assert sum(count for _, count in whole.histogram) == whole.count == len(GIVEN["many"])
