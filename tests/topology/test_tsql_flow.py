"""Conditions, blocks, variables and dynamic SQL: what is certain to run, and what it says then."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import load

from .build import from_sql, write
from .test_tsql_scripts import as_found, instance

CREATE = "CREATE ROUTE R WITH ADDRESS = 'tcp://h:1'"


def routes(folder: Path, text: str) -> dict[str, str]:
    """Apply a script; return its routes but AutoCreatedLocal, by name, and check for silence."""
    topology, database = from_sql(folder, text)
    assert not topology.findings
    assert not [s for s in topology.skipped if s.why]
    return {route.name: route.address for route in database.routes[1:]}


THERE = "IF EXISTS (SELECT * FROM sys.routes WHERE name = 'R')"
MISSING = "IF NOT EXISTS (SELECT * FROM sys.routes WHERE name = 'R')"
ALTER = "ALTER ROUTE R WITH ADDRESS = 'tcp://other:1'"


@pytest.mark.parametrize(
    ("script", "address"),
    [
        (f"{THERE} DROP ROUTE R {CREATE}", "tcp://h:1"),
        (f"{CREATE} {THERE} DROP ROUTE R", None),
        (f"{MISSING} {CREATE}", "tcp://h:1"),
        (f"{CREATE} {MISSING} BEGIN {CREATE}, LIFETIME = 5 END", "tcp://h:1"),
        (f"{THERE} {ALTER} ELSE {CREATE}", "tcp://h:1"),
        (f"{CREATE}; {THERE} {ALTER}; ELSE {CREATE}", "tcp://other:1"),
        (f"{MISSING} {CREATE} ELSE {ALTER}", "tcp://h:1"),
        (f"{CREATE} {MISSING} {CREATE} ELSE {ALTER}", "tcp://other:1"),
        (f"IF OBJECT_ID('x') IS NULL {CREATE} ELSE IF DB_ID('y') IS NULL {ALTER}", "tcp://h:1"),
        (f"BEGIN TRY {CREATE} END TRY BEGIN CATCH DROP ROUTE R END CATCH", "tcp://h:1"),
        (f"BEGIN TRY {CREATE} {CREATE} END TRY; BEGIN CATCH; END CATCH; {ALTER}", "tcp://other:1"),
        (f"BEGIN BEGIN {CREATE} END {ALTER} END", "tcp://other:1"),
        (f"{MISSING} EXEC('{CREATE.replace(chr(39), chr(39) * 2)}') ELSE {ALTER}", "tcp://h:1"),
        (f"DROP ROUTE IF EXISTS R {CREATE}", "tcp://h:1"),
    ],
)
def test_guards(tmp_path: Path, script: str, address: str | None) -> None:
    """CREATE where it is not there, ALTER and DROP where it is; else nothing, and no warning."""
    found = routes(tmp_path, script)
    assert found == ({} if address is None else {"R": address})


def test_an_unguarded_statement_without_effect_is_reported(tmp_path: Path) -> None:
    """The same statements without their guard, or behind it, are warnings."""
    topology, _ = from_sql(tmp_path, f"{CREATE} {THERE} DROP ROUTE R DROP ROUTE R")
    assert [f.message for f in topology.findings] == ["there is no route R in I1/DB"]


def test_a_condition_about_anything_else_is_unresolved(tmp_path: Path) -> None:
    """Once, with its place; what it guards is applied. Without a declaration: no report."""
    topology, database = from_sql(
        tmp_path,
        f"""
        IF @@SERVERNAME = 'A'
        BEGIN
            {CREATE}
            CREATE QUEUE Q
        END
        IF @@ERROR <> 0 PRINT 'x' ELSE PRINT 'y'
        """,
    )
    assert set(database.queues) == {"Q"} and len(database.routes) == 2
    unresolved = [(s.kind, s.line) for s in topology.skipped if s.why]
    assert unresolved == [("IF", 3)]


@pytest.mark.parametrize(
    ("declared", "expression", "address"),
    [
        ("DECLARE @a sysname = 'h'", "'tcp://' + @a + ':1'", "tcp://h:1"),
        ("DECLARE @a sysname, @b int = 5 SET @a = N'h'", "'tcp://' + @A + ':1'", "tcp://h:1"),
        ("DECLARE @p int = 4022", "'tcp://h:' + CAST(@p AS varchar(9))", "tcp://h:4022"),
        ("DECLARE @p int SELECT @p = 7", "'tcp://h:' + CONVERT(nvarchar, @p)", "tcp://h:7"),
        ("DECLARE @a varchar(9) = 'tcp' SET @a += '://h:1'", "@a", "tcp://h:1"),
        (
            "DECLARE @a varchar(9) = 'x' IF 1 = 2 SET @a = 'x'",
            "'tcp://' + (@a) + ':1'",
            "tcp://x:1",
        ),
        ("DECLARE @a char(1) = 'h'; WHILE 1 = 1 BREAK", "'tcp://' + @a + ':1'", "tcp://h:1"),
    ],
)
def test_settled_text_is_read(tmp_path: Path, declared: str, expression: str, address: str) -> None:
    """Literals, variables and + settle the text of dynamic SQL, whose place is the string's."""
    text = f"{declared}\nEXEC ('CREATE ROUTE R WITH ADDRESS = ''' + {expression} + '''')"
    assert routes(tmp_path, text) == {"R": address}


