"""`hopline import`: exit codes, what is printed, and that its folder answers questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main


def hopline(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)], catch_exceptions=False)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sql"
    path.write_text(
        "USE Shop\nGO\nCREATE ROUTE R WITH SERVICE_NAME = N'//shop/Orders', "
        "ADDRESS = N'TCP://hub:4022'\nGO\nSELECT 1\n",
        encoding="utf-16",
    )
    return path


def test_import_and_ask(script: Path, tmp_path: Path) -> None:
    """What was imported can be explained; skipped statements alone are no negative result."""
    output = tmp_path / "net"
    done = hopline("import", f"ServerX={script}", "--output", output)
    assert done.exit_code == 0 and "shop.sql read as utf-16" in done.stdout
    asked = hopline("explain", output, "--at", "ServerX/Shop", "--to", "//shop/Orders",
                    "--format", "json")  # fmt: skip
    assert json.loads(asked.stdout)["routes"] == ["R"]


def test_a_full_folder_is_refused_unless_forced(script: Path, tmp_path: Path) -> None:
    """And nothing of it is touched before."""
    output = tmp_path / "net"
    output.mkdir()
    (output / "mine").touch()
    refused = hopline("import", f"ServerX={script}", "--output", output)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "is not empty" in refused.stderr and "--force" in refused.stderr
    assert [path.name for path in output.iterdir()] == ["mine"]
    assert hopline("import", f"X={script}", "--output", output, "--force").exit_code == 0


def test_a_file_that_has_nothing_for_a_topology_is_bad_news(tmp_path: Path) -> None:
    """And nobody is sent to a check of the empty topology, which would refuse it."""
    page = tmp_path / "README.md"
    page.write_text("# A page\n\nIt is no script.\n", encoding="utf-8")
    done = hopline("import", f"A={page}", "--output", tmp_path / "net")
    assert done.exit_code == 1
    assert "understood: 0 statements" in done.stdout and "Next:" not in done.stdout


def test_what_is_not_understood_is_bad_news(tmp_path: Path) -> None:
    """Exit code 1, the report as JSON all the same, and the finding again in the topology."""
    bad = tmp_path / "bad.sql"
    bad.write_text("USE DB\nCREATE ROUTE R\nGO\nEXEC (@x)", encoding="utf-8")
    output = tmp_path / "net"
    done = hopline("import", f"X={bad}", "--output", output, "--format", "json")
    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert report["findings"][0]["line"] == 3 and report["findings"][0]["code"] == "TA-20"
    assert report["unresolved"][0]["line"] == 4
    (bad.parent / "good.sql").write_text("USE DB", encoding="utf-8")
    good = bad.parent / "good.sql"
    assert hopline("import", f"X={good}", "--output", output, "--force").exit_code == 0


@pytest.mark.parametrize("source", ["missing", "X=missing.sql", "X=/dev/null", "X"])
def test_what_is_not_there_is_wrong_use(tmp_path: Path, source: str) -> None:
    done = hopline("import", source, "--output", tmp_path / "net")
    assert done.exit_code == 2 and done.stderr.startswith("hopline: ")
    assert not (tmp_path / "net").exists()


def test_sqlcmd_variables(tmp_path: Path) -> None:
    """--set is sqlcmd's -v; a text without '=' or name is wrong use."""
    script = tmp_path / "a.sql"
    script.write_text("CREATE ROUTE R WITH ADDRESS = '$(Hub)'", encoding="utf-8")
    output = tmp_path / "net"
    given = ("import", f"X/D={script}", "--output", output)
    assert hopline(*given).exit_code == 1
    assert hopline(*given, "--set", "Hub=tcp://h:1", "--set", "a-1=", "--force").exit_code == 0
    assert [hopline(*given, "--set", bad, "--force").exit_code for bad in ("Hub", "=x")] == [2, 2]
