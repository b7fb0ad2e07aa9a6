"""Any message log: one row, one SEND; a dialog begins with its first row and ends with its last."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.capture import Record
from streams.capture.foreign import text
from streams.capture.foreign.assemble import Between
from streams.capture.foreign.findings import Report, conversation_named
from streams.capture.foreign.log import LogColumns
from streams.errors import InputError
from streams.wire.records import LARGEST_BODY
from tests.capture.foreign.reading import commands, imported, left

COLUMNS = LogColumns("Order", "At", "Body", "Type")
BETWEEN = Between("Shop", "Store", "Orders", "ServerA", "DatabaseA")
ROWS = [
    {"order": "1", "at": "2026-01-05T09:00:01Z", "body": "<a/>", "type": "Order"},
    {"order": "2", "at": "2026-01-05T09:00:02Z", "body": "<b/>", "type": "Order"},
    {"order": "1", "at": "2026-01-05T09:00:04Z", "body": "<d/>", "type": "Line"},
    {"order": "1", "at": "2026-01-05T09:00:03Z", "body": "<c/>", "type": "Line"},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=2))
    elif path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
            writer.writeheader()
            writer.writerows(rows)
    return path


def logged(folder: Path, path: Path, columns: LogColumns = COLUMNS) -> tuple[list[Record], Report]:
    return imported(folder, path, log=columns, between=BETWEEN, ends=True)


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.json", "log.parquet"])
def test_a_log_becomes_dialogs(name: str, tmp_path: Path) -> None:
    records, report = logged(tmp_path, write(tmp_path / name, ROWS))
    assert report.good
    one, two = conversation_named("1"), conversation_named("2")
    statements = [(c.conversation, c.kind.value, c.type, c.body) for c in commands(records)]
    assert statements == [
        (one, "BEGIN", None, None),
        (one, "SEND", "Order", b"<a/>"),
        (two, "BEGIN", None, None),
        (two, "SEND", "Order", b"<b/>"),
        (two, "END", None, None),
        (one, "SEND", "Line", b"<c/>"),
        (one, "SEND", "Line", b"<d/>"),
        (one, "END", None, None),
    ]
    begin = commands(records)[0]
    assert (begin.from_service, begin.to_service, begin.contract) == ("Shop", "Store", "Orders")
    assert {r.topic for r in records} == {"ssb.cmd.ServerA"}
    assert [r.offset for r in records] == list(range(8))


def test_the_same_log_gives_the_same_records(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", ROWS)
    assert logged(tmp_path, path)[0] == logged(tmp_path, path)[0]


def test_a_conversation_that_is_a_guid_keeps_it() -> None:
    guid = "6f1c2a04-0000-0000-0000-00000000000f"
    assert str(conversation_named(guid.upper())) == guid
    assert conversation_named("6f1c2a04") != conversation_named("6f1c2a05")


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("2026-01-05T09:00:00.123Z", 123),
        ("2026-01-05 11:00:00.123+02:00", 123),
        ("2026-01-05 09:00:00.1230000", 123),
        ("20260105 09:00:00", 0),
        ("01/05/2026 09:00:00", 0),
        ("1767603600", 0),
        ("1767603600123", 123),
        ("1767603600123456", 123),
        ("1767603600.123", 123),
    ],
)
def test_times_in_their_forms(written: str, milliseconds: int, tmp_path: Path) -> None:
    records, _ = logged(tmp_path, write(tmp_path / "log.csv", [ROWS[0] | {"at": written}]))
    assert records[0].timestamp == 1_767_603_600_000 + milliseconds


def test_what_cannot_be_mapped_is_counted_by_kind(tmp_path: Path) -> None:
    good = ROWS[0]
    rows = [
        good,
        good | {"order": ""},
        good | {"at": "0001-01-01T00:00:00"},
        good | {"at": "99999-01-01"},
        good | {"at": "-5"},
        good | {"body": "x" * (LARGEST_BODY + 1)},
        good,
    ]
    records, report = logged(tmp_path, write(tmp_path / "log.csv", rows))
    assert len(records) == 4
    assert left(report) == {
        "a row without a conversation": 1,
        "a row without a valid time": 3,
        "a body of more than 900,000 bytes": 1,
    }
    assert report.left["a row without a valid time"].first == f"{tmp_path / 'log.csv'}:4"


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", ROWS)
    with pytest.raises(InputError, match="no column 'when'; there are: order, at, body, type"):
        logged(tmp_path, path, LogColumns("order", "when", "body"))


def test_an_enormous_line_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LONGEST", 500_000)
    rows = [ROWS[0], ROWS[1] | {"body": "x" * 600_000}, ROWS[2]]
    for name in ("log.csv", "log.jsonl"):
        records, report = logged(tmp_path, write(tmp_path / name, rows))
        assert [c.body for c in commands(records) if c.body] == [b"<a/>", b"<d/>"]
        [kind] = report.left
        assert kind.startswith("a line of more than")
        assert report.left[kind].first.endswith(":3" if name == "log.csv" else ":2")


def test_damaged_lines_cost_themselves(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [json.dumps(row) for row in ROWS]
    path.write_text("\n".join([lines[0], lines[1][:-9], "[1]", "[" * 100_000, lines[2]]))
    records, report = logged(tmp_path, path)
    assert [c.body for c in commands(records) if c.body] == [b"<a/>", b"<d/>"]
    assert sum(left(report).values()) == 3


def test_a_json_array_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(ROWS)[:-30])
    records, report = logged(tmp_path, path)
    assert sum(c.kind.value == "SEND" for c in commands(records)) == 3
    [kind] = report.left
    assert kind.startswith("the rest of a JSON array")


def test_a_parquet_file_that_is_cut_is_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="The Parquet file cannot be read"):
        logged(tmp_path, path)


def test_a_parquet_file_with_a_text_that_is_none_is_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path / "log.parquet", ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Order", b"\xff\xffder"))
    assert path.read_bytes() != whole
    with pytest.raises(InputError, match="The Parquet file cannot be read"):
        logged(tmp_path, path)


def test_windows_1252_among_utf_8_is_read_byte_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    row = "1,2026-01-05T09:00:01Z,"
    path.write_bytes(
        f"order,at,body\n{row}Gr\u00fc\u00dfe\n".encode() + f"{row}\u20ac".encode("cp1252")
    )
    records, report = logged(tmp_path, path, LogColumns("order", "at", "body"))
    assert [c.body.decode() for c in commands(records) if c.body] == ["Gr\u00fc\u00dfe", "\u20ac"]
    assert report.good


CELLS = st.text(max_size=8) | st.sampled_from(["1", "2026-01-05", "0x00ff", "NULL", '"', "\x00"])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.binary(max_size=300) | st.lists(st.lists(CELLS, max_size=5), max_size=6))
def test_whatever_a_file_holds_is_counted_or_refused(data: bytes | list[list[str]]) -> None:
    if isinstance(data, list):
        data = "\n".join(",".join(row) for row in data).encode("utf-8", "replace")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "log.csv"
        path.write_bytes(b"order,at,body\n" + data)
        records, _ = logged(Path(name), path, LogColumns("order", "at", "body"))
    kinds = [c.kind.value for c in commands(records)]
    assert kinds.count("BEGIN") == kinds.count("END")
