"""A report's figures over all windows are those of all messages together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streams.store import Cause, EventTotal, Report, Row, Store
from tests.store.build import EVENT, MALFORMED, REPEAT, latency
from tests.store.test_quantiles import recomputed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


def test_an_empty_store_has_an_empty_report(store: Store) -> None:
    report = Report(store)
    assert report.latency() == report.legs() == report.events() == report.repeats() == ()
    assert report.duplicates_by_cause() == dict.fromkeys(Cause, 0)
    assert report.removed() == 0
    assert report.late() == {}


def test_verify_overall_percentiles_against_all_values(store: Store) -> None:
    chance = random.Random(7)
    paths = ("A>G1>B/D", "A>G2>B/D")
    values: dict[str, list[int]] = {path: [] for path in paths}
    rows: list[Row] = []
    for window in range(12):
        for path in paths:
            some = [int(chance.expovariate(1 / 40)) for _ in range(chance.randint(1, 300))]
            values[path] += some
            start = window * 10_000
            rows.append(latency(some, window_start=start, window_end=start + 10_000, path=path))
    rows.append(latency([9_999], leg=1, leg_from="", leg_to="A"))
    store.write("deliveries", "run", 0, rows)

    report = Report(store)
    for summary in report.latency("path"):
        _equal(summary, values[summary.key[0]])
    (overall,) = report.latency()
    _equal(overall, values[paths[0]] + values[paths[1]])
    (leg,) = report.legs()
    assert leg.key == ("", "A")
    assert leg.max == 9_999


def _equal(summary: object, values: list[int]) -> None:
    assert summary.count == len(values)  # type: ignore[attr-defined]
    assert (summary.min, summary.max) == (min(values), max(values))  # type: ignore[attr-defined]
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert getattr(summary, name) == pytest.approx(recomputed(values, share))


def test_duplicates_are_counted_by_cause(store: Store) -> None:
    rows = [
        EVENT,
        replace(EVENT, window_start=20_000, window_end=30_000, count=2),
        replace(EVENT, cause=Cause.REDELIVERY, count=3),
        replace(EVENT, cause=Cause.SEVERAL_TARGETS, error=11224, count=5),
        replace(EVENT, cause=None, event=140, error=11291, count=7),
    ]
    store.write("events", "run", 0, rows)
    report = Report(store)
    assert report.duplicates_by_cause() == {
        **dict.fromkeys(Cause, 0),
        Cause.RETRY: 6,
        Cause.REDELIVERY: 3,
        Cause.SEVERAL_TARGETS: 5,
    }
    assert report.removed() == 9
    assert len(report.duplicates()) == 4
    assert EventTotal(160, 11218, "ServerB", 9) in report.events()
    assert EventTotal(140, 11291, "ServerB", 7) in report.events()


def test_refused_statements_are_counted_by_number_and_place(store: Store) -> None:
    send = replace(EVENT, event=124, error=8429, cause=None, count=943)
    rows = [
        send,
        replace(send, window_start=20_000, window_end=30_000, count=7),
        replace(send, instance="ServerA", count=2),
        replace(send, error=0, count=5),  # an event about a state
        EVENT,
    ]
    store.write("events", "run", 0, rows)
    found, total = Report(store).refusals()
    assert [(row.error, row.instance, row.database, row.count) for row in found] == [
        (8429, "ServerB", "DatabaseB", 950),
        (8429, "ServerA", "DatabaseB", 2),
    ]
    assert total == 952
    assert Report(store, (20_000, 30_000)).refusals()[1] == 7


def test_violations_are_reported(store: Store) -> None:
    store.write("deliveries", "run", 0, [MALFORMED])
    store.write("repeats", "run", 0, [REPEAT])
    store.add_late("deliveries", "run", 0, 3, first_at=10_000, until=20_000, at=90_000)
    report = Report(store)
    assert report.malformed() == (MALFORMED,)
    assert report.repeats() == (REPEAT,)
    assert report.late() == {"deliveries": 3, "repeats": 0}
