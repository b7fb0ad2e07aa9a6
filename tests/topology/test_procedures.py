"""What code says about dialogs: who begins them with whom, who ends them, who calls whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.system_names import EVENT_NOTIFICATION_SERVICE, POST_EVENT_NOTIFICATION
from streams.topology import BeginDialog, Procedure, apply_sql
from streams.topology.yaml_file import read_document, write_document
from tests.node.evidence import shows

from .build import NOW, from_sql


def procedure(folder: Path, body: str, head: str = "CREATE PROC p") -> Procedure:
    """Return the procedure that a body makes."""
    topology, database = from_sql(folder, f"{head} AS\n{body}")
    assert not topology.findings
    [found] = database.procedures.values()
    return found


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("FROM SERVICE S TO SERVICE 'T'", BeginDialog("S", "T")),
        ("FROM SERVICE [//s] TO SERVICE N'T', 'GUID'", BeginDialog("//s", "T", "GUID")),
        (
            "FROM SERVICE 's' TO SERVICE T ON CONTRACT [//c] WITH ENCRYPTION = OFF",
            BeginDialog("s", "T", contract="//c", encryption=False),
        ),
        (
            "FROM SERVICE S TO SERVICE 'T' WITH ENCRYPTION = ON",
            BeginDialog("S", "T", asks_encryption=True),
        ),
        (
            "FROM SERVICE S TO SERVICE 'T' WITH RELATED_CONVERSATION = @x, LIFETIME = @y + 5",
            BeginDialog("S", "T", related=True),
        ),
        (
            "FROM SERVICE @s TO SERVICE @t, @b ON CONTRACT @c",
            BeginDialog("Known", None, None, None,
                        unresolved=("TO SERVICE", "broker id", "ON CONTRACT")),
        ),
    ],
)  # fmt: skip
def test_begin_dialog(tmp_path: Path, statement: str, expected: BeginDialog) -> None:
    """Every clause; a settled variable is resolved, a parameter is not."""
    statement = statement.replace("@y + 5", "60")
    head = "CREATE PROC p @t sysname = 'x', @c AS sysname"
    body = f"DECLARE @s sysname = 'Known'\nBEGIN DIALOG CONVERSATION @h {statement}\nRETURN"
    assert procedure(tmp_path, body, head).begins == (expected,)


def test_the_current_database_is_resolved_when_all_is_read(tmp_path: Path) -> None:
    """NEW_BROKER behind the procedure changes the id that CURRENT DATABASE means."""
    _, database = from_sql(
        tmp_path,
        "CREATE PROC p AS BEGIN DIALOG @h FROM SERVICE S TO SERVICE 'T', 'Current Database'\n"
        "GO\nALTER DATABASE DB SET NEW_BROKER",
    )
    assert database.procedures["p"].begins[0].broker == database.broker_id


def test_the_rest_of_the_evidence(tmp_path: Path) -> None:
    """END CONVERSATION, RECEIVE, GET CONVERSATION GROUP, EXECUTE, wherever they stand."""
    found = procedure(
        tmp_path,
        """
        IF @a = 1 END CONVERSATION @h ELSE BEGIN END CONVERSATION @h WITH CLEANUP END
        WAITFOR (GET CONVERSATION GROUP @g FROM sales.A), TIMEOUT @t
        RECEIVE TOP (1) * FROM dbo.B INTO @rows WHERE conversation_group_id = @g
        WAITFOR (RECEIVE CAST(message_body AS xml) FROM [C d]);
        INSERT INTO t EXEC @r = dbo.[Other] @a, @b = 'x' OUTPUT
        EXECUTE Elsewhere.dbo.Third; EXEC Elsewhere..Third
        WAITFOR DELAY '00:00:05' EXEC ('END CONVERSATION ''x''')
        """,
    )
    assert [place.line for place in found.ends] == [4, 4, 10]
    assert found.receives == ("sales.A", "B", "C d")
    assert found.calls == ("Other", "Elsewhere.Third")


BEGIN = "BEGIN DIALOG CONVERSATION @h FROM SERVICE S TO SERVICE 'T'\n"
SEND = "SEND ON CONVERSATION @H MESSAGE TYPE [M] (@x);\n"


@pytest.mark.parametrize(
    ("body", "sends", "at_once"),
    [
        (BEGIN + SEND, ["M"], False),
        (BEGIN + SEND + "END CONVERSATION @h", ["M"], True),
        (BEGIN + SEND + "COMMIT TRANSACTION; END CONVERSATION @h WITH CLEANUP", ["M"], True),
        (BEGIN + "SEND ON CONVERSATION @h (@x) END CONVERSATION @h", ["DEFAULT"], True),
        (BEGIN + "SEND ON CONVERSATION (@g, @h) MESSAGE TYPE M", ["M"], False),
        (BEGIN + "SEND ON CONVERSATION @h MESSAGE TYPE @kind (@x)", [], False),
        (BEGIN + SEND + "IF @@ERROR <> 0 END CONVERSATION @h", ["M"], False),
        (BEGIN + SEND + "END CONVERSATION @other", ["M"], False),
        (
            "RECEIVE @h = conversation_handle FROM Q;" + SEND + "END CONVERSATION @h;" + BEGIN,
            [],
            False,
        ),
        (BEGIN + "END CONVERSATION @h", [], False),
        (BEGIN + "SELECT @h = handle FROM Open_;" + SEND + "END CONVERSATION @h", [], False),
        (BEGIN + "EXEC Find @handle = @h OUTPUT;" + SEND + "END CONVERSATION @h", [], False),
        (
            BEGIN + "RECEIVE @h = conversation_handle FROM Q;" + SEND + "END CONVERSATION @h",
            [],
            False,
        ),
    ],
)
def test_what_code_sends_in_its_dialogs(
    tmp_path: Path, body: str, sends: list[str], at_once: bool
) -> None:
    [begun] = procedure(tmp_path, body).begins
    assert [*begun.sends] == sends and begun.ends_after_send == at_once


def test_a_variable_is_known_up_to_the_end_of_its_batch(tmp_path: Path) -> None:
    _, database = from_sql(tmp_path, f"{BEGIN}GO\nDECLARE @h int; {SEND} END CONVERSATION @h")
    [begun] = database.procedures["I1.sql"].begins
    assert begun.sends == () and not begun.ends_after_send


def test_a_dialog_is_not_sought_in_another_database(tmp_path: Path) -> None:
    script = f"CREATE DATABASE E\nGO\nUSE DB\n{BEGIN}USE E\n{BEGIN}USE DB\n{SEND}{END}"
    _, database = from_sql(tmp_path, script)
    [begun] = database.procedures["I1.sql"].begins
    assert begun.sends == () and not begun.ends_after_send


def test_a_variable_of_two_dialogs_leaves_their_messages_unknown(tmp_path: Path) -> None:
    found = procedure(tmp_path, f"IF @a = 1 {BEGIN} ELSE {BEGIN} {SEND}")
    assert [b.sends for b in found.begins] == [(), ()]


END = " END CONVERSATION @h"


@pytest.mark.parametrize(
    ("body", "ends_on"),
    [
        (END, ()),
        ("IF @type = N'M'" + END, ("M",)),
        ("IF (@type = 'M' OR @type = 'N') BEGIN PRINT 1;" + END + " END", ("M", "N")),
        ("IF @type IN ('M', 'N')" + END, ("M", "N")),
        ("IF @type = 'M' PRINT 1 ELSE" + END, ()),
        ("IF @type = 'M' PRINT 1 ELSE IF @type = 'N'" + END, ("N",)),
        ("IF @type = 'M'" + END + END, ()),
        ("IF @type <> 'M'" + END, ()),
        ("IF NOT (@type = 'M')" + END, ()),
        ("IF @type = 'M' OR @a = @b" + END, ()),
        ("IF @type = @known" + END, ()),
        ("IF @type = 'M' IF @a = @b" + END, ("M",)),
        ("IF @@ROWCOUNT > 0 AND @type = 'M'" + END, ()),
        ("IF EXISTS (SELECT 1 FROM t WHERE c = 'M')" + END, ()),
        ("IF @type = 'M'" + END + " ELSE IF @type = 'N' BEGIN" + END + " END", ("M", "N")),
    ],
)
def test_the_types_that_limit_end_conversation(
    tmp_path: Path, body: str, ends_on: tuple[str, ...]
) -> None:
    assert procedure(tmp_path, body).ends_on == ends_on


@pytest.mark.parametrize(
    ("script", "begins"),
    [
        ("GO\nCREATE PROC p AS {0}\nGO\nALTER PROC dbo.p AS {1}", ["B"]),
        ("GO\nCREATE PROC p AS {0}\nGO\nCREATE OR ALTER PROC P AS {1}", ["B"]),
        ("GO\nCREATE PROC p AS {0}\nGO\nDROP PROC p\nGO\nCREATE PROC p AS {1}", ["B"]),
        ("GO\nCREATE PROC p AS {0}\nGO\nDROP PROC p", None),
        ("CREATE TRIGGER p ON t AFTER INSERT, UPDATE AS {0}", ["A"]),
        ("CREATE PROC [a].[p] WITH EXECUTE AS OWNER, RECOMPILE AS {0}", ["A"]),
        ("ALTER PROC p AS {0}", ["A"]),  # it may have been created before
    ],
)
def test_modules_are_altered_and_dropped(
    tmp_path: Path, script: str, begins: list[str] | None
) -> None:
    dialogs = [f"BEGIN DIALOG @h FROM SERVICE S TO SERVICE '{name}'" for name in "AB"]
    topology, database = from_sql(tmp_path, script.format(*dialogs))
    assert not topology.findings
    found = [[b.to for b in p.begins] for p in database.procedures.values()]
    assert found == ([] if begins is None else [begins])


def test_a_second_module_of_a_name_has_no_effect(tmp_path: Path) -> None:
    script = (
        "CREATE PROC p AS END CONVERSATION @h\nGO\nCREATE PROC p AS PRINT 1\nGO\nALTER PROC q AS"
    )
    topology, database = from_sql(tmp_path, "CREATE DATABASE DB\nGO\nUSE DB\nGO\n" + script)
    assert len(database.procedures["p"].ends) == 1
    assert [f.message.split(",")[0] for f in topology.findings] == [
        "procedure p already exists", "there is no procedure q in I1/DB",
    ]  # fmt: skip


def test_what_a_body_declares_is_not_applied(tmp_path: Path) -> None:
    """It is code: each such statement is skipped, with its place, and need not be right."""
    topology, database = from_sql(
        tmp_path,
        """
        CREATE FUNCTION f() RETURNS int AS
        BEGIN
            CREATE ROUTE R
            EXEC ('DROP QUEUE Q')
            IF @@ERROR = 0 GRANT SEND ON SERVICE::S TO u
        END
        """,
    )
    assert len(database.routes) == 1 and not topology.findings
    assert [(s.kind, s.line) for s in topology.skipped] == [
        ("CREATE ROUTE in a function", 5), ("DROP QUEUE in a function", 6),
        ("GRANT in a function", 7),
    ]  # fmt: skip


def test_loose_statements_are_evidence_under_the_name_of_their_script(tmp_path: Path) -> None:
    """In the database where they stand; variables end with their batch."""
    topology, database = from_sql(
        tmp_path,
        """
        DECLARE @s sysname = 'T'
        BEGIN DIALOG @h FROM SERVICE S TO SERVICE @s
        GO
        BEGIN DIALOG @h FROM SERVICE S TO SERVICE @s
        USE Other
        END CONVERSATION @h
        """,
    )
    loose = database.procedures["I1.sql"]
    assert [begin.to for begin in loose.begins] == ["T", None]
    assert (loose.source.line, loose.ends) == (4, ())
    other = topology.instances["I1"].databases["Other"].procedures["I1.sql"]
    assert [place.line for place in other.ends] == [8]
    after = apply_sql(topology, "I1", "DB", "END CONVERSATION @h", NOW)
    assert set(after.instances["I1"].databases["DB"].procedures) == {"I1.sql", "<sql>"}


@pytest.mark.parametrize(
    "before",
    [
        "SELECT CASE WHEN x = 1 THEN 'a'\nELSE 'b'\nEND",
        "UPDATE t\nSET x = 1",
        "UPDATE t\nSET @k = 'no'",
        "MERGE t USING s ON 1 = 1\nWHEN MATCHED THEN\nUPDATE\nSET x = CASE y WHEN 1 THEN 2\nEND;",
        "IF UPDATE(x) AND CASE WHEN 1 = 2 THEN 3 ELSE 4 END = 5 PRINT 'x'",
        "INSERT INTO t (a, b)\nSELECT a, b FROM s",
        "SELECT (1\nFROM t",
        "BEGIN TRAN COMMIT TRAN SAVE TRANSACTION s",
        "SET NOCOUNT ON DECLARE c CURSOR FOR SELECT x FROM t",
        "EXECUTE AS USER = 'dbo' REVERT",
        "label: GOTO label",
        "IF 1 = 1 PRINT 'a'; ELSE PRINT 'b'",
        "WITH x AS (SELECT 1 AS y)\nDELETE FROM x",
        "BEGIN DISTRIBUTED TRANSACTION",
        "BEGIN CONVERSATION TIMER (@h) TIMEOUT = 5",
        "DROP TABLE IF EXISTS #t",
        "END END ELSE",
    ],
)
@pytest.mark.parametrize("after", ["END CONVERSATION @h", "IF 1 = 1 BEGIN END CONVERSATION @h END"])
def test_what_stands_before_does_not_hide_it(tmp_path: Path, before: str, after: str) -> None:
    """Statements of every kind end where they end, with no semicolon to tell."""
    found = procedure(tmp_path, f"DECLARE @k sysname = 'T'\n{before}\n{after}")
    assert len(found.ends) == 1


def test_the_head_ends_where_the_body_begins(tmp_path: Path) -> None:
    """AS also stands before types and in EXECUTE AS."""
    head = "CREATE PROC p @a AS sysname = 'x', @b int WITH EXECUTE AS OWNER"
    body = "SELECT @s = 'S'\nSELECT @t = 'T'\nBEGIN DIALOG @h FROM SERVICE @s TO SERVICE @t"
    _, database = from_sql(tmp_path, f"{head} AS {body}")
    [begin] = database.procedures["p"].begins
    assert (begin.service, begin.to) == ("S", "T")


def test_set_belongs_to_update(tmp_path: Path) -> None:
    """Only what UPDATE assigns becomes unknown; a SET behind it is a statement again."""
    body = """
        DECLARE @a sysname = 'A', @b sysname = 'B', @c sysname = 'C'
        UPDATE t
        SET x = @a
        WHERE y = 5
        SET @c = 'D'
        BEGIN DIALOG @h FROM SERVICE @a TO SERVICE @b ON CONTRACT @c
        UPDATE t
        SET @a = x, y = 5
        BEGIN DIALOG @h FROM SERVICE @a TO SERVICE @b ON CONTRACT @c
    """
    one, two = procedure(tmp_path, body).begins
    assert (one.service, one.to, one.contract) == ("A", "B", "D")
    assert (two.service, two.to, two.contract) == (None, "B", "D")


NOTIFY = "CREATE EVENT NOTIFICATION N ON "
TO = "TO SERVICE 'Watcher', 'current database'"


def test_event_notifications_begin_dialogs(tmp_path: Path) -> None:
    """From the system service, under its contract; DROP removes them; the server's are skipped."""
    topology, database = from_sql(
        tmp_path,
        f"""
        CREATE QUEUE Q
        {NOTIFY} QUEUE dbo.Q WITH FAN_IN FOR QUEUE_ACTIVATION, broker_queue_disabled {TO}
        CREATE EVENT NOTIFICATION Gone ON DATABASE FOR DDL_EVENTS TO SERVICE 'W', 'ABC'
        DROP EVENT NOTIFICATION Gone ON DATABASE
        CREATE EVENT NOTIFICATION S ON SERVER FOR TRC_DEADLOCK TO SERVICE 'W', 'ABC';
        DROP EVENT NOTIFICATION S ON SERVER
        """,
    )
    [(name, procedure)] = database.procedures.items()
    [begin] = procedure.begins
    assert (name, begin.to, begin.broker) == (
        "event notification N", "Watcher", database.broker_id,
    )  # fmt: skip
    assert begin.service == EVENT_NOTIFICATION_SERVICE
    assert begin.contract == POST_EVENT_NOTIFICATION
    assert [s.kind for s in topology.skipped] == ["CREATE EVENT", "DROP EVENT"]
    assert not topology.findings


