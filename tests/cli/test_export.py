"""`hopline export`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.topology import load
from tests.command import hopline


def run(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["export", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def test_a_database_is_printed_and_omissions_are_reported() -> None:
    code, out, err = run("load_balanced", "--at", "ServerA/DatabaseA")
    assert code == 0
    assert out.startswith("-- ServerA/DatabaseA") and "CREATE ROUTE [LoadBalancingRoute1]" in out
    assert "CREATE DATABASE" not in out and "CREATE ENDPOINT" not in out
    assert err == (
        "not in the T-SQL: ServerA/DatabaseA: broker id: DatabaseA; a server assigns another one\n"
    )


def test_an_instance_makes_its_databases_and_its_endpoint(tmp_path: Path) -> None:
    code, out, _ = run("high_availability", "--at", "ServerA")
    assert code == 0
    assert "CREATE DATABASE [DatabaseA]" in out and "USE [msdb];" in out
    assert "CREATE ENDPOINT [" in out
    (tmp_path / "ServerA.sql").write_text(out, encoding="utf-8")
    assert len(load(tmp_path, 0.0).instances["ServerA"].databases["DatabaseA"].routes) == 3


def test_a_folder_is_a_topology(tmp_path: Path) -> None:
    folder = tmp_path / "sql"
    code, out, err = run("combined", "--output", folder)
    assert (code, err) == (0, "") and "7 scripts and topology.yaml" in out
    topology = load(folder, 0.0)
    assert topology.instances["ServerA"].databases["DatabaseA"].broker_id == "DatabaseA"
    assert not topology.findings
    code, _, err = run("combined", "--output", folder)
    assert code == 2 and "not empty" in err
    assert run("combined", "--output", folder, "--force")[0] == 0


def test_a_script_that_is_not_ascii_has_the_mark_of_utf_8(tmp_path: Path) -> None:
    (tmp_path / "I.sql").write_text("USE D; CREATE QUEUE [Aufträge];", encoding="utf-8")
    assert run(tmp_path, "--output", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "I.sql").read_bytes().startswith(b"\xef\xbb\xbf")
    assert "Aufträge" in load(tmp_path / "out", 0.0).instances["I"].databases["D"].queues


@pytest.mark.long
@pytest.mark.parametrize("name", ["two_brokers", "high_availability", "mirrored"])
def test_the_live_catalog_returns_to_a_folder(
    name: str, tmp_path: Path, kafka: str, unique: str
) -> None:
    """With what `hopline sql` has changed: applying the folder finds nothing to do."""
    where = ("--bootstrap", kafka, "--prefix", unique)
    statements = (
        "CREATE QUEUE [New Queue]; CREATE MESSAGE TYPE T VALIDATION = EMPTY; "
        "CREATE CONTRACT C (T SENT BY ANY); CREATE SERVICE S ON QUEUE [New Queue] (C); "
        "CREATE ROUTE R WITH SERVICE_NAME = 'S', ADDRESS = 'tcp://elsewhere:4022'"
    )
    assert hopline("apply", name, *where)[0] == 0
    assert hopline("sql", "--at", "ServerA/DatabaseA", statements, *where)[0] == 0
    if name == "mirrored":  # no worker runs, so nobody reports the new role
        assert hopline("failover", "Orders", "--to", "Partner2", "--timeout", 2, *where)[0] == 1
    folder = tmp_path / "back"
    code, out, err = hopline("export", "--live", "--output", folder, *where)
    assert (code, err) == (0, ""), err
    assert f"{folder}: " in out
    code, out, err = hopline("apply", folder, "--prune", "--dry-run", *where)
    assert (code, out) == (0, "nothing to do\n"), out
    code, out, _ = hopline("export", "--live", "--at", "ServerA/DatabaseA", *where)
    assert code == 0 and "[New Queue]" in out and "CREATE ROUTE [R]" in out


def test_a_share_of_several_clusters_is_not_exported(kafka: str, unique: str) -> None:
    where = ("--bootstrap", kafka, "--prefix", unique)
    code, _, err = hopline("apply", "two_clusters", "--cluster", "buyer", *where)
    assert code == 0, err
    code, _, err = hopline("export", "--live", "--output", "x", *where)
    assert code == 2 and "only one cluster's share" in err


@pytest.mark.parametrize("words", [(), ("combined", "--live")])
def test_either_a_folder_or_the_catalog(words: tuple[str, ...]) -> None:
    code, out, err = run(*words, "--at", "ServerA")
    assert (code, out) == (2, "") and "Give either TOPOLOGY or --live." in err


@pytest.mark.parametrize(
    "args, message",
    [
        ([], "either --at or --output"),
        (["--at", "ServerA", "--output", "x"], "either --at or --output"),
        (["--at", "ServerZ"], "no instance 'ServerZ'"),
        (["--at", "ServerA/DatabaseZ"], "no database 'DatabaseZ'"),
    ],
)
def test_wrong_use(args: list[str], message: str) -> None:
    code, out, err = run("combined", *args)
    assert (code, out) == (2, "") and message in err
