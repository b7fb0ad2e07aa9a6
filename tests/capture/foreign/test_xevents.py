"""Extended Events: a sample after the reference's field lists is the dialogs that it describes."""

from __future__ import annotations

import csv
import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.capture import Record
from streams.capture.foreign.sources import Source
from streams.protocol.command import CommandKind
from streams.wire import Topics
from tests.capture.foreign import samples
from tests.capture.foreign.reading import commands, events, imported, left
from tests.capture.foreign.samples import CONTRACT, INITIATOR, ONE, ORDER, REPLY, TARGET, TWO

EVENTS = [samples.element(event) for event in samples.story()]
TOPICS = Topics()


def as_rows(events: list[str]) -> list[dict[str, str]]:
    return [{"object_name": "broker", "event_data": event, "file_offset": "0"} for event in events]


def flat(event: samples.SampleEvent) -> dict[str, object]:
    """Return an event as SSMS exports it: a column for each field."""
    name, instance, at, fields = event
    plain = {k: v[1] if isinstance(v, tuple) else v for k, v in fields.items()}
    return {"name": name, "timestamp": samples.stamp(at), "server_instance_name": instance} | plain


def write_csv(path: Path, rows: list[dict[str, object]], encoding: str = "utf-8") -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        columns = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(file, list(columns))
        writer.writeheader()
        writer.writerows(rows)


def text(body: str, encoding: str = "utf-8") -> Callable[[Path], object]:
    return lambda path: path.write_bytes(body.encode(encoding))


