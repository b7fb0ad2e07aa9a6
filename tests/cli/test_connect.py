"""`--connect` of `diagnose` and `import`, with a driver that needs no server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.options import connect
from streams.topology import load
from tests.analysis.diagnose.example import FOLDER
from tests.snapshots import NOW, documents
from tests.sqlserver.driver import DriverError, FakeDriver
from tests.topology.build import shipped

TWO = documents(shipped("two_brokers"))
URLS = ("--connect", "ServerA=mssql://hopline@sql01", "--connect", "ServerB=mssql://hopline@sql02")


def run(*args: object, typed: str = "", **environment: str | None) -> tuple[int, str, str]:
    environment = {"SQLCMDPASSWORD": "s3cret", **environment}
    words = list(map(str, args))
    result = CliRunner().invoke(main, words, input=typed, env=environment)
    assert "s3cret" not in result.output and "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """Install a driver that returns the snapshots of ServerA and ServerB."""
    return installed(FakeDriver(TWO["ServerA"], TWO["ServerB"]), monkeypatch)


def installed(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    monkeypatch.setitem(sys.modules, "mssql_python", driver)
    return driver


def test_servers_are_diagnosed_like_their_files(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, out, err = run("diagnose", *URLS, "--save", tmp_path / "taken", "--format", "json")
    assert code == 0
    assert err == (
        "Taking a snapshot of ServerA (sql01)\nTaking a snapshot of ServerB (sql02)\n"
    )  # fmt: skip
    assert not driver.pools and driver.closed == 2
    files = sorted((tmp_path / "taken").iterdir())
    assert [file.name for file in files] == ["ServerA.json", "ServerB.json"]
    again = run("diagnose", tmp_path / "taken", "--format", "json")
    assert again[:2] == (code, out) and again[2] == ""


def test_places_name_the_server_if_the_snapshot_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stuck = json.loads((FOLDER / "ServerA.json").read_text(encoding="utf-8"))
    installed(FakeDriver(stuck), monkeypatch)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("diagnose", "--connect", "mssql://hopline@sql01")
    assert (code, "  row     sql01.json:1:" in out) == (1, True)
    assert not list(tmp_path.iterdir())


def test_a_server_completes_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(FakeDriver(TWO["ServerB"]), monkeypatch)
    (tmp_path / "ServerA.json").write_text(json.dumps(TWO["ServerA"]), encoding="utf-8")
    code, out, _ = run("diagnose", tmp_path, "--connect", "ServerB=mssql://hopline@sql02")
    assert (code, out.splitlines()[0].partition(":")[0]) == (0, "ServerA, ServerB")


def test_an_imported_server_is_a_snapshot_under_its_name(
    driver: FakeDriver, tmp_path: Path
) -> None:
    (tmp_path / "more.sql").write_text("USE DatabaseA\nGO\nDROP ROUTE TargetRoute\n")
    out = tmp_path / "out"
    code, shown, _ = run("import", f"ServerA={tmp_path}/more.sql", *URLS, "--output", out)
    assert (code, "sys.routes" in shown) == (0, True)
    topology = load(out, NOW)
    assert set(topology.instances) == {"ServerA", "ServerB"}
    [route] = topology.instances["ServerA"].databases["DatabaseA"].routes
    assert route.name == "AutoCreatedLocal"
    assert route.source.file == str(out / "ServerA" / "snapshot" / "ServerA.json")


def test_the_name_of_an_instance_may_need_another_file_name(
    driver: FakeDriver, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert run("import", "--connect", "mssql://sql01\\PROD", "--output", out)[0] == 0
    assert set(load(out, NOW).instances) == {"sql01\\PROD"}
    assert driver.keywords[0]["Trusted_Connection"] == "yes"


def test_two_snapshots_of_one_instance_are_wrong_use(driver: FakeDriver, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(TWO["ServerA"]), encoding="utf-8")
    words = ("import", f"servera={tmp_path}/a.json", *URLS, "--output", tmp_path / "out")
    code, _, err = run(*words)
    assert (code, "has two snapshots" in err) == (2, True)
    assert not (tmp_path / "out").exists()


def refused(*words: object, **environment: str | None) -> str:
    code, out, err = run(*words, **environment)
    assert (code, out) == (2, "")
    return " ".join(err.split())


@pytest.mark.parametrize("words", [("diagnose",), ("import", "--output", "out")])
def test_wrong_use_is_reported_before_a_connection(
    words: tuple[str, ...], driver: FakeDriver
) -> None:
    password = refused(*words, "--connect", "mssql://me:s3cret@sql01")
    assert "must not contain a password" in password and "SQLCMDPASSWORD" in password
    twice = ("--connect", "mssql://sql01", "--connect", "SQL01=mssql://sql02")
    assert "SQL01 is given twice" in refused(*words, *twice)
    missing = refused(*words, "--connect", "mssql://me@sql01", SQLCMDPASSWORD=None)
    assert "no password for me on sql01. Set SQLCMDPASSWORD" in missing
    assert not driver.keywords


def test_import_needs_a_source_and_save_a_server(driver: FakeDriver, tmp_path: Path) -> None:
    assert "or --connect" in refused("import", "--output", tmp_path / "out")
    assert "--save needs --connect" in refused("diagnose", FOLDER, "--save", tmp_path)
    assert "--connect, or --error" in refused("diagnose", *URLS, "--script", "json")
    full = tmp_path / "full"
    full.mkdir()
    (full / "a").touch()
    assert "not empty" in refused("import", *URLS, "--output", full)
    assert not driver.keywords


def test_a_person_at_a_terminal_is_asked_for_each_password(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_is_at_terminal", lambda: True)
    code, out, err = run("diagnose", *URLS, typed="s3cret\nother\n", SQLCMDPASSWORD=None)
    assert (code, "Password" in out) == (0, False)
    assert "Password of hopline on ServerA:" in err and "Password of hopline on ServerB:" in err
    assert [words["PWD"] for words in driver.keywords] == ["s3cret", "other"]


def failing(step: str, error: DriverError, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    settings: dict[str, Any] = {step: error}
    return installed(FakeDriver(**settings), monkeypatch)


@pytest.mark.parametrize("words", [("diagnose",), ("import", "--output")])
def test_a_server_that_refuses_is_three_and_writes_nothing(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = [tmp_path / "out"] if "--output" in words else []
    told = "[Microsoft][SQL Server]Login failed for user 'hopline'. PWD=s3cret"
    error = DriverError("Invalid authorization specification", told)
    failing("refuses", error, monkeypatch)
    code, shown, err = run(*words, *out, *URLS)
    assert (code, shown) == (3, "")
    assert "Cannot connect to ServerA (sql01): " in err and "Login failed" in err
    assert not (tmp_path / "out" / "topology.yaml").exists()


def test_what_was_taken_before_a_server_refuses_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver = installed(FakeDriver(TWO["ServerA"]), monkeypatch)  # and nothing for ServerB
    code, _, err = run("diagnose", *URLS, "--save", tmp_path)
    assert (code, driver.closed) == (3, 2) and "failed on ServerB" in err
    assert [file.name for file in tmp_path.iterdir()] == ["ServerA.json"]


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mssql_python", None)
    assert "This command needs the extra 'sqlserver'" in refused("diagnose", *URLS)
    assert run("diagnose", FOLDER)[0] == 1