@shows("L5")
def test_a_queue_has_one_kind_of_activation(tmp_path: Path) -> None:
    """9718: a queue that activates a procedure cannot have a notification QUEUE_ACTIVATION."""
    queue = "CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = p, MAX_QUEUE_READERS = 1)"
    topology, database = from_sql(
        tmp_path,
        f"{queue} {NOTIFY} QUEUE Q FOR QUEUE_ACTIVATION {TO}\n"
        f"{NOTIFY} QUEUE Q FOR BROKER_QUEUE_DISABLED {TO}",
    )
    assert [f.evidence for f in topology.findings] == [{"number": 9718}]
    assert set(database.procedures) == {"event notification N"}


def test_names_after_a_dot_are_no_keywords(tmp_path: Path) -> None:
    """Procedures, columns and methods may have the name of a statement."""
    found = procedure(tmp_path, "EXEC dbo.Receive @x\nSELECT t.Receive, t.Waitfor FROM t")
    assert found.calls == ("Receive",) and not found.receives
    found = procedure(tmp_path, "EXTERNAL NAME Broker.Reader.Receive")
    assert found.external and not found.receives


def test_code_in_an_assembly_is_read_and_written_again(tmp_path: Path) -> None:
    """Otherwise the queue that it reads would seem to have no reader."""
    topology, database = from_sql(tmp_path, "CREATE PROC p AS EXTERNAL NAME Broker.Reader.Receive")
    again = read_document(write_document(topology), "topology.yaml", NOW)
    (read,) = again.instances["I1"].databases[database.name].procedures.values()
    assert (read.name, read.external) == ("p", True)


SETUP = "CREATE QUEUE Q\nCREATE SERVICE S ON QUEUE Q\nGO\n"
START = "BEGIN DIALOG @h FROM SERVICE S TO SERVICE 'T'\nGO\n"
DROP = "IF EXISTS (SELECT 1 FROM sys.services WHERE name = 'S') DROP SERVICE S\nGO\n"


@pytest.mark.parametrize(
    ("script", "begins"),
    [
        (SETUP + START + DROP, 0),
        (SETUP + START + DROP + START, 1),
        (SETUP + START + DROP + "CREATE SERVICE S ON QUEUE Q", 1),
        (DROP + SETUP + START, 1),
        (SETUP + "CREATE PROC p AS " + START + DROP, 1),
    ],
)
def test_a_dropped_service_ends_what_loose_statements_began(
    tmp_path: Path, script: str, begins: int
) -> None:
    """DROP SERVICE ends its dialogs; a procedure, or a script that makes it again, begins more."""
    _, database = from_sql(tmp_path, script)
    assert sum(len(code.begins) for code in database.procedures.values()) == begins
