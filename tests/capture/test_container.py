"""The capture file: records are read as they were written; any other file is an error."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.capture import (
    CaptureOrigin,
    CaptureReader,
    CaptureWriter,
    Counts,
    Metadata,
    Record,
    TimestampType,
)
from streams.capture.manifest import MANIFEST, Manifest, Part, encoded
from streams.errors import InputError, UsageError
from streams.schema import load

METADATA = Metadata(CaptureOrigin.CAPTURED, "ssb.", "combined", 1_767_600_000_000)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
BYTES = st.none() | st.binary(max_size=40)
INT64 = st.integers(-(2**63), 2**63 - 1)
RECORDS = st.builds(
    Record,
    TEXT,
    st.integers(0, 2**31 - 1),
    INT64,
    INT64,
    st.sampled_from(TimestampType),
    BYTES,
    st.lists(st.tuples(st.sampled_from(["a", "sb-command"]) | TEXT, BYTES), max_size=5).map(tuple),
    BYTES,
)


def record(n: int, **changes: object) -> Record:
    fields: dict[str, object] = {
        "topic": "ssb.cmd.ServerA",
        "partition": 0,
        "offset": n,
        "timestamp": 1_767_600_000_000 + n,
        "timestamp_type": TimestampType.CREATE_TIME,
        "key": b"k%d" % (n % 7),
        "headers": (("sb-command", b"c%d" % n),),
        "value": b"<Order/>" * (n % 50),
    }
    return Record(**(fields | changes))  # type: ignore[arg-type]


def written(path: Path, count: int = 2_000) -> list[Record]:
    records = [record(n) for n in range(count)]
    with CaptureWriter(path, METADATA) as writer:
        for one in records:
            writer.write(one)
    return records


@given(
    st.lists(RECORDS, max_size=6),
    st.builds(Metadata, st.sampled_from(CaptureOrigin), TEXT, TEXT, st.integers(0, 2**53)),
)
def test_what_is_written_is_read(records: list[Record], metadata: Metadata) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.avro"
        with CaptureWriter(path, metadata) as writer:
            for one in records:
                writer.write(one)
        reader = CaptureReader(path)
        assert list(reader) == records
        assert list(reader) == records, "a second iteration begins at the start"
        assert reader.metadata == metadata
        assert reader.counts == writer.counts
        stamps = [one.timestamp for one in records if one.timestamp >= 0]
        assert reader.counts == Counts(
            len(records),
            sum(len(one.value or b"") for one in records),
            min(stamps, default=-1),
            max(stamps, default=-1),
        )


def test_null_is_not_empty_and_headers_repeat_in_order(tmp_path: Path) -> None:
    headers = (("h", None), ("h", b""), ("a", b"1"), ("h", b"2"))
    records = [
        record(0, key=None, value=None, headers=()),
        record(1, key=b"", value=b"", headers=headers),
    ]
    with CaptureWriter(tmp_path / "c", METADATA) as writer:
        for one in records:
            writer.write(one)
    assert list(CaptureReader(tmp_path / "c")) == records
    assert records[1].header("h") == b"2"
    assert records[1].header("none") is None


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    written(tmp_path / "a")
    written(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_any_avro_reader_reads_it(tmp_path: Path) -> None:
    written(tmp_path / "c", 3)
    with open(tmp_path / "c", "rb") as file:
        rows: list[Any] = list(fastavro.reader(file))
    assert [row["offset"] for row in rows] == [0, 1, 2]


def test_the_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(b"old")
    with CaptureWriter(path, METADATA) as writer:
        writer.write(record(0))
        assert path.read_bytes() == b"old"
    assert len(list(CaptureReader(path))) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["c"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    for place in (tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="is not a regular file and is not replaced"):
            CaptureWriter(place, METADATA)


def test_a_link_goes_on_leading_to_the_file(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    with CaptureWriter(link, METADATA) as writer:
        writer.write(record(1))
    assert link.is_symlink() and list(CaptureReader(file)) == [record(1)]


def test_what_was_written_before_an_exception_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), CaptureWriter(tmp_path / "c", METADATA) as writer:
        writer.write(record(0))
        raise ZeroDivisionError
    assert not (tmp_path / "c").exists()
    reader = CaptureReader(tmp_path / "c.part")
    assert reader.counts is None
    assert list(reader) == [record(0)]


def read_all(path: Path) -> list[Record]:
    return list(CaptureReader(path))


def test_every_truncation_is_found(tmp_path: Path) -> None:
    path = tmp_path / "c"
    written(path, 3)
    raw = path.read_bytes()
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(InputError) as caught:
            read_all(path)
        assert caught.value.file == str(path)
        assert caught.value.remedy


def test_a_file_cut_between_two_blocks_names_the_record(tmp_path: Path) -> None:
    path = tmp_path / "c"
    written(path)
    raw = path.read_bytes()
    marker = raw[-16:]
    path.write_bytes(raw[: raw.index(marker, raw.index(marker) + 1) + 16])
    with pytest.raises(InputError, match=r"ends after record \d+; its header states 2000"):
        read_all(path)


def test_a_damaged_block_names_the_record(tmp_path: Path) -> None:
    path = tmp_path / "c"
    written(path)
    raw = bytearray(path.read_bytes())
    first = raw.index(raw[-16:]) + 16
    second = raw.index(raw[-16:], first) + 16
    raw[second + 20 : second + 60] = b"\xff" * 40
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"Record \d{2,} cannot be read") as caught:
        read_all(path)
    assert caught.value.remedy


@given(st.data())
def test_changed_bytes_raise_nothing_else(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        written(path, 5)
        raw = bytearray(path.read_bytes())
        for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=4)):
            raw[at] = data.draw(st.integers(0, 255))
        path.write_bytes(raw)
        try:
            read_all(path)
        except InputError as error:
            assert error.file == str(path)


@given(st.binary(max_size=200))
def test_garbage_is_no_capture(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        for content in (raw, b"Obj\x01" + raw):
            path.write_bytes(content)
            with pytest.raises(InputError):
                read_all(path)


def test_another_avro_file_is_no_capture(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    schema = {"type": "record", "name": "x.Other", "fields": [{"name": "n", "type": "int"}]}
    fastavro.writer(buffer, schema, [{"n": 1}])
    (tmp_path / "c").write_bytes(buffer.getvalue())
    with pytest.raises(InputError):
        read_all(tmp_path / "c")


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {
            "hopline.kind": "else",
            "hopline.prefix": "",
            "hopline.topology": "",
            "hopline.created": "1",
        },
        {
            "hopline.kind": "captured",
            "hopline.prefix": "",
            "hopline.topology": "",
            "hopline.created": "now",
        },
        {
            "hopline.kind": "captured",
            "hopline.prefix": "",
            "hopline.topology": "",
            "hopline.created": "1",
            "hopline.counts": json.dumps({"records": "many"}),
        },
    ],
)
def test_metadata_that_is_not_a_captures(tmp_path: Path, metadata: dict[str, str]) -> None:
    buffer = io.BytesIO()
    fastavro.writer(buffer, load("CapturedRecord"), [], metadata=dict(metadata))
    (tmp_path / "c").write_bytes(buffer.getvalue())
    with pytest.raises(InputError, match=r"metadata|counts"):
        read_all(tmp_path / "c")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened") as caught:
        CaptureReader(tmp_path / "none")
    assert caught.value.file == str(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be opened"):
        CaptureReader(tmp_path)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        CaptureWriter(tmp_path / "no" / "c", METADATA)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"size": 5', '"size": 1e400'),
        ('"file": "part.avro"', '"file": "part\\u0000.avro"'),
        ('"file": "part.avro"', '"file": "\\ud800"'),
        ('"file": "part.avro"', '"file": "../part.avro"'),
    ],
)
def test_a_manifest_that_means_nothing_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str
) -> None:
    part = Part("part.avro", Counts(), 5, "0" * 64)
    text = encoded(Manifest(Metadata(CaptureOrigin.CAPTURED, "ssb.", "x", 1), (part,)))
    (tmp_path / MANIFEST).write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match="The manifest cannot be read"):
        CaptureReader(tmp_path)
