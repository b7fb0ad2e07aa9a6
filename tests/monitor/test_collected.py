"""The rows of a batch that the driver takes into memory."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from streams.monitor import collected


def test_long_texts_count_wherever_they_are_in_a_row(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(collected, "MOST_LARGE", 2)
    schema = "number int, text string, inside struct<deep: struct<text: string>>"
    long = "x" * (collected.LARGE + 1)
    for row in ((1, long, (("",),)), (1, None, ((long,),))):
        frame = spark.createDataFrame([row] * 5, schema).coalesce(1)
        assert len(collected.collect(frame, "state")) == 2
    short = spark.createDataFrame([(1, "x", (("x",),))] * 5, schema).coalesce(1)
    assert len(collected.collect(short, "state")) == 5
    assert caplog.text.count("3 rows of a batch were left out") == 2
