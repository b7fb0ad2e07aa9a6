"""Live or replayed: distinguished by ids, before anything is decoded."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streams.monitor.config import MonitorConfig
from streams.monitor.filter_dialogs import only
from streams.wire.job import renewed
from streams.wire.records import CONVERSATION, key_of

LIVE = uuid.UUID("6f1c2f9a-1b60-4f9e-9a31-d0c4c1a0b7e2")
NIGHTLY, WEEKLY = (renewed(LIVE, job, 0) for job in ("nightly", "weekly"))
GROUP = key_of(uuid.UUID(int=5))
RECORDS = {
    "live queue": (GROUP, LIVE.bytes),
    "nightly queue": (GROUP, NIGHTLY.bytes),
    "weekly queue": (GROUP, WEEKLY.bytes),
    "live out": (key_of(LIVE), None),
    "nightly out": (key_of(NIGHTLY), None),
    "replayed group": (key_of(NIGHTLY), LIVE.bytes),
    "no key": (None, None),
    "no id": (GROUP, b"short"),
    "live dialog": (b"DatabaseA/%b/initiator" % key_of(LIVE), None),
    "nightly dialog": (b"DatabaseA/%b/target/3" % key_of(NIGHTLY), None),
    "positions": (b"positions", None),
}
OF_NIGHTLY = {"nightly queue", "nightly out", "nightly dialog"}
OF_WEEKLY = {"weekly queue"}


@pytest.mark.long
@pytest.mark.parametrize(
    "job, wanted",
    [
        (None, RECORDS.keys() - OF_NIGHTLY - OF_WEEKLY),
        ("nightly", OF_NIGHTLY),
        ("weekly", OF_WEEKLY),
        ("never", set()),
    ],
)
def test_records_are_filtered_by_their_dialog(
    spark: SparkSession, job: str | None, wanted: set[str]
) -> None:
    rows = [
        (name, key, [] if raw is None else [("x", b""), (CONVERSATION, raw)])
        for name, (key, raw) in RECORDS.items()
    ]
    schema = "name string, key binary, headers array<struct<key: string, value: binary>>"
    found = only(spark.createDataFrame(rows, schema), job).collect()
    assert {row["name"] for row in found} == wanted


def test_records_without_headers_are_filtered_by_their_keys(spark: SparkSession) -> None:
    rows = [(name, key) for name, (key, _) in RECORDS.items() if "dialog" in name]
    frame = spark.createDataFrame(rows, "name string, key binary")
    assert [row["name"] for row in only(frame, "nightly").collect()] == ["nightly dialog"]
    live = only(frame, None).select(F.col("name")).collect()
    assert [row["name"] for row in live] == ["live dialog"]


def test_a_job_has_a_checkpoint_and_a_store_of_its_own(tmp_path: Path) -> None:
    live = MonitorConfig("localhost:9092", checkpoint=tmp_path)
    nightly = replace(live, job="nightly")
    assert live.checkpoint_for("c") != nightly.checkpoint_for("c")
    assert live.claims("c") != nightly.claims("c")