@pytest.mark.parametrize(
    "then",
    [
        "SET @a = HOST_NAME()",
        "GO",
        "SELECT @a = name FROM sys.servers",
        "SELECT @a = 'i' FROM t WHERE x = 5",
        "SELECT @a = 'i', @b = x FROM t",
        "IF UPDATE(x) SET @a = 'i'",
        "IF @@ERROR = 0\nBEGIN\nSELECT CASE WHEN x = 1 THEN 2\nELSE 3\nEND\nSET @a = 'i'\nEND",
        "IF @@ERROR = 0 SET @a = 'i'",
        "IF @@ERROR = 0 PRINT 'x' ELSE SET @a = 'i'",
        "IF @@ERROR = 0\nBEGIN\nSET @a = 'i'\nEND\nELSE SET @b = @a",
        "WHILE @@ERROR = 0 SET @a += 'i'",
        "EXEC p @a OUTPUT",
        "EXEC @a = p",
        "FETCH NEXT FROM c INTO @b, @a",
        "RECEIVE @a = message_type_name FROM Q",
        "UPDATE t SET @a = x = 5",
        "UPDATE t\nSET @a = x",
        "BEGIN TRY PRINT 'x' END TRY BEGIN CATCH SET @a = 'i' END CATCH",
        "again: SET @a = @a + 'x' GOTO again",
        "DECLARE @a int = 5",
    ],
)
def test_unsettled_text_is_unresolved(tmp_path: Path, then: str) -> None:
    """Whatever may have changed a variable makes it unknown, and what is made of it."""
    execute = "EXEC ('CREATE ROUTE R WITH ADDRESS = ''tcp://' + @a + ':1''')"
    topology, database = from_sql(tmp_path, f"DECLARE @a sysname = 'h'\n{then}\n{execute}")
    assert len(database.routes) == 1
    assert [s.kind for s in topology.skipped if s.why] == ["EXECUTE"]


def test_a_loop_makes_unknown_what_it_assigns(tmp_path: Path) -> None:
    """Also before the assignment, which an earlier round has made; and nothing else."""
    topology, database = from_sql(
        tmp_path,
        """
        DECLARE @a sysname = 'A', @b sysname = 'B'
        WHILE @@ERROR = 0
        BEGIN
            EXEC ('CREATE QUEUE ' + @a)
            EXEC ('CREATE QUEUE ' + @b)
            SET @a = 'C'
        END
        """,
    )
    assert set(database.queues) == {"B"}
    assert [(s.kind, s.line) for s in topology.skipped if s.why] == [("EXECUTE", 6)]


def test_use_inside_dynamic_sql_ends_with_it(tmp_path: Path) -> None:
    """And a prefix of sp_executesql selects the database."""
    sql = (
        "EXEC ('USE Other CREATE QUEUE A') CREATE QUEUE B\n"
        "EXEC Third..sp_executesql N'CREATE QUEUE C'\n"
        "EXEC ('CREATE QUEUE D') AT Server\n"
        "EXEC Server.Third.sys.sp_executesql N'CREATE QUEUE D'"
    )
    topology = from_sql(tmp_path, sql)[0]
    found = {name: set(d.queues) for name, d in topology.instances["I1"].databases.items()}
    assert found == {"DB": {"B"}, "Other": {"A"}, "Third": {"C"}}
    assert [s.why for s in topology.skipped] == ["it runs on another server"] * 2


