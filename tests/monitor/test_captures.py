"""Captures judged on Spark's executors: the same rows as in one process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streams.analysis.diff import remove
from streams.capture import CaptureReader
from streams.capture.dialogs import merge
from streams.capture.judge import DialogRow, Judge, Tally, judge_captures, tally
from streams.errors import InputError
from streams.monitor import Source, capture_rows
from streams.resources import topologies_dir
from tests.capture.commands import begin, capture, records, send
from tests.monitor.written import captured
from tests.running import eventually, running
from tests.topology.build import NOW, shipped

TRAFFIC = topologies_dir() / "combined" / "traffic.avro"


def judge() -> Judge:
    old = shipped("combined")
    return Judge(old, remove(remove(old, "GatewayA"), "ServerA--GatewayD"), NOW)


def sources(judge: Judge, paths: Sequence[Path]) -> list[Source]:
    readers = map(CaptureReader, paths)
    return [
        Source(r.path, judge.talk_reader(r.metadata.prefix), r.counts and r.counts.records)
        for r in readers
    ]


def on_spark(spark: SparkSession, *paths: Path) -> list[DialogRow]:
    asked = judge()
    return list(capture_rows(spark, sources(asked, paths), merge, asked.rows).collect())


@pytest.mark.long
def test_row_for_row(spark: SparkSession, tmp_path: Path) -> None:
    """The shipped traffic and a second file that goes on with its dialogs, in any partitions."""
    begins = [begin(n) for n in range(1, 40)]
    replies = [
        send(n, at="ServerB", database="DatabaseB", from_initiator=False) for n in range(1, 60)
    ]
    more = capture(tmp_path / "a [1] {b} é.avro", records([*replies, send(3), *begins], "x."), "x.")
    local = list(judge_captures((TRAFFIC, more), judge()))
    found = on_spark(spark, TRAFFIC, more)
    assert sorted(found, key=str) == sorted(local, key=str)
    assert len({row.change for row in local}) > 1 and len(local) > 2_000
    assert tally(found[:700]).plus(tally(found[700:])) == tally(local) != Tally()


@pytest.mark.long
def test_large_bodies_are_not_decoded(spark: SparkSession, tmp_path: Path) -> None:
    """The limits that protect the monitor from headers do not concern bodies."""
    path = capture(tmp_path / "c.avro", records([begin(1), send(1, body=b"x" * 900_000)]))
    assert [row.messages for row in on_spark(spark, path)] == [1]


@pytest.mark.long
@pytest.mark.parametrize("cut", ["in a block", "between blocks"])
def test_a_damaged_file_is_named(spark: SparkSession, tmp_path: Path, cut: str) -> None:
    """As where one process reads it: nobody gets an answer that lacks messages."""
    whole = TRAFFIC.read_bytes()
    marker = whole[-16:]
    end = whole.rindex(marker, 0, -16) + 16 if cut == "between blocks" else len(whole) - 100
    path = tmp_path / "cut.avro"
    path.write_bytes(whole[:end])
    with pytest.raises(InputError) as error:
        on_spark(spark, path)
    assert "cut.avro" in str(error.value) and "Copy it again" in error.value.remedy


@pytest.mark.long
def test_what_was_predicted_is_what_happened(
    spark: SparkSession, kafka: str, unique: str, tmp_path: Path
) -> None:
    """Two targets behind one service, on a real Kafka: each dialog went where it was to go."""
    dialogs = 40
    with running(kafka, unique, "load_balanced") as system:
        with system.client() as client:
            for _ in range(dialogs):
                dialog = client.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService")
                client.send(dialog, b"one")
                client.send(dialog, b"two")
            places = [("ServerB", "DatabaseB"), ("ServerC", "DatabaseC")]
            topics = [system.cluster.topics.queue(*place, "TargetQueue") for place in places]

            def arrived() -> list[int]:
                counts = [len(system.snapshot(topic)) for topic in topics]
                return counts if sum(counts) == 2 * dialogs else []

            counts = eventually(arrived, "everything has arrived")
        path = captured(system, tmp_path / "c.avro", "cmd", "queue")
    asked = Judge(system.topology, system.topology, time.time())
    rows = list(capture_rows(spark, sources(asked, [path]), merge, asked.rows).collect())
    assert sorted(rows, key=str) == sorted(judge_captures([path], asked), key=str)
    found = tally(rows)
    assert (found.arrived, found.elsewhere) == (2 * dialogs, 0)
    assert all(counts), "the hash has chosen both"
    changed = remove(system.topology, "ServerB/DatabaseB")
    other = tally(judge_captures([path], Judge(changed, changed, time.time())))
    assert (other.arrived, other.elsewhere) == (2 * dialogs, counts[0])
