"""DDL that the engine refuses: what is reported, with which number, and what stays unreported."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import InputError
from streams.topology import Database, Topology, load
from tests.node.evidence import shows

from .build import NOW, from_sql, write
from .test_tsql_scripts import as_found

IN_USE = """
    CREATE MESSAGE TYPE M; CREATE CONTRACT C (M SENT BY ANY); CREATE QUEUE sales.Q;
    CREATE SERVICE S ON QUEUE sales.Q (C);
    CREATE BROKER PRIORITY P FOR CONVERSATION SET (LOCAL_SERVICE_NAME = S, CONTRACT_NAME = C);
"""


def refused(topology: Topology) -> list[tuple[str, int | None]]:
    """Return (severity, number) of each finding."""
    return [(f.severity.value, f.evidence.get("number")) for f in topology.findings]


def whole(folder: Path, text: str) -> tuple[Topology, Database]:
    """Load a script that creates its database."""
    topology = load(write(folder, I1=f"CREATE DATABASE DB\nGO\nUSE DB\n{text}"), NOW)
    return topology, topology.instances["I1"].databases["DB"]


@shows("L2")
@pytest.mark.parametrize(
    ("drop", "users"),
    [
        ("MESSAGE TYPE M", "contract C"), ("CONTRACT C", "service S and broker priority P"),
        ("QUEUE sales.q", "service S"), ("SERVICE S", "broker priority P"),
    ],
)  # fmt: skip
def test_what_is_in_use_is_not_dropped(tmp_path: Path, drop: str, users: str) -> None:
    """3716: DROP without effect; no report under a condition."""
    topology, database = from_sql(tmp_path, f"{IN_USE} DROP {drop}")
    kept = (database.message_types, database.contracts, database.queues, database.services)
    assert [len(objects) for objects in kept] == [1, 1, 1, 1]
    assert refused(topology) == [("warning", 3716)]
    assert f"is in use by {users} (3716" in topology.findings[0].message
    topology, _ = from_sql(tmp_path, f"{IN_USE} IF EXISTS (SELECT * FROM sys.objects) DROP {drop}")
    assert not topology.findings


def test_an_unknown_statement_may_have_dropped_the_users(tmp_path: Path) -> None:
    """A cursor over sys.services drops them, and only its text is unknown."""
    script = f"USE DB {IN_USE} GO\nEXEC (@drop_every_service)\nDROP QUEUE sales.Q\n".replace(
        " GO", "\nGO"
    )
    topology, _ = as_found(tmp_path, script.encode())
    assert not topology.findings
    assert not topology.instances["I1"].databases["DB"].queues


def test_repeatable_scripts_are_not_reported(tmp_path: Path) -> None:
    """DROP in the order of use, guarded or not, and CREATE again."""
    drop = """
        IF EXISTS (SELECT * FROM sys.conversation_priorities) DROP BROKER PRIORITY P
        IF EXISTS (SELECT * FROM sys.services WHERE name = 'S') DROP SERVICE S
        IF OBJECT_ID('sales.Q') IS NOT NULL DROP QUEUE sales.Q
        DROP CONTRACT C; DROP MESSAGE TYPE M
    """
    topology, database = whole(tmp_path, f"{IN_USE} {drop} {IN_USE}")
    assert not topology.findings and set(database.services) == {"S"}


@shows("L3", "L4", "L6", "L7", "L8")
@pytest.mark.parametrize(
    ("statement", "severity", "number"),
    [
        ("CREATE CONTRACT D (M SENT BY ANY, M SENT BY TARGET)", "error", 8403),
        ("CREATE SERVICE T ON QUEUE sales.Q (C, C)", "error", 8404),
        ("ALTER SERVICE S (ADD CONTRACT [DEFAULT], ADD CONTRACT [DEFAULT])", "error", 8404),
        ("ALTER SERVICE S (ADD CONTRACT C)", "warning", 8404),
        ("CREATE QUEUE R WITH ACTIVATION (MAX_QUEUE_READERS = 2, EXECUTE AS SELF)", "error", 9614),
        ("CREATE QUEUE R WITH ACTIVATION (STATUS = ON)", "error", 9614),
        ("ALTER QUEUE sales.Q WITH ACTIVATION (STATUS = ON)", "warning", 9614),
        (
            "CREATE REMOTE SERVICE BINDING A TO SERVICE 'T' WITH USER = u "
            "CREATE REMOTE SERVICE BINDING B TO SERVICE 'T' WITH USER = v",
            "warning", 9619,
        ),
        ("CREATE SERVICE T ON QUEUE sales.None", "warning", 15151),
        ("ALTER SERVICE S ON QUEUE Q", "warning", 15151),
        ("CREATE BROKER PRIORITY Q FOR CONVERSATION SET (CONTRACT_NAME = D)", "warning", 15151),
        ("ALTER BROKER PRIORITY P FOR CONVERSATION SET (LOCAL_SERVICE_NAME = T)", "warning", 15151),
        (
            "CREATE BROKER PRIORITY Q FOR CONVERSATION "
            "SET (LOCAL_SERVICE_NAME = S, CONTRACT_NAME = C)",
            "warning", 33303,
        ),
        ("CREATE MESSAGE TYPE N VALIDATION = VALID_XML WITH SCHEMA COLLECTION X", "warning", None),
    ],
)  # fmt: skip
def test_statements_that_are_refused(
    tmp_path: Path, statement: str, severity: str, number: int | None
) -> None:
    """A warning depends on what exists; the rest is an error in any database."""
    topology, database = whole(tmp_path, f"{IN_USE} {statement}")
    assert refused(topology) == [(severity, number)]
    assert "R" not in database.queues and "D" not in database.contracts


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE SERVICE T ON QUEUE ServiceBrokerQueue",
        "CREATE SERVICE T ON QUEUE Later CREATE QUEUE Later",
        "CREATE SERVICE T ON QUEUE None DROP SERVICE T",
        "CREATE QUEUE R WITH ACTIVATION (STATUS = OFF, MAX_QUEUE_READERS = 2)",
        "ALTER QUEUE sales.Q WITH ACTIVATION (DROP)",
        "ALTER QUEUE sales.Q WITH ACTIVATION (MAX_QUEUE_READERS = 2)",
        "ALTER QUEUE sales.Q WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = p)",
        "CREATE BROKER PRIORITY Q FOR CONVERSATION SET (CONTRACT_NAME = [DEFAULT])",
        "DECLARE @x xml CREATE XML SCHEMA COLLECTION X AS @x\n"
        "CREATE MESSAGE TYPE N VALIDATION = VALID_XML WITH SCHEMA COLLECTION X",
    ],
)
def test_statements_that_are_not_refused(tmp_path: Path, statement: str) -> None:
    topology, _ = whole(tmp_path, f"{IN_USE} {statement}")
    assert not topology.findings


@shows("L10")
def test_a_name_that_is_a_keyword(tmp_path: Path) -> None:
    """ANY is created, but a priority for ANY applies to all services (or contracts)."""
    topology, database = whole(tmp_path, f"{IN_USE} CREATE SERVICE [ANY] ON QUEUE sales.Q (C)")
    assert refused(topology) == [("warning", None)] and "ANY" in database.services
    topology, _ = whole(tmp_path, "CREATE CONTRACT [ANY] ([DEFAULT] SENT BY ANY)")
    assert refused(topology) == [("warning", None)]


@shows("L13")
def test_a_part_of_a_database_may_use_objects_of_the_rest(tmp_path: Path) -> None:
    """Without CREATE DATABASE, a missing object is an info; with unknown statements, nothing."""
    topology, _ = from_sql(tmp_path, "CREATE SERVICE S ON QUEUE Q")
    assert refused(topology) == [("info", 15151)]
    topology, _ = as_found(tmp_path, b"USE DB\nGO\n:r queues.sql\nCREATE SERVICE S ON QUEUE Q")
    assert not topology.findings
    yaml = "instances: {I1: {sql: [I1.sql], databases: {DB: {services: {S: {queue: Q}}}}}}"
    assert not load(write(tmp_path, yaml, I1="USE DB"), NOW).findings


@shows("L4", "L9")
@pytest.mark.parametrize(
    ("statement", "column", "expected"),
    [
        ("CREATE QUEUE #Q", 14, "without #"), ("CREATE QUEUE dbo.[#Q]", 14, "without #"),
        ("CREATE QUEUE Q WITH ACTIVATION (MAX_QUEUE_READERS = 32768)", 53, "from 0 to 32767"),
        ("CREATE QUEUE Q WITH ACTIVATION (MAX_QUEUE_READERS = -1)", 53, "from 0 to 32767"),
        *((f"CREATE {what} {'n' * 129}{rest}", column, "at most 128 characters")
          for what, rest, column in (("QUEUE", "", 14), ("SERVICE", " ON QUEUE Q", 16),
                                     ("MESSAGE TYPE", "", 21))),
    ],
)  # fmt: skip
def test_names_and_numbers_that_are_refused(
    tmp_path: Path, statement: str, column: int, expected: str
) -> None:
    """Names starting with # are temporary, names have at most 128 characters (103)."""
    with pytest.raises(InputError) as caught:
        from_sql(tmp_path, statement)
    assert caught.value.column == column and expected in caught.value.message
    assert from_sql(tmp_path, f"CREATE QUEUE {'n' * 128}")[1].queues


@pytest.mark.parametrize(
    ("certificates", "expected"),
    [
        ("", []),  # another script may create them
        ("CREATE CERTIFICATE Own WITH SUBJECT = 'x'", []),
        ("CREATE CERTIFICATE Peer FROM FILE = 'p.cer'", [("warning", 15151)]),
        ("CREATE CERTIFICATE Peer FROM FILE = 'p.cer'\nEXEC (@unknown)", []),
    ],
)
def test_an_endpoint_needs_its_certificate(
    tmp_path: Path, certificates: str, expected: list[tuple[str, int]]
) -> None:
    endpoint = (
        "CREATE ENDPOINT E STATE = STARTED AS TCP (LISTENER_PORT = 4022) "
        "FOR SERVICE_BROKER (AUTHENTICATION = CERTIFICATE own)"
    )
    topology, _ = from_sql(tmp_path, f"USE master\n{certificates}\nGO\n{endpoint}")
    assert refused(topology) == expected
