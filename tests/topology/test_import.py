"""What an argument of an import means, what the folder holds, and the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.topology import load, load_with_notes
from streams.topology.importing import (
    Imported,
    imported_instances,
    report_of,
    report_text,
    write_folder,
)

from .build import NOW


def files(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"USE DB\nGO\nCREATE QUEUE [{name}]\n", encoding="utf-8")


def names(imported: tuple[Imported, ...]) -> dict[str, list[str]]:
    return {one.instance: [s.name.as_posix() for s in one.scripts] for one in imported}


def test_arguments(tmp_path: Path) -> None:
    """NAME=script, NAME=folder, folder; a name that comes again gets more scripts."""
    files(tmp_path, "a.sql", "b.txt", "in/2.sql", "in/1.SQL", "in/deep/3.sql", "in/no.txt")
    given = [f"A={tmp_path}/a.sql", f"a={tmp_path}/b.txt", f"B\\X={tmp_path}/in", str(tmp_path)]
    assert names(imported_instances(given)) == {
        "A": ["a.sql", "b.txt", "a.sql"],
        "B\\X": ["1.SQL", "2.sql", "deep/3.sql"],
        "in": ["1.SQL", "2.sql", "deep/3.sql"],
    }


def test_a_path_with_an_equals_sign(tmp_path: Path) -> None:
    """Is a folder where there is one of that name, else a name and a path."""
    files(tmp_path, "x=y/a.sql")
    assert names(imported_instances([f"{tmp_path}/x=y"])) == {"a": ["a.sql"]}
    assert names(imported_instances([f"S={tmp_path}/x=y/a.sql"])) == {"S": ["a.sql"]}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("no", "There is no folder no"), ("A=no.sql", "There is no file no.sql"),
        ("=a.sql", "No name precedes"), ("A=", "No script follows"),
        ("a.sql", "The instance name of"), ("/D=a.sql", "The instance's name"),
        ("A/=a.sql", "The database's name"), ("A/D=ServerA.json", "is a snapshot"),
        ("A=empty", "has no scripts"), ("empty", "has no scripts"), ("A=\0", "There is no file"),
        ("/dev/null", "The instance name of"), ("A=/dev/null", "neither a file nor a folder"),
        ("A=" + "x" * 5000, "There is no file"),
    ],
)  # fmt: skip
def test_arguments_that_mean_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, message: str
) -> None:
    files(tmp_path, "a.sql")
    snapshot = '{"hopline_snapshot": 1}'
    (tmp_path / "ServerA.json").write_text(snapshot, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        imported_instances([argument])
    assert message in str(caught.value) and caught.value.remedy


def test_the_folder_holds_the_scripts_as_they_were(tmp_path: Path) -> None:
    """Byte by byte, under names that every file system takes, and no two in one place."""
    source = tmp_path / "source"
    files(source, "one/a.sql", "two/a.sql")
    odd = "USE DB\r\nCREATE QUEUE [ä]".encode("cp1252")
    (source / "odd.sql").write_bytes(odd)
    given = [f"SQL01\\PROD={source}/{n}" for n in ("one/a.sql", "two/a.sql", "odd.sql")]
    output = tmp_path / "made"
    write_folder(output, imported_instances([*given, f"SQL01_PROD={source}/one"]))
    made = sorted(p.relative_to(output).as_posix() for p in output.rglob("*") if p.is_file())
    assert made == [
        "SQL01_PROD-2/a.sql", "SQL01_PROD/a-2.sql", "SQL01_PROD/a.sql", "SQL01_PROD/odd.sql",
        "topology.yaml",
    ]  # fmt: skip
    assert (output / "SQL01_PROD" / "odd.sql").read_bytes() == odd
    topology = load(output, NOW)
    assert set(topology.instances["SQL01\\PROD"].databases["DB"].queues) == {
        "[one/a.sql]", "[two/a.sql]", "ä",
    }  # fmt: skip


def test_an_import_may_replace_the_scripts_that_it_reads(tmp_path: Path) -> None:
    files(tmp_path, "a.sql")
    write_folder(tmp_path, imported_instances([f"A={tmp_path}/a.sql"]))
    assert set(load(tmp_path, NOW).instances) == {"A"}


def test_scripts_without_use_begin_in_a_database_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE QUEUE Q", encoding="utf-8")
    imported = imported_instances([f"A={tmp_path}/a.sql"])
    write_folder(tmp_path / "made", imported, "Shop")
    assert set(load(tmp_path / "made", NOW).instances["A"].databases["Shop"].queues) == {"Q"}


@pytest.mark.parametrize("database", ["Shop", "master", "msdb"])
def test_the_database_may_be_a_system_database(tmp_path: Path, database: str) -> None:
    (tmp_path / "a.sql").write_text("CREATE ROUTE R WITH ADDRESS = 'tcp://h:1'", encoding="utf-8")
    write_folder(tmp_path / "made", imported_instances([f"A={tmp_path}/a.sql"]), database)
    found = load(tmp_path / "made", NOW).instances["A"].database(database)
    assert found is not None and [r.name for r in found.routes][-1] == "R"


def test_a_database_project(tmp_path: Path) -> None:
    """NAME/DATABASE=FOLDER: scripts without USE, and $(DatabaseName) for the database."""
    for name in ("Shop", "Store"):
        (tmp_path / name).mkdir()
        text = f"ALTER DATABASE [$(DatabaseName)] SET DISABLE_BROKER\nGO\nCREATE QUEUE {name}Q"
        (tmp_path / name / "a.sql").write_text(text, encoding="utf-8")
    given = [f"SQL01\\PROD/{name}={tmp_path}/{name}" for name in ("Shop", "Store")]
    write_folder(tmp_path / "made", imported_instances(given), "Other")
    databases = load(tmp_path / "made", NOW).instances["SQL01\\PROD"].databases
    assert {d.name: (d.enabled, *d.queues) for d in databases.values()} == {
        "Shop": (False, "ShopQ"), "Store": (False, "StoreQ"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("script", "address"),
    [("", "tcp://given:1"), (":setvar Hub tcp://own:1\n", "tcp://own:1")],
)
def test_variables_are_those_of_sqlcmd(tmp_path: Path, script: str, address: str) -> None:
    """A variable of ``sqlcmd -v`` is the value until ``:setvar`` states another."""
    script += "USE [$(DATABASENAME)]\nGO\nCREATE ROUTE R WITH ADDRESS = '$(Hub)'"
    (tmp_path / "a.sql").write_text(script, encoding="utf-8")
    imported = imported_instances([f"A={tmp_path}/a.sql"])
    variables = {"hub": "tcp://given:1", "databasename": "Mine"}
    write_folder(tmp_path / "made", imported, "Shop", variables)
    databases = load(tmp_path / "made", NOW).instances["A"].databases
    assert [d.routes[-1].address for d in databases.values()] == [address]
    assert list(databases) == ["Mine"]


def test_a_full_host_name_is_assumed_to_be_the_server_with_its_first_label(tmp_path: Path) -> None:
    """An import has only short names; the assumption is an info, and the name an alias."""
    route = "USE DB\nCREATE ROUTE R WITH SERVICE_NAME = 'S', ADDRESS = 'tcp://B.corp.local:4022'"
    (tmp_path / "a.sql").write_text(route, encoding="utf-8")
    (tmp_path / "b.sql").write_text("USE DB", encoding="utf-8")
    output = tmp_path / "made"
    write_folder(output, imported_instances([f"A={tmp_path}/a.sql", f"B={tmp_path}/b.sql"]))
    topology = load(output, NOW)
    assert topology.instances["B"].aliases == ("b.corp.local",)
    [finding] = topology.findings
    assert (finding.severity.value, finding.line) == ("info", 2)
    assert "B.corp.local is assumed to be B" in finding.message


def test_loopback_by_port(tmp_path: Path) -> None:
    """Scripts of several instances of one machine: the only other instance with the port."""
    ports = {"A": 4022, "B": 4023, "C": 4024, "D": 4024}
    for name, port in ports.items():
        endpoint = f"CREATE ENDPOINT E AS TCP (LISTENER_PORT = {port}) FOR SERVICE_BROKER"
        text = f"USE DB\n{endpoint}\n"
        for other in (4022, 4023, 4024) if name == "A" else ():
            text += f"CREATE ROUTE R{other} WITH ADDRESS = 'tcp://localhost:{other}'\n"
        (tmp_path / f"{name}.sql").write_text(text, encoding="utf-8")
    output = tmp_path / "made"
    write_folder(output, imported_instances([f"{n}={tmp_path}/{n}.sql" for n in ports]))
    topology = load(output, NOW)
    assert {n: i.aliases for n, i in topology.instances.items() if i.aliases} == {
        "B": ("localhost",)
    }  # fmt: skip
    assert [f.message for f in topology.findings] == [
        "route R4023: localhost:4023 is assumed to be B"
    ]  # fmt: skip


def test_the_report_names_the_database_that_scripts_without_use_need(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE QUEUE Q", encoding="utf-8")
    output = tmp_path / "made"
    write_folder(output, imported_instances([f"A={tmp_path}/a.sql"]))
    report = report_of(output, *load_with_notes(output, NOW))
    assert not report.good
    assert "  scripts without USE need --database NAME\n" in report_text(report)


def test_the_report(tmp_path: Path) -> None:
    """Counts by instance and kind; what is skipped by kind; what is unresolved with its reason."""
    script = (
        "USE DB\nCREATE QUEUE A\nCREATE QUEUE B\nCREATE QUEUE B WITH STATUS = OFF\n"
        + "SELECT 1\n" * 200
        + "EXEC (@x)\nCREATE ROUTE R\nPRINT ‘x’"
    )
    (tmp_path / "a.sql").write_text(script, encoding="utf-8")
    output = tmp_path / "made"
    write_folder(output, imported_instances([f"A={tmp_path}/a.sql"]))
    report = report_of(output, *load_with_notes(output, NOW))
    assert report_text(report).splitlines() == [
        f"{output}: 1 instance from 1 script",
        "understood: 4 statements",
        "  A: CREATE QUEUE 3, USE 1",
        "skipped: 201 statements",
        "  SELECT 200: A/a.sql:5, 6, 7, 8, 9, 10 and 194 more",
        "  PRINT 1: A/a.sql:207",
        "unresolved: 1",
        "  A/a.sql:205: EXECUTE: its text is known only at run time",
        "not understood: 1 statement",
        "  A/a.sql:207: expected WITH, found PRINT",
        "wrong or without effect: 1 statement; hopline check explains why",
        "  note: typographic quotes are read as plain quotes, once, first at A/a.sql:207",
        f"Next: hopline check {output}",
    ]
    document = report.to_json()
    assert not report.good
    assert document["summary"] == {
        "understood": 4, "skipped": 201, "unresolved": 1, "not_understood": 1,
    }  # fmt: skip
    assert document["instances"] == {"A": {"understood": {"CREATE QUEUE": 3, "USE": 1}}}
    assert len(document["skipped"]) == 201 and len(document["findings"]) == 2
    assert document["scripts"] == [{"file": str(output / "A" / "a.sql"), "encoding": "utf-8"}]


def test_a_long_report_fits_a_screen(tmp_path: Path) -> None:
    """Whatever an import finds, its text is short and its lines are."""
    words = [f"CREATE {a}{b} x\n" for a in "ABCDEFGHIJ" for b in "KLMNOPQRST"]
    bad = "".join(f"EXEC (@x{n})\nCREATE ROUTE\nDROP ROUTE ''\nDROP ROUTE R\n" for n in range(99))
    for number in range(30):
        text = "USE DB\n" + "".join(words) + bad
        (tmp_path / f"instance{number}.sql").write_text(text, encoding="utf-8")
    output = tmp_path / "made"
    write_folder(output, imported_instances([str(tmp_path)]))
    lines = report_text(report_of(output, *load_with_notes(output, NOW))).splitlines()
    assert len(lines) < 60
    assert all(len(line.replace(str(output), "made")) <= 100 for line in lines)
