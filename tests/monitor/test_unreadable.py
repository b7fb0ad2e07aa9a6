"""Which records the next run of a query leaves out, by what its checkpoint then has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from streams.kafka import Cluster
from streams.monitor import unreadable
from streams.monitor.unreadable import Unreadable, pass_unreadable

Places = dict[str, dict[str, int]]


class Reader:
    """A client that cannot read some records."""

    def __init__(self, *found: Unreadable) -> None:
        self.found, self.tried = found, list[tuple[str, int]]()

    def close(self) -> None:
        """Do nothing."""

    def unreadable(self, topic: str, partition: int, begin: int, end: int) -> Unreadable | None:
        """Return the first of the records that are between two offsets."""
        self.tried.append((topic, partition))
        return next(
            (f for f in self.found if f[:2] == (topic, partition) and begin <= f.offset < end), None
        )


def written(folder: Path, batches: list[list[Places]], done: int) -> Path:
    """Write a checkpoint, as Spark does; its batches up to ``done`` are committed."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    for number, sources in enumerate(batches):
        lines = ["v1", '{"batchWatermarkMs":0}', *map(json.dumps, sources), "-"]
        (folder / "offsets" / str(number)).write_text("\n".join(lines))
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc")
        if number <= done:
            (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder


def offsets(folder: Path, batch: int) -> list[Places]:
    """Return the offsets of a batch; the other lines are as they were."""
    first, second, *sources, last = (folder / "offsets" / str(batch)).read_text().splitlines()
    assert (first, second, last) == ("v1", '{"batchWatermarkMs":0}', "-")
    return [json.loads(source) for source in sources]


def passed(
    monkeypatch: pytest.MonkeyPatch, folder: Path, reader: Reader, failure: str = ""
) -> Unreadable | None:
    monkeypatch.setattr(unreadable, "_Reader", lambda *_: reader)
    return pass_unreadable(cast(Any, None), Cluster("127.0.0.1:1"), folder, failure)


BEGIN: list[Places] = [{"event": {"0": 10, "1": 5}}, {"queue": {"0": 7}}]
END: list[Places] = [{"event": {"0": 20, "1": 5}}, {"queue": {"0": 9}}]


def test_a_batch_ends_before_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path, [BEGIN, END], done=0)
    found = Unreadable("event", 0, 15, 17)
    assert passed(monkeypatch, folder, Reader(found)) == found
    assert offsets(folder, 0) == BEGIN
    assert offsets(folder, 1) == [{"event": {"0": 15, "1": 5}}, {"queue": {"0": 9}}]
    assert [f.name for f in folder.glob("offsets/.*.crc")] == [".0.crc"]


@pytest.mark.parametrize(("after", "end"), [(12, 20), (20, 20)])
def test_a_batch_begins_behind_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, end: int
) -> None:
    folder = written(tmp_path, [BEGIN, END], done=0)
    assert passed(monkeypatch, folder, Reader(Unreadable("event", 0, 10, after)))
    assert offsets(folder, 0) == [{"event": {"0": after, "1": 5}}, {"queue": {"0": 7}}]
    assert offsets(folder, 1) == [{"event": {"0": end, "1": 5}}, {"queue": {"0": 9}}]
    assert not list(folder.glob("offsets/.*.crc"))


def test_a_partition_that_is_new_begins_behind_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path, [[{"queue": {"0": 7}}], [{"queue": {"0": 7, "1": 3}}]], done=0)
    assert passed(monkeypatch, folder, Reader(Unreadable("queue", 1, 0, 1)))
    assert offsets(folder, 0) == [{"queue": {"0": 7, "1": 1}}]
    assert offsets(folder, 1) == [{"queue": {"0": 7, "1": 3}}]


def test_the_first_batch_ends_before_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its beginning is in no file, and the second batch begins at its end."""
    folder = written(tmp_path, [END], done=-1)
    assert passed(monkeypatch, folder, Reader(Unreadable("queue", 0, 0, 2)))
    assert offsets(folder, 0) == [END[0], {"queue": {"0": 0}}]


@pytest.mark.parametrize("done", [0, 1])
def test_what_can_be_read_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """Or what was read: then the next batch is not planned yet."""
    folder = written(tmp_path, [BEGIN, END], done)
    before = {file: file.read_bytes() for file in folder.glob("*/*")}
    found = [] if done == 0 else [Unreadable("event", 0, 15, 17)]
    assert passed(monkeypatch, folder, Reader(*found)) is None
    assert {file: file.read_bytes() for file in folder.glob("*/*")} == before


def test_a_query_without_a_checkpoint_has_read_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert passed(monkeypatch, tmp_path / "none", Reader()) is None


def test_the_partition_that_the_failure_names_is_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, reader = written(tmp_path, [BEGIN, END], done=0), Reader()
    passed(monkeypatch, folder, reader, "when fetching the next record from queue-0. If needed")
    assert reader.tried == [("queue", 0), ("event", 0)]


def test_the_report_has_the_command_that_deletes_the_records() -> None:
    text = str(Unreadable("ssb.event", 0, 15, 17))
    assert "ssb.event/0" in text and "offset 15 to 16" in text
    file = text.partition("echo '")[2].partition("'")[0]
    assert json.loads(file) == {
        "partitions": [{"topic": "ssb.event", "partition": 0, "offset": 17}],
        "version": 1,
    }
