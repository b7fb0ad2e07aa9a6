"""TA-43: code that ends dialogs too early, or not for EndDialog and Error, or reads no queue.

Sources: R. Rusanu, "Fire and Forget: Good for the military, but not for Service Broker
conversations"; Broker System Messages (ms166088).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import report_of

HEAD = """\
CREATE DATABASE D;
GO
USE D;
GO
CREATE MESSAGE TYPE Request;
CREATE CONTRACT C (Request SENT BY ANY);
CREATE QUEUE IQ;
CREATE QUEUE TQ;
CREATE SERVICE I ON QUEUE IQ;
CREATE SERVICE T ON QUEUE TQ (C);
GO
"""
ACTIVATED = (
    "CREATE QUEUE {0}Q WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = R{0}, EXECUTE AS SELF);"
)
BEGIN = "BEGIN DIALOG @h FROM SERVICE I TO SERVICE 'T' ON CONTRACT C WITH ENCRYPTION = OFF;\n"
SEND = "SEND ON CONVERSATION @h MESSAGE TYPE Request (@x);\n"
END = "END CONVERSATION @h;\n"
WAIT = "WAITFOR (RECEIVE TOP (1) @t = message_type_name FROM IQ), TIMEOUT 9;\n"
SYSTEM = "http://schemas.microsoft.com/SQL/ServiceBroker/"


def procedure(name: str, body: str) -> str:
    return f"CREATE PROCEDURE {name} AS DECLARE @h uniqueidentifier, @t sysname;\n{body}GO\n"


def reader(queue: str, body: str) -> str:
    receive = f"RECEIVE TOP (1) @h = conversation_handle, @t = message_type_name FROM {queue}Q;\n"
    return procedure(f"R{queue}", receive + body)


READERS = reader("I", END) + reader("T", END)


def found(folder: Path, script: str) -> list[str]:
    (folder / "A.sql").write_text(script, encoding="utf-8")
    return [f"{f.severity.value}: {f.message}" for f in report_of(folder).findings
            if f.code == "TA-43"]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        (BEGIN + SEND + END, True),
        (BEGIN.replace("DIALOG", "DIALOG CONVERSATION") + SEND + SEND + "COMMIT;\n" + END, True),
        (BEGIN + "WHILE @i < 9 BEGIN SET @i += 1;\n" + SEND + "END;\n" + END, True),
        ("BEGIN TRY\n" + BEGIN + SEND + END + "END TRY BEGIN CATCH ROLLBACK; END CATCH;\n", True),
        (BEGIN + "SEND ON CONVERSATION (@k, @h) MESSAGE TYPE Request;\n" + END, True),
        (BEGIN + SEND + "END CONVERSATION @h WITH CLEANUP;\n", True),  # and nothing is sent
        # An error of the sender itself
        (BEGIN + SEND + "IF @@ERROR <> 0 " + END, False),
        (BEGIN + SEND + "IF @ok = 1 RETURN;\n" + END, False),
        (BEGIN + "BEGIN TRY " + SEND + " END TRY BEGIN CATCH " + END + " END CATCH;\n", False),
        (BEGIN + "IF @ok = 1 " + SEND + " ELSE " + END, False),
        # The answer may arrive before
        (BEGIN + SEND + WAIT + END, False),
        (BEGIN + SEND + "WAITFOR DELAY '0:0:1';\n" + END, False),
        (BEGIN + SEND + "EXEC WaitForReply @h;\n" + END, False),
        # Another dialog
        (BEGIN + SEND + "END CONVERSATION @old;\n", False),
        (BEGIN + SEND + "SELECT @h = handle FROM Open_;\n" + END, False),
        (BEGIN + SEND + "FETCH NEXT FROM c INTO @h;\n" + END, False),
        ("SELECT @h = handle FROM Open_;\n" + SEND + END, False),
        (BEGIN + "EXEC Find @handle = @h OUTPUT;\n" + SEND + END, False),
        (BEGIN + WAIT.replace("@t = ", "@h = ") + SEND + END, False),
    ],
)
def test_end_directly_after_send(tmp_path: Path, body: str, reported: bool) -> None:
    """Only of a dialog that the same code has begun, and only if END always follows."""
    messages = found(tmp_path, HEAD + procedure("P", body) + READERS)
    assert [("P ends its dialog directly after SEND" in m) for m in messages] == [True] * reported


def test_end_after_send_in_a_batch(tmp_path: Path) -> None:
    """Variables end with their batch."""
    batch = f"DECLARE @h uniqueidentifier;\n{BEGIN}{SEND}"
    assert len(found(tmp_path, f"{HEAD}{batch}{END}GO\n{READERS}")) == 1
    assert not found(tmp_path, f"{HEAD}{batch}GO\n{END}GO\n{READERS}")


ONLY = "warning: RT ends conversations of TQ only for {}: after EndDialog or Error, they stay open"


@pytest.mark.parametrize(
    ("body", "types"),
    [
        ("IF @t = N'Request' BEGIN " + SEND + END + " END;\n", "Request"),
        ("IF @t IN ('Request', 'DEFAULT') " + END, "Request and DEFAULT"),
        ("IF @t = 'Undeclared' " + END, "Undeclared"),
        ("IF @other = 'Request' OR @other = 'DEFAULT' " + END, "Request and DEFAULT"),
        ("IF @t = 'Request' BEGIN IF @status = 'done' " + END + " END;\n", "Request"),
        # Other types may be meant
        (END, ""),
        ("IF @t = 'Request' SELECT 1 ELSE " + END, ""),
        ("IF @t <> 'Request' " + END, ""),
        ("IF NOT @t = 'Request' " + END, ""),
        ("IF @t = 'Request' OR @done = 1 " + END, ""),
        ("IF @t = @ended " + END, ""),
        ("IF @status = 'done' " + END, ""),
        ("IF @t LIKE '%Dialog' " + END, ""),
        (f"IF @t = 'Request' {END} ELSE IF @t = '{SYSTEM}EndDialog' {END}", ""),
        (f"DECLARE @e sysname = '{SYSTEM}Error';\nIF @t = 'Request' {END}", ""),
        # Other code may end them
        ("IF @t = 'Request' " + END + " ELSE EXEC Other @h, @t;\n", ""),
        ("IF @t = 'Request' " + END + " ELSE EXEC Known @h, @t;\n", ""),
        ("IF @t = 'Request' " + END + " ELSE EXEC (@later);\n", ""),
        (f"IF @t = 'Request' {END}IF @t = '{SYSTEM}DialogTimer' SELECT 1;\n", "Request"),
    ],
)
def test_readers_that_ignore_end_dialog_and_error(tmp_path: Path, body: str, types: str) -> None:
    known = procedure("Known", END) if "Known" in body else ""
    script = HEAD + procedure("P", BEGIN + SEND) + reader("I", END) + reader("T", body) + known
    assert found(tmp_path, script) == ([ONLY.format(types)] if types else [])


def test_a_reader_next_to_others(tmp_path: Path) -> None:
    """One reader that handles everything is enough; a reader of an assembly may do so."""
    only = reader("T", "IF @t = 'Request' " + END)
    begins = procedure("P", BEGIN + SEND) + reader("I", END)
    other = reader("T", END).replace("PROCEDURE RT", "PROCEDURE Cleanup")
    assert found(tmp_path, HEAD + begins + only) == [ONLY.format("Request")]
    assert found(tmp_path, HEAD + begins + only + other) == []
    cleanup = procedure("Cleanup", "SELECT @h = h FROM Old;\nEND CONVERSATION @h WITH CLEANUP;\n")
    assert found(tmp_path, HEAD + begins + only + cleanup) == []
    assert found(tmp_path, HEAD + begins + reader("T", "SELECT 1;\n") + cleanup) == []
    head = HEAD.replace("CREATE QUEUE TQ;", ACTIVATED.format("T"))
    assert found(tmp_path, head + begins + only) == [ONLY.format("Request")]
    assert found(tmp_path, head + begins + only.replace("PROCEDURE RT", "PROCEDURE Other")) == []
    assembly = "CREATE PROCEDURE RT AS EXTERNAL NAME Broker.Reader.Run;\nGO\n"
    assert found(tmp_path, head + begins + assembly) == []


@pytest.mark.parametrize(
    ("head", "code", "message"),
    [
        (HEAD, reader("I", END) + reader("T", END), ""),
        (HEAD, reader("I", END) + reader("T", "SELECT 1;\n"),
         "warning: RT reads TQ, and does not end its conversations: they stay open"),
        (HEAD, reader("I", END),
         "info: no code of the topology reads TQ, unlike other queues of A/D: messages for T stay "
         "in it"),
        (HEAD, reader("I", END) + "EXEC (@later);\nGO\n", ""),
        (HEAD.replace("CREATE QUEUE TQ;", ACTIVATED.format("T")), reader("I", END), ""),
        (HEAD.replace("CREATE QUEUE TQ;", ACTIVATED.format("T")),
         reader("I", END) + procedure("RT", "SELECT 1;\n"),
         "warning: RT, which TQ activates, does not read it: messages for T stay in it"),
        (HEAD.replace("CREATE QUEUE TQ;", ACTIVATED.format("T")),
         reader("I", END) + procedure("RT", "EXEC Unknown;\n"), ""),
        (HEAD + "CREATE EVENT NOTIFICATION N ON QUEUE TQ FOR QUEUE_ACTIVATION TO SERVICE 'X', "
         "'current database';\nGO\n", reader("I", END), ""),
        (HEAD + "CREATE DATABASE E;\nGO\n",
         reader("I", END) + "USE E;\nGO\n" + reader("D.dbo.T", END).replace("RD.dbo.T", "R"), ""),
    ],
)  # fmt: skip
def test_queues_that_nobody_reads(tmp_path: Path, head: str, code: str, message: str) -> None:
    """Only if code of the scripts reads other queues, or the queue activates such code."""
    script = head + procedure("P", BEGIN + SEND) + code
    assert found(tmp_path, script) == ([message] if message else [])


def test_no_reader_at_all_is_no_finding(tmp_path: Path) -> None:
    """Applications may read all queues; dialogs that no code ends are reported as before."""
    assert found(tmp_path, HEAD + procedure("P", BEGIN + SEND + "SELECT 1;\n" + WAIT + END)) == [
        "info: no code of the topology reads TQ, unlike other queues of A/D: messages for T stay "
        "in it"
    ]
    head = HEAD.replace("CREATE SERVICE I ON QUEUE IQ;", "CREATE SERVICE I ON QUEUE OtherQ;")
    end = procedure("P", BEGIN + SEND + "WAITFOR DELAY '0:0:9';\n" + END)
    assert found(tmp_path, head + end) == []