def test_dynamic_sql_inside_dynamic_sql(tmp_path: Path) -> None:
    """As deep as the engine allows; text that grows without end is unknown."""
    inner = "CREATE QUEUE Q"
    for _ in range(3):
        inner = "EXEC ('" + inner.replace("'", "''") + "')"
    _, database = from_sql(tmp_path, inner)
    assert set(database.queues) == {"Q"}
    growing = "DECLARE @a varchar(max) = 'PRINT 1 ' " + "SET @a = @a + @a " * 60 + "EXEC (@a)"
    topology, _ = from_sql(tmp_path, growing)
    assert [s.kind for s in topology.skipped if s.why] == ["EXECUTE"]


def test_an_error_in_dynamic_sql_is_reported_at_its_string(tmp_path: Path) -> None:
    topology, _ = as_found(tmp_path, b"DECLARE @s varchar(99) =\n 'CREATE ROUTE R'\n\nEXEC (@s)")
    [finding] = topology.findings
    assert (finding.line, finding.column) == (2, 2)


def test_a_clause_is_no_statement_of_its_own(tmp_path: Path) -> None:
    """What is skipped is skipped whole."""
    sql = "UPDATE t\nSET x = 1\nSET NOCOUNT ON\nSELECT CASE x WHEN 1\nTHEN 2\nELSE 3\nEND"
    topology, _ = from_sql(tmp_path, sql)
    assert [s.kind for s in topology.skipped] == ["UPDATE", "SET", "SELECT"]


BROKEN = b"""CREATE QUEUE Before
CREATE ROUTE R WITH ADDRES = ('x'
CREATE QUEUE Beside
GO
PRINT 'a forgotten quote
GO
CREATE QUEUE It's
GO
CREATE QUEUE After -- it's
/* a comment
GO
CREATE QUEUE [Last
GO
CREATE QUEUE Last"""


def test_a_mistake_costs_its_statement_or_its_batch(tmp_path: Path) -> None:
    """A wrong statement is left out; a string, name or comment without end costs up to GO."""
    topology, _ = as_found(tmp_path, BROKEN)
    assert set(instance(topology).databases["DB"].queues) == {"Before", "Beside", "Last"}
    assert [(f.code, f.severity.value, f.line) for f in topology.findings] == [
        ("TA-20", "warning", 2), ("TA-20", "warning", 5), ("TA-20", "warning", 7),
        ("TA-20", "warning", 10), ("TA-20", "warning", 12),
    ]  # fmt: skip
    assert all(f.message.startswith("not understood: ") for f in topology.findings)


def test_go_in_a_string_is_text_where_every_string_ends(tmp_path: Path) -> None:
    topology, _ = as_found(tmp_path, b"PRINT '\nGO\n'\nGO\nCREATE QUEUE Q")
    assert not topology.findings
    assert set(instance(topology).databases["DB"].queues) == {"Q"}


def test_a_dialog_with_a_target_known_only_at_run_time_is_unresolved(tmp_path: Path) -> None:
    """No flow can be concluded from it, so nobody shall believe that all were."""
    code = "CREATE PROC p @to sysname AS\nBEGIN DIALOG @h FROM SERVICE S TO SERVICE @to"
    topology, _ = as_found(tmp_path, f"USE DB\nGO\n{code}\nGO".encode())
    [begin] = instance(topology).databases["DB"].procedures["p"].begins
    assert begin.unresolved == ("TO SERVICE",)
    assert [(s.kind, s.line, s.why) for s in topology.skipped] == [
        ("BEGIN DIALOG", 4, "run-time values determine its TO SERVICE")
    ]


def test_code_in_no_database_is_unresolved(tmp_path: Path) -> None:
    """Where a script does not say which database it means, nothing is guessed."""
    yaml = "instances: {S: {sql: [S.sql], scripts: as_found}}"
    topology = load(write(tmp_path, yaml, S=f"{CREATE}\nGO\nCREATE PROC p AS PRINT 1"), 0.0)
    assert [(s.kind, s.why) for s in topology.skipped] == [
        ("CREATE ROUTE", "no database is selected"),
        ("CREATE PROCEDURE", "no database is selected"),
    ]
