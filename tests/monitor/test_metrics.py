"""The figures of a monitor over HTTP, from what Spark reports of its queries."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from streams.errors import UsageError
from streams.monitor.metrics import figures_of, serving
from streams.monitor.run import _note
from streams.monitor.watch import Watch
from streams.store import Store
from streams.store.freshness import ARRIVALS, QUERIES
from streams.store.late import LateRows, late_since
from tests.health import get, metrics
from tests.store.build import EVENT

HORIZON = 600_000


@dataclass(frozen=True)
class ProgressReport:
    """A report as Java gives it: as text, if asked for that."""

    text: str

    def json(self) -> str:
        return self.text


def progress(batch: int, **changed: Any) -> ProgressReport:
    """Return what Spark reports of a batch with three records."""
    report = {
        "id": str(uuid.UUID(int=1)),
        "runId": str(uuid.UUID(int=2)),
        "name": "deliveries",
        "timestamp": "2026-11-21T13:30:10.000Z",
        "batchId": batch,
        "batchDuration": 500,
        "durationMs": {"triggerExecution": 500},
        "eventTime": {"avg": "2026-11-21T13:30:09.000Z"},
        "stateOperators": [],
        "sources": [
            {
                "description": "KafkaV2",
                "startOffset": "",
                "endOffset": "",
                "latestOffset": "",
                "numInputRows": 3,
                "inputRowsPerSecond": 1.0,
                "processedRowsPerSecond": 1.0,
                "metrics": {"maxOffsetsBehindLatest": "7"},
            }
        ],
        "sink": {"description": "", "numOutputRows": 3, "metrics": {}},
        "numInputRows": 3,
        "inputRowsPerSecond": 1.0,
        "processedRowsPerSecond": 1.0,
        "observedMetrics": {},
        **changed,
    }
    return ProgressReport(json.dumps(report))


@dataclass
class Running:
    """A query that reports what a test says, in the way in which a watch reads it: from Java."""

    reports: list[ProgressReport]
    name: str = "deliveries"
    id: str = "1"
    isActive: bool = True
    message: str = "Getting offsets"

    @property
    def _jsq(self) -> Running:
        return self

    def recentProgress(self) -> list[ProgressReport]:
        return self.reports

    @property
    def status(self) -> dict[str, object]:
        return {"message": self.message, "isTriggerActive": False, "isDataAvailable": False}


def test_a_batch_reports_its_duration_and_its_lateness(tmp_path: Path) -> None:
    running = Running([progress(0), progress(1, timestamp="2026-11-21T13:30:20.000Z")])
    watch = Watch(running)
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        watch.look(store)
        with serving("0", [watch], store) as port:
            assert port is not None
            found = metrics(port)
    assert found["hopline_monitor_records_total", "deliveries"] == 6
    assert found["hopline_monitor_batches_total", "deliveries"] == 2
    assert found["hopline_monitor_batch_seconds", "deliveries"] == 0.5
    assert found["hopline_monitor_behind_records", "deliveries"] == 7
    assert found["hopline_monitor_delay_seconds", "deliveries"] == 11.5
    assert found["hopline_monitor_last_batch_timestamp_seconds", "deliveries"] == 1795267820.5
    assert found["hopline_monitor_query_active", "deliveries"] == 1
    assert found["hopline_monitor_repeated_messages",] == 0


def test_a_query_has_read_what_was_there_when_a_batch_began_that_left_nothing(
    tmp_path: Path,
) -> None:
    at = [f"2026-11-21T13:30:{second}.000Z" for second in (10, 20, 30)]
    [source] = json.loads(progress(0).text)["sources"]
    whole = [{**source, "metrics": {"maxOffsetsBehindLatest": "0"}}]
    running = Running([progress(0, timestamp=at[0])])
    watch = Watch(running)
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        watch.look(store)
        assert watch.reached is None, "seven records are left"
        running.reports.append(progress(1, timestamp=at[1], sources=whole))
        watch.look(store)
        assert watch.reached == 1_795_267_820_000
        running.reports.append(progress(1, timestamp=at[2], sources=whole, numInputRows=0))
        watch.look(store)
        assert (watch.reached, watch.batches) == (1_795_267_830_000, 2), "there was nothing to read"


def test_records_that_arrive_after_a_batch_are_behind(tmp_path: Path) -> None:
    """A batch leaves nothing of what it found, so the lag was 0, even for 13 minutes."""
    [source] = json.loads(progress(0).text)["sources"]
    whole = {
        **source, "metrics": {"maxOffsetsBehindLatest": "0"},
        "endOffset": {"ssb.queue.a": {"0": 5, "1": 7}, "ssb.queue.b": {"0": 3}},
    }  # fmt: skip
    beats = {**whole, "description": "KafkaV2 (presence)", "endOffset": {"ssb.presence": {"0": 1}}}
    running = Running([])
    watch = Watch(running)
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        watch.look(store)
        assert watch.behind is None, "it has not ended a batch"
        running.reports.append(progress(0, sources=[whole, beats]))
        watch.look(store)
        assert watch.behind == 0
        watch.ends = {("ssb.queue.a", 0): 5, ("ssb.queue.a", 1): 17, ("ssb.queue.b", 0): 6,
                      ("ssb.presence", 0): 99, ("ssb.event", 0): 8}  # fmt: skip
        found = {series.name: dict(series.samples) for series in figures_of([watch], store, 1)}
        assert found["hopline_monitor_behind_records"] == {("deliveries",): 10 + 3}
        later = {**whole, "endOffset": {"ssb.queue.a": {"0": 5, "1": 18}, "ssb.queue.b": {"0": 5}}}
        running.reports.append(progress(1, timestamp="2026-11-21T13:31:10.000Z", sources=[later]))
        watch.look(store)
        assert watch.behind == 1


def test_a_query_that_lags_holds_back_no_other(tmp_path: Path) -> None:
    fast, slow = Watch(Running([])), Watch(Running([], name="events"))
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        fast.reached = 5_000
        noted = _note([fast, slow], store, {}, HORIZON)
        assert store.reached() == {"deliveries": 5_000}, "the other one has not read its topics"
        slow.reached = 5_000
        noted = _note([fast, slow], store, noted, HORIZON)
        assert store.reached() == {"deliveries": 5_000, "events": 5_000}
        fast.reached = 6_000
        noted = _note([fast, slow], store, noted, HORIZON)
        assert store.reached() == noted == {"deliveries": 6_000, "events": 5_000}
        fast.reached = 6_999
        assert _note([fast, slow], store, noted, HORIZON) is noted, "too little for a transaction"


def test_arrivals_are_known_up_to_a_horizon_before_the_watermark(tmp_path: Path) -> None:
    at = {"timestamp": "2026-11-21T13:30:20.000Z"}
    event_time = {"watermark": "2026-11-21T13:29:00.000Z"}
    watch = Watch(Running([progress(0, eventTime=event_time, **at)], name="messages"))
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        watch.look(store)
        _note([watch], store, {}, HORIZON)
        assert store.reached() == {ARRIVALS: 1_795_267_740_000 - HORIZON}


def test_late_rows_are_between_the_first_of_their_batch_and_its_watermark(tmp_path: Path) -> None:
    event_time = {"min": "1970-01-01T00:00:10.000Z", "watermark": "1970-01-01T00:00:20.000Z"}
    at = {"timestamp": "1970-01-01T00:01:30.000Z"}
    late = {
        "operatorName": "stateStoreSave", "numRowsTotal": 0, "numRowsUpdated": 0,
        "numRowsRemoved": 0, "allUpdatesTimeMs": 0, "allRemovalsTimeMs": 0, "commitTimeMs": 0,
        "memoryUsedBytes": 0, "numRowsDroppedByWatermark": 3, "numShufflePartitions": 1,
        "numStateStoreInstances": 1, "customMetrics": {},
    }  # fmt: skip
    reports = [progress(0, eventTime=event_time, stateOperators=[late], **at)]
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("deliveries", "1", 0, [])
        Watch(Running(reports)).look(store)
        assert late_since(store, 0) == (LateRows("deliveries", 3, 10_000, 20_000, 90_000),)


def test_arrivals_do_not_go_back_before_a_run_has_a_watermark(tmp_path: Path) -> None:
    event_time = {"watermark": "1970-01-01T00:00:00.000Z"}
    watch = Watch(Running([progress(0, eventTime=event_time, sources=[])], name="messages"))
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.reach({ARRIVALS: 5_000})
        watch.look(store)
        _note([watch], store, {}, HORIZON)
        assert store.reached()[ARRIVALS] == 5_000


def test_recent_refusals_are_a_metric_by_number(tmp_path: Path) -> None:
    """An application may end dialogs with any code, so its own codes are no labels."""
    now = 10_000_000
    recent = {"window_start": now - 60_000, "window_end": now - 50_000, "cause": None}
    send = replace(EVENT, event=124, error=8429, count=943, **recent)
    rows = [
        send,
        replace(send, error=1_000_001, count=2),
        replace(send, error=1_000_002, count=3),
        replace(send, window_start=now - 600_001, window_end=now - 590_001),
    ]
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("events", "run", 0, rows)
        found = {series.name: dict(series.samples) for series in figures_of([], store, now)}
    assert found["hopline_monitor_refusals"] == {("8429",): 943, ("other",): 5}


def test_the_distance_of_each_query_is_a_metric_and_an_alarm(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.reach({**dict.fromkeys(QUERIES, 1_000_000), "messages": 850_000, ARRIVALS: 3})
        found = {series.name: dict(series.samples) for series in figures_of([], store, 1_000_500)}
    expected = {(query,): 0.5 for query in QUERIES} | {("messages",): 150.5}
    assert found["hopline_monitor_behind_seconds"] == expected
    assert found["hopline_monitor_alarms"] == {("warning", "monitor behind"): 1}


def test_who_was_ready_once_stays_so(tmp_path: Path) -> None:
    running = Running([])
    watch = Watch(running)
    with (
        Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store,
        serving("0", [watch], store) as port,
    ):
        assert port is not None
        waits = "The query 'deliveries' has not read its topics yet.\n"
        assert get(port, "/readyz") == (503, waits)
        assert get(port, "/healthz") == (200, "ok\n")
        running.message = "Waiting for data to arrive"
        assert get(port, "/readyz") == (200, "ok\n")
        running.message = "Getting offsets"
        assert get(port, "/readyz") == (200, "ok\n")


def test_nothing_is_served_unless_asked_and_an_address_must_be_one(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        with serving(None, [], store) as port:
            assert port is None
        with pytest.raises(UsageError, match="is not HOST:PORT"), serving("x", [], store):
            pass
        with serving("0", [], store) as port:
            assert port is not None
            assert get(port, "/readyz") == (200, "ok\n")
            assert get(port, "/elsewhere")[0] == 404


def test_a_monitor_whose_store_is_unavailable_is_not_ready(tmp_path: Path) -> None:
    with (
        Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store,
        serving("0", [], store, lambda: "The store failed.") as port,
    ):
        assert port is not None
        assert get(port, "/readyz") == (503, "The store failed.\n")
        assert get(port, "/healthz") == (200, "ok\n")


def test_a_query_that_ended_is_no_health(tmp_path: Path) -> None:
    watch = Watch(Running([], isActive=False), rows=3)
    with (
        Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store,
        serving("0", [watch], store) as port,
    ):
        assert port is not None
        assert get(port, "/healthz") == (503, "The query 'deliveries' has ended.\n")
        assert metrics(port)["hopline_monitor_query_active", "deliveries"] == 0
        assert metrics(port)["hopline_monitor_records_total", "deliveries"] == 3
        assert ("hopline_monitor_delay_seconds", "deliveries") not in metrics(port)
