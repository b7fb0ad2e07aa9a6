"""`hopline generate traffic` and `hopline generate estate`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.capture import CaptureReader
from streams.cli import main
from streams.topology import load

SMALL = ["--dialogs", "3", "--messages", "9"]


def run(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["generate", "traffic", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def test_it_writes_what_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.avro"
    origin = "SQL01\\PROD/Shop///shop/Orders"
    args = [*SMALL, "--from", origin, "--to", "//x/Y", "--prefix", "p.", "--topology", "mine"]
    code, out, _ = run("--output", path, *args, "--format", "json")
    assert code == 0
    result = json.loads(out)
    assert (result["dialogs"], result["messages"], result["records"]) == (3, 9, 15)
    assert result["size"] == path.stat().st_size
    reader = CaptureReader(path)
    assert (reader.metadata.prefix, reader.metadata.topology) == ("p.", "mine")
    assert {record.topic for record in reader} == {"p.cmd.SQL01-5cPROD"}
    headers = b"".join(record.header("sb-command") or b"" for record in reader)
    assert headers.count(b"//shop/Orders") == headers.count(b"//x/Y") == 3


def test_the_text_shows_the_counts(tmp_path: Path) -> None:
    code, out, err = run("--output", tmp_path / "t", *SMALL)
    assert (code, err) == (0, "")
    assert re.search(r"t: 9 messages in 3 dialogs, 15 records", out)


def test_the_same_seed_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        assert run("--output", tmp_path / name, *SMALL, "--seed", seed)[0] == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    "args, message",
    [
        (["--from", "ServerA/DatabaseA"], "INSTANCE/DATABASE/SERVICE"),
        (["--from", "//S"], "INSTANCE/DATABASE/SERVICE"),
        (["--messages", "2"], "at least as many messages as dialogs"),
        (["--duration", "soon"], "500ms, 60s, 2m or 1h"),
        (["--duration", "0s"], "not positive"),
        (["--duration", "0.2ms"], "less than a millisecond"),
        (["--duration", "9" * 400], "is not a duration"),
    ],
)
def test_wrong_use(tmp_path: Path, args: list[str], message: str) -> None:
    code, out, err = run("--output", tmp_path / "t", *SMALL, *args)
    assert (code, out) == (2, "")
    assert message in err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    code, _, err = run("--output", tmp_path / "no" / "t", *SMALL)
    assert code == 2
    assert "cannot be written" in err


@pytest.mark.parametrize(
    "text, milliseconds", [("250ms", 250), ("1.5s", 1_500), ("2m", 120_000), ("1h", 3_600_000)]
)
def test_durations(tmp_path: Path, text: str, milliseconds: int) -> None:
    assert run("--output", tmp_path / "t", *SMALL, "--duration", text)[0] == 0
    counts = CaptureReader(tmp_path / "t").counts
    assert counts is not None
    assert counts.last - counts.first <= milliseconds


def estate(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["generate", "estate", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def test_an_estate_is_a_topology(tmp_path: Path) -> None:
    folder = tmp_path / "estate"
    size = ["--instances", 30, "--routes", 200]
    code, out, err = estate("--output", folder, *size, "--format", "json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert (result["instances"], result["routes"], result["defects"]) == (30, 200, 0)
    assert len(load(folder, 0.0).instances) == 30
    assert [path.name for path in folder.iterdir()] == ["topology.yaml"]


def test_it_counts_the_flows_that_are_found_in_it(tmp_path: Path) -> None:
    """One within an instance may need no route: nothing in the estate tells of it."""
    made = estate(
        "--output", tmp_path, "--instances", 10, "--routes", 60, "--seed", 2, "--format", "json"
    )[1]
    found = CliRunner().invoke(main, ["flows", str(tmp_path), "--format", "json"])
    assert json.loads(made)["flows"] == len(json.loads(found.stdout)["flows"])


def test_one_defect_is_one(tmp_path: Path) -> None:
    size = ["--instances", 4, "--routes", 24]
    code, _, err = estate("--output", tmp_path, *size, "--defects", 99)
    assert code == 2 and "The topology has room for only 1 defect." in err
    assert ", 1 defect\n" in estate("--output", tmp_path, *size, "--defects", 1)[1]


def test_defects_are_reported_beside_it(tmp_path: Path) -> None:
    size = ["--instances", 60, "--routes", 500, "--defects", 3]
    code, out, _ = estate("--output", tmp_path, *size)
    assert code == 0 and "60 instances, 500 routes" in out and "3 defects" in out
    found = json.loads((tmp_path / "DEFECTS.json").read_text(encoding="utf-8"))
    assert [row["code"] for row in found] == ["TA-04", "TA-09", "TA-10"]
    keys = {"code", "kind", "severity", "subject", "routes", "from", "to"}
    assert all(set(row) == keys for row in found)
    # Defects that were planted before are not reported of an estate without defects.
    assert estate("--output", tmp_path, "--instances", 2, "--routes", 2, "--force")[0] == 0
    assert not (tmp_path / "DEFECTS.json").exists()


def test_an_estate_overwrites_nothing_unasked(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("", encoding="utf-8")
    size = ["--instances", 2, "--routes", 2]
    code, out, err = estate("--output", tmp_path, *size)
    assert (code, out) == (2, "") and "not empty" in err
    code, _, err = estate("--output", tmp_path / "mine", *size)
    assert code == 2 and "not a folder" in err
    code, _, err = estate("--output", tmp_path / "new", "--instances", 0)
    assert code == 2 and "--instances" in err and not (tmp_path / "new").exists()
