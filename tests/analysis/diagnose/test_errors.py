"""Errors that users have found in logs, traces and queues, each with the place of its question."""

from __future__ import annotations

import pytest

from streams.analysis.diagnose import CAUSES, DIALOG_ERRORS, QUEUES, explain_error, explained_text
from streams.analysis.diagnose.errors import EVENT_PHRASES, STATEMENT_ERRORS

RUSANU = "https://rusanu.com/"
GITHUB = "https://github.com/"
CLOSED = "The query notification dialog on conversation handle '{EC54573A-9978-DC11-961C-}.'"
ACTIVATED = "The activated proc '[dbo].[P]' running on queue 'Shop.dbo.Q' output the following: "
LINES: dict[str, tuple[str, int, str]] = {
    f"{CLOSED} closed due to the following error: '<Error><Code>-8490</Code><Description>x'": (
        RUSANU + "2007/11/10/when-it-rains-it-pours/", -8490, "SqlDependency"
    ),
    f"{CLOSED} closed due to the following error: '<Error> <Code>-8470</Code>'": (
        RUSANU + "2008/01/04/sqldependencyonchange-callback-timing/", -8470, "call Start once"
    ),
    f"{CLOSED} closed due to the following error: '<Error><Code>-8494</Code>'": (
        "https://learn.microsoft.com/answers/questions/549869/adfs-sql-wid-errors", -8494, "GRANT"
    ),
    "<Code>-9616</Code><Description>A message of type 'T' was received and failed XML": (
        "https://techqa.club/v/q/sql-server-service-broker-system-error-9616-when-can-it-happen-"
        "26927952", -9616, "not by SEND"
    ),
    "Error: 28054, Severity: 11, State: 1.": (
        RUSANU + "2007/11/10/when-it-rains-it-pours/", 28054, "CREATE MASTER KEY"
    ),
    "Logon Service Broker login attempt failed with error: 'Connection handshake failed. The "
    "certificate used by this endpoint was not found: Certificate expired. State 85.'": (
        "http://www.andrewing.co.uk/sql-server-service-broker-sssb/", 28036, "ALTER ENDPOINT"
    ),
    "Error: 9768, Severity: 16, State: 1.": (
        "https://support.microsoft.com/help/2483090", 9768, "certificate"
    ),
    f"{ACTIVATED}'The service queue \"XQueue\" is currently disabled.'": (
        "\"Nice way to kill your SQL Server\", 2014-10-16", 9724, "CATCH"
    ),
    f"{ACTIVATED}'The server principal \"R\" is not able to access the database \"Audit\" under "
    "the current security context.'": (
        RUSANU + "2006/03/07/call-a-procedure-in-another-database-from-an-activated-procedure/",
        9724, "sign the procedure"
    ),
    f"{ACTIVATED}'Cannot execute as the database principal because the principal "
    "\"##MS_PolicyEventProcessingLogin##\" does not exist'": (
        "Microsoft, KB 5027331", 9724, "create this user or login"
    ),
    f"{ACTIVATED}'SQLServerAgent Error: Request to run job X refused because it is running'": (
        "a comment of 2016-05-25 in a script for file growth events", 9724, "harmless"
    ),
    "The conversation handle \"1FBDE14B-0A07-EB11-B81C-3CECEF20BFDC\" is not found.": (
        GITHUB + "IsNemoEqualTrue/monitor-table-change-with-sqltabledependency/issues/214",
        8426, "drop the trigger"
    ),
    "Service Broker message delivery is not enabled in this database. Use the ALTER DATABASE": (
        "the documentation of 14650, which sp_send_dbmail raises", 14650, "ENABLE_BROKER"
    ),
    "err 11290 state 3 because of incorrect timeout start.": (
        "http://blogs.msdn.com/remusrusanu, SQL Server 2005 SP2 CU4", 11290, "forwarder"
    ),
    "This message could not be delivered because it is a duplicate.": (
        RUSANU + "2005/12/20/troubleshooting-dialogs/", 11218, "CREATE ROUTE in the target database"
    ),
    "An exception occurred while enqueueing a message in the target queue. Error 15404, State 19. "
    "Could not obtain information about Windows NT group/user 'D\\u', error code 0x5.": (
        "Microsoft, KB 2298248", 15404, "TO [sa]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_explained(line: str) -> None:
    _, number, remedy = LINES[line]
    found = explain_error(line)
    assert found is not None
    assert found.number == number
    assert remedy in found.remedy
    assert found.remedy.split()[-1] in explained_text(found)


def test_a_number_alone_is_explained() -> None:
    for number in DIALOG_ERRORS:
        found = explain_error(f"-{number}")
        assert found is not None and found.number == -number
    for number in (*STATEMENT_ERRORS, *(n for n, _ in EVENT_PHRASES)):
        found = explain_error(str(number))
        assert found is not None and found.number == number
    of_causes = [cause.numbers for cause in CAUSES] + [cause.numbers for cause in QUEUES]
    for numbers in of_causes:
        for number in numbers:
            found = explain_error(str(number))
            assert found is not None and found.number == number


@pytest.mark.parametrize(
    "text", ["", "Login failed for user 'sa'.", "2025-10-12 10:00:00.28054", "1", "Error: 1205"]
)
def test_another_text_has_no_explanation(text: str) -> None:
    assert explain_error(text) is None
