"""Files whose names are not UTF-8 are refused, because no report or YAML can contain them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main

SQL = "USE A\nGO\nCREATE QUEUE q;\n"
SNAPSHOT = '{"hopline_snapshot": 1, "server": [], "databases": [], "in_database": []}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sql").mkdir()
    try:
        (tmp_path / "sql" / os.fsdecode(b"a\xff.sql")).write_text(SQL)
        (tmp_path / os.fsdecode(b"folder\xff")).mkdir()
        (tmp_path / os.fsdecode(b"folder\xff") / "b.sql").write_text(SQL)
        (tmp_path / os.fsdecode(b"c\xff.json")).write_text(SNAPSHOT)
    except OSError:
        pytest.skip("file names on this system are always Unicode")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("check", "sql"),
        ("check", os.fsdecode(b"folder\xff")),
        ("export", "sql", "--output", "out"),
        ("import", "sql", "--output", "out"),
        ("import", os.fsdecode(b"A=folder\xff"), "--output", "out"),
        ("diagnose", os.fsdecode(b"c\xff.json")),
        ("check", os.fsdecode(b"c\xff.json")),
    ],
)
@pytest.mark.parametrize("format_", [(), ("--format", "json")], ids=["text", "json"])
def test_a_name_that_is_not_utf_8_is_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    format_: tuple[str, ...],
) -> None:
    """Such a name ended with a UnicodeEncodeError, or import wrote a file that it cannot read."""
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main, [*words, *(format_ if words[0] != "export" else ())])
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert "\\udcff" in done.output and "is not UTF-8" in done.output
    assert "Rename it." in done.output
    assert not (folder / "out" / "topology.yaml").exists()


def test_a_scripts_name_in_an_instances_folder_is_replaced(folder: Path) -> None:
    """The name of the instance is given, so the script can have another one in the output."""
    words = ["import", f"A={folder / 'sql'}", "--output", str(folder / "out")]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert (folder / "out" / "A" / "a_.sql").read_text() == SQL
