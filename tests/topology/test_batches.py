"""What scripts show for certain: refused batches, missing objects of code, several servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import Finding, load
from tests.node.evidence import shows

from .build import NOW, write
from .test_refused_ddl import whole
from .test_tsql_scripts import as_found

PROCEDURE = "CREATE PROCEDURE P AS SELECT 1"


def refused(folder: Path, script: str) -> list[tuple[str, int]]:
    """Return the severity and the line of each finding with number 111."""
    topology = load(write(folder, I1=script), NOW)
    found = [f for f in topology.findings if f.evidence.get("number") == 111]
    assert len(found) == len(topology.findings)
    return [(f.severity.value, f.line) for f in found]


@shows("L14")
@pytest.mark.parametrize(
    ("script", "line"),
    [
        (f"USE DB\n{PROCEDURE}\nGO", 2),
        (f"USE DB\nGO\nSET QUOTED_IDENTIFIER ON\nSELECT 1;\n{PROCEDURE}", 5),
        ("USE DB\nGO\nSELECT 1\nALTER TRIGGER T ON t AFTER INSERT AS SELECT 1", 4),
        (f"USE DB\nGO\nCREATE FUNCTION F() RETURNS int AS BEGIN RETURN 1 END\n{PROCEDURE}", 4),
        (f"USE DB\nGO\nIF 1 = 1 DROP PROCEDURE IF EXISTS P\n{PROCEDURE}", 4),
        (f"USE DB\nGO\nSELECT 1\nCREATE OR ALTER {PROCEDURE[7:]}\n{PROCEDURE}", 4),
        ("USE DB\nEXEC ('USE DB CREATE PROCEDURE P AS SELECT 1')", 2),
    ],
)
def test_a_module_must_be_the_first_statement_of_its_batch(
    tmp_path: Path, script: str, line: int
) -> None:
    assert refused(tmp_path, script) == [("error", line)]


@shows("L14")
@pytest.mark.parametrize(
    "script",
    [
        f"USE DB\nGO\n-- first\n;{PROCEDURE}\nGO\n{PROCEDURE.replace('P ', 'Q ')}",
        f"USE DB\n{PROCEDURE}",  # without GO, a tool may separate the statements in another way
        f"USE DB\nGO\n:setvar a 1\n{PROCEDURE}",
        f"USE DB\nGO\nEXEC ('{PROCEDURE}') SELECT 1",
        f"USE DB\nGO\nIF 1 = 1 EXEC ('{PROCEDURE}')",
        "USE DB\nGO\nGRANT CREATE TABLE,\nCREATE PROCEDURE TO someone",
        "USE DB\nGO\nDENY\nCREATE PROCEDURE TO someone",
        "USE DB\nGO\nCREATE SCHEMA s\nCREATE VIEW v AS SELECT 1 AS a",
        "USE DB\nGO\nCREATE TRIGGER T ON DATABASE FOR CREATE_PROCEDURE, ALTER_PROCEDURE AS PRINT 1",
    ],
)
def test_what_the_engine_accepts_is_not_reported(tmp_path: Path, script: str) -> None:
    assert refused(tmp_path, script) == []


DATABASE = """
GO
CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = dbo.Reader, MAX_QUEUE_READERS = 1,
    EXECUTE AS SELF)
CREATE QUEUE Dropped
DROP QUEUE Dropped
GO
CREATE PROCEDURE {name} AS RECEIVE * FROM {queue}
"""


def missing(folder: Path, **names: str) -> list[str]:
    topology, _ = whole(folder, DATABASE.format(**names))
    assert {f.severity.value for f in topology.findings} <= {"warning"}
    return [f.message for f in topology.findings]


@shows("L15")
def test_code_that_needs_what_no_script_creates(tmp_path: Path) -> None:
    assert missing(tmp_path, name="Reader", queue="Qu") == [
        "Reader needs queue Qu, which no script creates"
    ]
    assert missing(tmp_path, name="Raeder", queue="Q") == [
        "queue Q needs procedure dbo.Reader, which no script creates"
    ]


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("Reader", "[q]"), ("dbo.reader", "dropped"), ("app.Reader", "app.Q"),
        ("Reader", "dbo.ServiceBrokerQueue"), ("Reader", "DB.dbo.Q"), ("Reader", "Other.dbo.Qu"),
        ("Reader", "Other..Qu"),
    ],
)  # fmt: skip
def test_what_may_exist_is_not_missed(tmp_path: Path, name: str, queue: str) -> None:
    assert missing(tmp_path, name=name, queue=queue) == []


@shows("L15")
@pytest.mark.parametrize(
    "rest",
    [
        "CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = P, EXECUTE AS SELF)",  # no procedures
        "CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = P, EXECUTE AS SELF)\nGO\n"
        "CREATE PROCEDURE Other AS SELECT 1",
        "CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = sp_P, EXECUTE AS SELF)\nGO\n"
        "CREATE PROCEDURE Other AS RECEIVE * FROM Q",
        "CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = Other.dbo.P, EXECUTE AS SELF)\nGO\n"
        "CREATE PROCEDURE Other AS RECEIVE * FROM Q",
        "GO\nCREATE PROCEDURE Reader AS RECEIVE * FROM Q",  # no queues
        "CREATE QUEUE Q\nGO\nCREATE PROCEDURE A AS RECEIVE * FROM P\nGO\nEXEC (@unknown)",
    ],
)
def test_a_part_of_a_database_permits_no_conclusion(tmp_path: Path, rest: str) -> None:
    text = f"CREATE DATABASE DB\nGO\nUSE DB\n{rest}"
    topology, _ = as_found(tmp_path, text.encode())
    assert not topology.findings


def test_a_snapshot_or_a_topology_may_lack_procedures(tmp_path: Path) -> None:
    yaml = "instances: {I1: {sql: [I1.sql], databases: {DB: {queues: {Q: {}}}}}}"
    script = "USE DB\nALTER QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = P)\nRECEIVE * FROM Q"
    assert not load(write(tmp_path, yaml, I1=script), NOW).findings


def servers(folder: Path, *directives: str) -> list[Finding]:
    text = "USE DB\nGO\n" + "\n".join(f"{one}\nGO\nSELECT 1" for one in directives)
    topology, _ = as_found(folder, text.encode())
    return [f for f in topology.findings if "script runs on" in f.message]


def test_a_script_for_two_servers_is_reported(tmp_path: Path) -> None:
    first, then = ":connect ServerA -U sa -P s3cret", ":CONNECT tcp:ServerB.corp.com,1433"
    [finding] = servers(tmp_path, first, then, first)
    assert finding.message == (
        "the script runs on ServerA and on ServerB, but is read as a script of I1"
    )
    assert (finding.severity.value, finding.line, finding.subject) == ("warning", 6, "I1")
    assert "s3cret" not in str(as_found(tmp_path, f"{first}\nGO".encode()))


@pytest.mark.parametrize(
    "other",
    ["servera", "ServerA.corp.com", "tcp:ServerA,1433", "localhost", ".", "10.0.0.1", "$(B)", ""],
)
def test_names_of_one_server_are_not_reported(tmp_path: Path, other: str) -> None:
    assert servers(tmp_path, ":connect ServerA", f":connect {other}") == []
