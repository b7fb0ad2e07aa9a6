"""Damage: where it is, what is lost, and what stands around it; captures in several files."""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.capture import CaptureReader, CaptureWriter, Record, readers_of
from streams.capture.folder import CaptureFolder
from streams.capture.manifest import MANIFEST
from streams.errors import InputError, UsageError
from streams.wire.packing import pack_long
from tests.capture.test_container import METADATA, record, written


def marks(raw: bytes) -> list[int]:
    """Return where each block begins, and the end."""
    marker, at, found = raw[-16:], 0, []
    while (at := raw.find(marker, at) + 1) > 0:
        found.append(at + 15)
        at += 15
    return found


def damaged(path: Path) -> tuple[list[Record], list[int]]:
    records = written(path, 3_000)
    raw = bytearray(path.read_bytes())
    begins = marks(bytes(raw))
    assert len(begins) > 4
    raw[begins[1] + 20 : begins[1] + 60] = b"\xff" * 40
    path.write_bytes(raw)
    return records, begins


def test_damage_is_reported_with_its_place(tmp_path: Path) -> None:
    _, begins = damaged(tmp_path / "c")
    with pytest.raises(InputError, match=f"in the block at byte {begins[1]:,}: ") as caught:
        list(CaptureReader(tmp_path / "c"))
    assert "--salvage" in caught.value.remedy


def test_salvage_skips_the_block_and_counts_what_is_lost(tmp_path: Path) -> None:
    records, begins = damaged(tmp_path / "c")
    reader = CaptureReader(tmp_path / "c", salvage=True)
    read = list(reader)
    [loss] = reader.losses
    assert (loss.file, loss.damage.at, loss.damage.until) == (
        tmp_path / "c", begins[1], begins[2]
    )  # fmt: skip
    assert reader.lost == loss.damage.records == len(records) - len(read) > 0
    kept = set(read)
    gap = [n for n, one in enumerate(records) if one not in kept]
    assert gap == list(range(gap[0], gap[0] + reader.lost)), "and nothing else"
    assert list(CaptureReader(tmp_path / "c", salvage=True)) == read


def test_a_cut_file_is_salvaged_to_its_last_whole_block(tmp_path: Path) -> None:
    records = written(tmp_path / "c", 3_000)
    raw = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(raw[: marks(raw)[2] + 30])
    reader = CaptureReader(tmp_path / "c", salvage=True)
    read = list(reader)
    assert read == records[: len(read)]
    assert reader.lost == 3_000 - len(read)


def test_a_file_that_is_cut_between_two_blocks_has_lost_the_others(tmp_path: Path) -> None:
    records = written(tmp_path / "c", 3_000)
    raw = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(raw[: marks(raw)[2]])
    reader = CaptureReader(tmp_path / "c", salvage=True)
    read = list(reader)
    [loss] = reader.losses
    assert loss.damage.records == reader.lost == len(records) - len(read) > 0


