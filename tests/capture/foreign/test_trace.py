"""SQL Trace and Profiler: names, numbers and both conventions lead to the same dialogs."""

from __future__ import annotations

import csv
from html import escape
from pathlib import Path
from typing import Any

import pytest

from streams.capture.foreign.trace import BY_NUMBER
from tests.capture.foreign import samples
from tests.capture.foreign.reading import commands, events, imported, left
from tests.capture.foreign.test_xevents import assert_the_story

ROWS = [samples.trace_row(event, n) for n, event in enumerate(samples.story(), 1)]
NUMBERS = {name: number for number, name in BY_NUMBER.items()}


def write(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-16") as file:
        columns = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(file, list(columns), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def profiler_xml(rows: list[dict[str, Any]]) -> str:
    parts = ["<?xml version='1.0' encoding='utf-16'?><TraceData><Header/><Events>"]
    for row in rows:
        parts.append(f'<Event id="{row["EventClass"]}" name="Broker:Something">')
        for name, value in row.items():
            number = NUMBERS.get(name.lower(), "")
            parts.append(f'<Column id="{number}" name="{name}">{escape(str(value))}</Column>')
        parts.append("</Event>")
    return "".join(parts) + "</Events></TraceData>"


def test_a_trace_table_is_the_dialogs_that_it_describes(tmp_path: Path) -> None:
    records, report = imported(tmp_path, write(tmp_path / "t.csv", ROWS, "\t"))
    assert report.good, report.left
    assert_the_story(records)


def test_profilers_xml_too(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_text(profiler_xml(ROWS), encoding="utf-16")
    records, report = imported(tmp_path, tmp_path / "t.xml")
    assert report.good, report.left
    assert_the_story(records)


def test_columns_may_be_known_by_their_numbers(tmp_path: Path) -> None:
    rows = [{NUMBERS[name.lower()]: value for name, value in row.items()} for row in ROWS]
    records, report = imported(tmp_path, write(tmp_path / "t.csv", rows))
    assert report.good, report.left
    assert_the_story(records)


@pytest.mark.parametrize("column", ["20", "29", "Severity", "NestLevel"])
def test_both_numbers_of_severity_are_taken(column: str, tmp_path: Path) -> None:
    """C-23."""
    [row_of_error] = [row for row in ROWS if row["EventClass"] == 140]
    records, _ = imported(tmp_path, write(tmp_path / "t.csv", [row_of_error | {column: 16}]))
    [drop] = events(records)
    assert drop["detail"] == "severity 16"


@pytest.mark.parametrize("column", ["5", "Priority", "LineNumber"])
def test_both_names_of_priority_are_taken(column: str, tmp_path: Path) -> None:
    """C-23."""
    records, _ = imported(tmp_path, write(tmp_path / "t.csv", [ROWS[0] | {column: 7}]))
    [event] = events(records)
    assert event["detail"] == "priority 7"


def test_191_is_a_dropped_message_only_with_that_name(tmp_path: Path) -> None:
    """C-22."""
    [drop] = [row for row in ROWS if row["EventClass"] == 140]
    named = drop | {"EventClass": 191, "EventName": "Broker:Forwarded Message Dropped"}
    save = drop | {"EventClass": 191, "EventName": "TM: Save Tran starting"}
    records, report = imported(tmp_path, write(tmp_path / "t.csv", [named, save, drop]))
    assert [e["event"] for e in events(records)] == [140, 140]
    assert report.good
    assert report.skipped == {"event TM: Save Tran starting": 1}


def test_events_are_known_by_name_and_subclasses_by_their_words(tmp_path: Path) -> None:
    row = ROWS[0] | {"EventClass": "Broker:Conversation", "EventSubClass": "11 - BEGIN DIALOG"}
    words = ROWS[0] | {"EventClass": "Broker:Conversation", "EventSubClass": "BEGIN DIALOG"}
    records, _ = imported(tmp_path, write(tmp_path / "t.csv", [row, words]))
    assert [e["subclass"] for e in events(records)] == [11, 11]


def test_times_are_the_servers_own(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ROWS[:1])
    [winter], [utc] = (
        [e["at"] for e in events(imported(tmp_path, path, utc_offset=offset)[0])]
        for offset in (60, 0)
    )
    assert utc - winter == 3_600_000


def test_the_event_sequence_orders_what_a_clock_that_goes_back_mixes(tmp_path: Path) -> None:
    early = {"StartTime": "2026-01-05 08:59:59.990"}
    rows = [ROWS[0], ROWS[1], ROWS[8] | early, *ROWS[2:8]]
    rows = [row | {"EventSequence": n} for n, row in enumerate(rows)]
    records, report = imported(tmp_path, write(tmp_path / "t.csv", rows))
    assert [c.kind.value for c in commands(records)] == ["BEGIN", "SEND", "SEND"]
    assert any("timestamps out of order" in kind for kind in report.noted)


@pytest.mark.parametrize(
    ("number", "name", "known", "read"),
    [
        (142, "Broker:Transmission", {"Error": 8474, "State": 11}, {"error": 8474}),
        (143, "Broker:Queue Disabled", {"DatabaseID": 5, "ObjectID": 7}, {}),
        (144, "Broker:Mirrored Route State Changed", {"EventSubClass": 2}, {"subclass": 2}),
    ],
)
def test_of_an_event_without_a_page_known_columns_are_read_and_others_passed_over(
    number: int, name: str, known: dict[str, int], read: dict[str, int], tmp_path: Path
) -> None:
    when = {column: ROWS[0][column] for column in ("ServerName", "StartTime")}
    row = when | known | {"EventClass": number, "NobodyKnows": "this", "GroupID": "x", "SPID": "?"}
    records, report = imported(tmp_path, write(tmp_path / "t.csv", [row]))
    assert report.good and report.rows == {name: 1}
    [event] = events(records)
    assert event["event"] == number
    assert {column: event[column] for column in read} == read


def test_what_cannot_be_mapped_is_counted_by_kind(tmp_path: Path) -> None:
    good = ROWS[0]
    rows = [
        good | {"StartTime": "yesterday"},
        good | {"GUID": ""},
        good | {"EventSubClass": "?"},
        good | {"ServerName": ""},
        good | {"EventClass": ""},
        good | {"EventClass": 10},
        good | {"EventClass": 999, "EventName": "Broker:Something New"},
    ]
    _, report = imported(tmp_path, write(tmp_path / "t.csv", rows))
    assert left(report) == {
        "Broker:Conversation without a valid time": 1,
        "Broker:Conversation without a conversation id": 1,
        "Broker:Conversation with an unknown subclass": 1,
        "Broker:Conversation without a server name": 1,
        "a row without an event class": 1,
        "Broker:Something New, an event class without known columns": 1,
    }
    assert report.skipped == {"event 10": 1}
