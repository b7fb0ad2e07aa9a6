"""Whatever has happened to a file of a recording: what can be read is, the rest is counted."""

from __future__ import annotations

import csv
import html
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet as pq

from streams.capture import Record, TimestampType
from streams.capture.foreign.text import pieces
from streams.capture.look import look, raw
from streams.errors import InputError
from streams.wire import Topics
from streams.wire.describe import describe
from tests.capture.foreign import samples
from tests.capture.foreign.reading import commands, events, imported
from tests.capture.foreign.test_trace import ROWS, profiler_xml
from tests.capture.foreign.test_views import SENDER, queued, unsent
from tests.test_xml_reader import entity_chain


def table(rows: list[dict[str, object]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


EVENTS = [samples.element(event) for event in samples.story()]
FILES: dict[str, bytes] = {
    "Extended Events": "\n".join(EVENTS).encode(),
    "event_data as JSON": json.dumps([{"event_data": event} for event in EVENTS]).encode(),
    "event_data as CSV": table([{"event_data": event} for event in EVENTS]),
    "Profiler's XML": profiler_xml(ROWS).encode("utf-16"),
    "a trace table": table(ROWS),
    "endpoints": table([SENDER]),
    "a transmission queue": table([unsent(1), unsent(2)]),
    "a queue": table([queued(1), queued(2)]),
}
PIECES = [b"<", b">", b'"', b"\0", b"\xff\xfe", b"</event>", b"<event ", b"&", b"]]>", b"\n", b","]
PIECES += [b"-9223372036854775809", b"1e400", b"NULL", b"{", b"[", b"<!DOCTYPE a>", b"0001-01-01"]


@st.composite
def wounds(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Draw something that happens to a file: cut, holes, what does not belong there."""
    share = draw(st.floats(0, 1))
    piece = draw(st.sampled_from(PIECES) | st.binary(min_size=1, max_size=6))
    length = draw(st.integers(0, 40))
    how = draw(st.sampled_from(["cut", "hole", "put", "over"]))

    def wound(data: bytes) -> bytes:
        at = int(share * len(data))
        if how == "cut":
            return data[:at]
        if how == "hole":
            return data[:at] + data[at + length :]
        return data[:at] + piece + data[at + (len(piece) if how == "over" else 0) :]

    return wound


@pytest.mark.parametrize("name", FILES)
@given(st.lists(wounds(), min_size=1, max_size=4))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_a_damaged_recording_is_read_or_refused(
    name: str, happened: list[Callable[[bytes], bytes]]
) -> None:
    data = FILES[name]
    for wound in happened:
        data = wound(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        try:
            records, report = imported(Path(folder), path)
        except InputError as error:
            assert error.file == str(path)
            return
    assert len(commands(records)) + len(events(records)) == len(records)
    assert all(record.timestamp >= 0 for record in records)
    json.dumps(report.to_json()).encode()


BYTES = st.none() | st.binary(max_size=40)
KINDS = ("cmd.A", "out.A", "txq.A", "in.A", "ack.A", "queue.A.B.C", "event", "result.A", "dialog.A")
NAMES = ("sb-command", "sb-route", "sb-message", "sb-hop", "sb-conversation", "sb-moved", "x")
RECORDS = st.builds(
    Record,
    st.sampled_from([f"ssb.{kind}" for kind in KINDS]) | st.text(max_size=8),
    st.integers(0, 3),
    st.integers(0, 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.just(TimestampType.CREATE_TIME),
    BYTES | st.just(b"00000000-0000-0000-0000-000000000001"),
    st.lists(st.tuples(st.sampled_from(NAMES), BYTES), max_size=4).map(tuple),
    BYTES,
)


@given(RECORDS)
@settings(derandomize=True, deadline=None)
def test_a_record_of_whatever_bytes_can_be_looked_at(record: Record) -> None:
    seen = look(record, Topics())
    assert (seen.topic, seen.offset) == (record.topic, record.offset)
    assert json.dumps([*seen, seen.time])
    assert describe(raw(record), Topics())["topic"] == record.topic


def test_an_event_nested_in_an_event_that_does_not_end_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text(f"{EVENTS[0][:60]}{EVENTS[0]}<event name='x'/>{EVENTS[1]}")
    records, report = imported(tmp_path, path)
    assert len(events(records)) == 2
    assert report.left["an unterminated event"].count == 1
    assert report.skipped == {"event x": 1}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("beginning", ["<event ", "<event name='x'>", "&lt;event "])
def test_a_file_of_beginnings_is_read_once(tmp_path: Path, beginning: str) -> None:
    """Each was sought its end in all the rest of the file: a minute for 2.8 MB."""
    path = tmp_path / "x.xml"
    path.write_text("<events>" + beginning * 200_000)
    _, report = imported(tmp_path, path)
    assert report.left["an unterminated event"].count == 200_000


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ("xml", "undefined entity"),  # an event is read without what is before it
        ("csv", "a document type is not allowed"),
        ("json", "a document type is not allowed"),
    ],
)
def test_a_chain_of_entities_is_counted(tmp_path: Path, form: str, why: str) -> None:
    """A parser that follows it ends its process with a segmentation fault (CVE-2024-8176)."""
    chain = entity_chain(100_000, root="event").decode()
    cells = [EVENTS[0], chain, EVENTS[1]]
    rows: list[dict[str, object]] = [{"event_data": cell} for cell in cells]
    forms = {"xml": "".join(cells).encode(), "csv": table(rows), "json": json.dumps(rows).encode()}
    path = tmp_path / f"x.{form}"
    path.write_bytes(forms[form])
    command = [sys.executable, "-m", "streams", "capture", "import", path]
    command += ["--output", tmp_path / "x.avro", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    answer = json.loads(done.stdout)
    assert answer["rows"] == {"broker_conversation": 2}, "its neighbours are read"
    left = {one["kind"]: one["count"] for one in answer["left"]}
    assert left[f"an event that is not valid XML: {why}"] == 1


def declared(encoding: str) -> bytes:
    return f'<?xml version="1.0" encoding="{encoding}"?>\n'.encode() + FILES["Extended Events"]


NESTED = ('{"a":' * 985 + "1" + "}" * 985).encode()
SLOW = ("idna", "punycode", "undefined", "unicode_escape", "utf-7", "utf-32", "utf-32-le")
CODECS = ("zlib", "hex", "rot13", *SLOW)
ESCAPED = html.escape(EVENTS[0])
REFERENCE = ESCAPED.replace("&lt;/event&gt;", "&#" + "9" * 5_000 + ";&lt;/event&gt;")
ENDPOINT = {**SENDER, "send_sequence": 2**63 - 1}
ODD = {
    **{f"declared as {name}": declared(name) for name in CODECS},
    "a reference of 5,000 digits": f"<RingBufferTarget>{REFERENCE}</RingBufferTarget>".encode(),
    "a time of 400 digits": json.dumps(
        [{"name": "broker_conversation", "timestamp": 10**400, "conversation_id": "x"}]
    ).encode(),
    "nested fields": b'[{"name":"broker_conversation","event":' + NESTED + b"}]",
    "a nested body": b'[{"conversation_handle":"1","message_body":' + NESTED
    + b',"to_service_name":"x","enqueue_time":1}]',
    "numbers beyond all sums": table([ENDPOINT, {**ENDPOINT, "is_initiator": 0}]),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_read_as_far_as_possible(name: str, tmp_path: Path) -> None:
    path = tmp_path / "odd\udcff.txt"  # its name has a byte that is not UTF-8
    path.write_bytes(ODD[name])
    try:
        records, report = imported(tmp_path, path)
    except InputError as error:
        assert "damaged" not in error.message
        return
    assert records or report.left or report.rows


@pytest.mark.parametrize("name", CODECS)
def test_a_codec_that_is_not_linear_is_not_used(name: str, tmp_path: Path) -> None:
    """A file in punycode took four times as long for twice the size."""
    text = f'<?xml version="1.0" encoding="{name}"?><e>-' + "A" * 5_000
    path = tmp_path / "one.xml"
    path.write_bytes(text.encode())
    assert "".join(pieces(path)) == text


@pytest.mark.parametrize("zone", ["Foo/Bar", None])
def test_a_parquet_file_with_odd_times_is_read_or_refused(zone: str | None, tmp_path: Path) -> None:
    """SQL Server's datetime2(7) has tenths of microseconds."""
    at = pa.array([1_790_000_000_000_000_100], pa.int64()).cast(pa.timestamp("ns", zone))
    columns = {name: pa.array([str(value)]) for name, value in unsent(1).items()}
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({**columns, "enqueue_time": at}), path)
    if zone is not None:
        with pytest.raises(InputError, match="cannot be read: 'Foo/Bar'"):
            imported(tmp_path, path)
        return
    _, report = imported(tmp_path, path)
    assert sum(report.rows.values()) == 1
