"""Records as Parquet: how many are written together."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet as pq

from streams.capture import parquet
from streams.capture.look import Look
from streams.wire import Topics
from tests.capture.commands import begin, records, send


def test_large_records_are_written_before_they_fill_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 10_000)
    made = records([begin(1), *[send(1, body=b"x" * 6_000)] * 4])
    pairs = [(one, Look("ssb.cmd.A", 0, n, n, "cmd")) for n, one in enumerate(made)]
    path = tmp_path / "one.parquet"
    assert parquet.write_parquet(path, pairs, Topics()) == len(made)
    with pq.ParquetFile(path) as file:
        assert (file.num_row_groups, file.metadata.num_rows) == (2, len(made))