FORMS: dict[str, Callable[[Path], object]] = {
    "elements without a root": text("\n".join(EVENTS)),
    "a ring buffer": text(f"<RingBufferTarget truncated='0'>{''.join(EVENTS)}</RingBufferTarget>"),
    "UTF-16": text("<?xml version='1.0' encoding='utf-16'?>\n" + "\n".join(EVENTS), "utf-16"),
    "FOR XML PATH": text(
        "".join(f"<row><event_data>{html.escape(e)}</event_data></row>" for e in EVENTS)
    ),
    "FOR XML RAW": text("".join(f'<row event_data="{html.escape(e)}"/>' for e in EVENTS)),
    "rows as CSV": lambda path: write_csv(path, as_rows(EVENTS)),
    "rows as JSON": text(json.dumps(as_rows(EVENTS))),
    "FOR JSON, broken by sqlcmd": text(
        "\r\n".join(
            json.dumps(as_rows(EVENTS))[at : at + 2033]
            for at in range(0, len(json.dumps(as_rows(EVENTS))), 2033)
        )
    ),
    "JSON Lines": text("\n".join(map(json.dumps, as_rows(EVENTS)))),
    "SSMS's CSV": lambda path: write_csv(path, [flat(event) for event in samples.story()]),
    "fields as JSON": text(json.dumps([flat(event) for event in samples.story()])),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_imports_into_the_dialogs_that_it_describes(form: str, tmp_path: Path) -> None:
    path = tmp_path / "sample"
    FORMS[form](path)
    records, report = imported(tmp_path, path)
    assert report.good, report.left
    assert_the_story(records)


def assert_the_story(records: list[Record]) -> None:
    issued = commands(records)
    statements = [
        (c.kind.value, c.conversation, c.from_initiator, c.database, c.type) for c in issued
    ]
    assert statements == [
        ("BEGIN", ONE, True, "DatabaseA", None),
        ("SEND", ONE, True, "DatabaseA", ORDER),
        ("SEND", ONE, True, "DatabaseA", ORDER),
        ("SEND", ONE, False, "DatabaseB", REPLY),
        ("END", ONE, True, "DatabaseA", None),
        ("BEGIN", TWO, True, "DatabaseA", None),
        ("SEND", TWO, True, "DatabaseA", ORDER),
    ]
    begins = [c for c in issued if c.kind is CommandKind.BEGIN]
    assert {(c.from_service, c.to_service, c.contract) for c in begins} == {
        (INITIATOR, TARGET, CONTRACT)
    }
    at = [r.timestamp % 1000 for r in records if r.topic == TOPICS.cmd("ServerB")]
    assert at == [20], "the reply is a command of its own instance"
    stamps = [r.timestamp for r in records]
    assert stamps == sorted(stamps)
    assert_the_path(records)


def assert_the_path(records: list[Record]) -> None:
    """The hops of a dialog: reference 7.3."""
    path = [(e["instance"], e["event"], e["subclass"]) for e in events(records)]
    assert path[:8] == [
        ("ServerA", 124, 11), ("ServerA", 124, 1), ("ServerA", 141, 2), ("GatewayA", 139, 0),
        ("ServerB", 124, 12), ("ServerB", 124, 6), ("ServerB", 149, 2), ("ServerA", 149, 4),
    ]  # fmt: skip
    hop = events(records)[3]
    assert (hop["from_service"], hop["to_service"]) == (INITIATOR, TARGET)
    assert (hop["hops_remaining"], hop["sequence"], hop["from_initiator"]) == (15, 0, True)
    ack, *_, drop = events(records)[6:]
    assert ack["detail"] == "acknowledges message 0"
    assert (drop["event"], drop["conversation"]) == (140, str(TWO))
    assert drop["error"] in (28007, 0), "SSMS exports of a reason only its words"
    assert drop["detail"] in ("hop count exhausted", ""), "a trace's sample has no TextData"


def test_the_option_names_the_instance_where_no_action_does(tmp_path: Path) -> None:
    sources = []
    for instance in ("ServerA", "GatewayA", "ServerB"):
        path = tmp_path / f"{instance.lower()}.xml"
        mine = [event for event in samples.story() if event[1] == instance]
        path.write_text("".join(samples.element(event, action=False) for event in mine))
        sources.append(Source(path, instance))
    records, _ = imported(tmp_path, *sources)
    assert_the_story(records)
    assert Source(tmp_path / "SRV01.sys.xml").called == "SRV01"


def test_what_cannot_be_mapped_is_counted_by_kind(tmp_path: Path) -> None:
    good = EVENTS[0]
    bad = [
        good.replace("2026-01-05", "0026-01-05"),
        good.replace(str(ONE).upper(), "?"),
        good.replace("<text>BEGIN DIALOG</text>", "<text>?</text>").replace(">11<", ">?<"),
        good.replace("broker_conversation", "broker_dialog_transmission_body_dequeue"),
        good.replace("broker_conversation", "sql_statement_completed"),
        good.replace("<data", "<<data", 1),
        good[:150],  # cut in the middle
        good,
    ]
    path = tmp_path / "bad.xml"
    path.write_text("\n".join(bad))
    records, report = imported(tmp_path, path)
    assert left(report) == {
        "broker_conversation without a valid time": 1,
        "broker_conversation without a conversation id": 1,
        "broker_conversation of an unknown kind": 1,
        "broker_dialog_transmission_body_dequeue, an event without known fields": 1,
        "an event that is not valid XML: not well-formed (invalid token)": 1,
        "an unterminated event": 1,
        "a BEGIN of a dialog whose services cannot be determined": 1,
    }
    assert report.skipped == {"event sql_statement_completed": 1}
    assert report.left["an unterminated event"].first == f"{path}:7"
    assert len(events(records)) == 1


def test_a_file_full_of_unknown_names_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "odd.xml"
    names = [f"{prefix}_{n}" for n in range(300) for prefix in ("broker", "sql")]
    path.write_text("".join(f'<event name="{name}"></event>' for name in names))
    _, report = imported(tmp_path, path)
    assert len(report.left) == len(report.skipped) == 201
    assert report.left["something else"].count == report.skipped["something else"] == 100


def test_a_dialog_from_before_the_trace_begins_at_its_first_act(tmp_path: Path) -> None:
    path = tmp_path / "late.xml"
    path.write_text("".join([EVENTS[3], *EVENTS[8:]]))
    records, report = imported(tmp_path, path)
    begin, send = commands(records)[:2]
    assert (begin.kind, begin.issued_at) == (CommandKind.BEGIN, send.issued_at)
    assert (begin.from_service, begin.to_service) == (INITIATOR, TARGET)
    [noted] = report.noted
    assert noted.startswith("a dialog that began earlier")
    assert send.type is None, "its number in the dialog is not known"