@pytest.mark.long
@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_changed_bytes_never_raise_while_salvaging(data: st.DataObject) -> None:
    """Of what is behind the header; every record that is not lost is as it was, or is counted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        records = written(path, 1_500)
        raw = bytearray(path.read_bytes())
        begin = marks(bytes(raw))[0]
        for at in data.draw(st.lists(st.integers(begin, len(raw) - 1), min_size=1, max_size=3)):
            raw[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(raw)
        reader = CaptureReader(path, salvage=True)
        read = list(reader)
        assert len(read) + (reader.lost or 0) == len(records)


def folder(path: Path, count: int, split: int = 40_000) -> list[Record]:
    records = [record(n) for n in range(count)]
    with CaptureFolder(path, METADATA, split) as writer:
        for one in records:
            writer.write(one)
    return records


def test_a_folder_is_read_as_one_capture(tmp_path: Path) -> None:
    records = folder(tmp_path / "c", 500)
    reader = CaptureReader(tmp_path / "c")
    assert len(reader.files) > 2
    assert list(reader) == records
    assert reader.metadata == METADATA
    single = readers_of([tmp_path / "c"])
    assert [one.path for one in single] == list(reader.files)
    assert [record for one in single for record in one] == records
    assert reader.counts is not None
    assert reader.counts.records == 500
    assert reader.counts.last == records[-1].timestamp
    found = json.loads((tmp_path / "c" / MANIFEST).read_text())
    assert found["positions"] == {"ssb.cmd.ServerA": {"0": 500}}


def test_a_folder_goes_on_where_a_crash_left_it(tmp_path: Path) -> None:
    path = tmp_path / "c"
    records = [record(n) for n in range(500)]
    with pytest.raises(ZeroDivisionError), CaptureFolder(path, METADATA, 40_000) as writer:
        for one in records[:300]:
            writer.write(one)
        raise ZeroDivisionError
    assert CaptureReader(path).counts is None
    assert list(path.glob("*.avro.part"))
    with CaptureFolder(path, METADATA, 40_000, resume=True) as writer:
        position = writer.positions["ssb.cmd.ServerA"][0]
        assert 0 < position < 300, "only what is in complete parts"
        for one in records[position:]:
            writer.write(one)
    assert list(CaptureReader(path)) == records
    assert not list(path.glob("*.part"))
    assert writer.counts.records == 500


def test_a_part_that_was_changed_is_known_by_its_checksum(tmp_path: Path) -> None:
    folder(tmp_path / "c", 500)
    part = CaptureReader(tmp_path / "c").files[1]
    raw = bytearray(part.read_bytes())
    raw[-40] ^= 1
    part.write_bytes(raw)
    with pytest.raises(InputError, match="its checksum differs") as caught:
        list(CaptureReader(tmp_path / "c"))
    assert caught.value.file == str(part)
    part.unlink()
    reader = CaptureReader(tmp_path / "c", salvage=True)
    assert len(list(reader)) + (reader.lost or 0) == 500
    assert reader.losses[0].damage.why.startswith("The capture cannot be opened")


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="is not empty"):
        CaptureFolder(tmp_path, METADATA, 1)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"hopline_capture": 2}', "[" * 100_000,
        '{"hopline_capture": 1, "kind": "captured", "prefix": "", "topology": "", "created": 0, '
        '"complete": true, "positions": {}, "parts": [{"file": "../x", "records": 0, '
        '"body_bytes": 0, "first": 0, "last": 0, "size": 0, "sha256": ""}]}',
    ],
)  # fmt: skip
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match="The manifest cannot be read"):
        CaptureReader(tmp_path)


EMPTY = b"\0" * 8
"""A record without topic, headers and so on."""


def with_block(path: Path, records: int, data: bytes) -> list[Record]:
    """Write a capture, and insert a block after its first block; return the other records."""
    found = written(path, 3_000)
    raw = path.read_bytes()
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = deflate.compress(data) + deflate.flush()
    at = marks(raw)[1]
    block = pack_long(records) + pack_long(len(block)) + block + raw[-16:]
    path.write_bytes(raw[:at] + block + raw[at:])
    return found


def bombs() -> dict[str, tuple[int, bytes, str]]:
    """Return blocks that take gigabytes when decoded: records, data and why they are refused."""
    many, headers = 100_001, 1_000_001
    one_record = EMPTY[:6] + pack_long(headers) + b"\0\0" * headers + b"\0\0"
    half = EMPTY[:6] + pack_long(headers // 2 + 1) + b"\0\0" * (headers // 2 + 1) + b"\0\0"
    return {
        "records": (many, EMPTY * many, "a block of 100,001 records, more than the limit of"),
        "headers": (1, one_record, "its records have more than 1,000,000 headers"),
        "headers of two records": (2, half * 2, "its records have more than 1,000,000 headers"),
        "a number": (1, b"\xff" * (2 << 20), "an unterminated number"),
    }


@pytest.mark.parametrize("bomb", bombs().values(), ids=bombs())
def test_a_block_of_too_many_values_is_refused_and_salvage_skips_it(
    tmp_path: Path, bomb: tuple[int, bytes, str]
) -> None:
    """A file of 10 kB took 12 GB of memory."""
    count, data, why = bomb
    path = tmp_path / "c"
    records = with_block(path, count, data)
    with pytest.raises(InputError, match=why) as caught:
        list(CaptureReader(path))
    assert (caught.value.file, "--salvage" in caught.value.remedy) == (str(path), True)
    reader = CaptureReader(path, salvage=True)
    assert list(reader) == records
    assert [loss.damage.records for loss in reader.losses] == [count]


@pytest.mark.parametrize("headers", [1_000, 600_000])
def test_a_large_record_is_read(tmp_path: Path, headers: int) -> None:
    """The large record ends the block, so its block has several records."""
    large = record(5, headers=(("h", None),) * headers, value=b"\0" * (4 << 20))
    records = [*map(record, range(5)), large, record(6)]
    with CaptureWriter(tmp_path / "c", METADATA) as writer:
        for one in records:
            writer.write(one)
    assert list(CaptureReader(tmp_path / "c")) == records
