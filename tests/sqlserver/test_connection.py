"""One server's snapshot: what is sent, what is returned, and why there may be none.

No SQL Server runs here: a driver that is passed as an argument stands for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.errors import SurroundingsError
from streams.sqlserver import read_url, take_snapshot
from streams.topology.snapshot import RIGHTS, json_script, load_snapshot
from tests.snapshots import documents, write_json
from tests.sqlserver.driver import DriverError, FakeDriver
from tests.topology.build import shipped

ROOT = Path(__file__).parents[2]
SERVER = read_url("ServerA=mssql://hopline@sql01:1433")
CONNECT = "Client unable to establish connection"
DENIED = "Syntax error or access violation"


def test_the_statement_is_the_script_that_users_can_print() -> None:
    driver = FakeDriver(documents(shipped("two_brokers"))["ServerA"])
    take_snapshot(SERVER, "s3cret", driver)
    assert driver.statements == [json_script()]


def test_a_connection_commits_by_itself_waits_a_limited_time_and_is_closed() -> None:
    driver = FakeDriver(documents(shipped("two_brokers"))["ServerA"])
    take_snapshot(SERVER, "s3cret", driver)
    assert driver.keywords == [
        {"autocommit": True, "timeout": 15, "Server": "sql01,1433", "Database": "master",
         "UID": "hopline", "PWD": "s3cret"}
    ]  # fmt: skip
    assert (driver.timeout, driver.closed) == (300, 1)


def test_a_taken_snapshot_is_read_like_a_file_of_the_same_content(tmp_path: Path) -> None:
    found = {"ServerA": documents(shipped("two_brokers"))["ServerA"]}
    found["ServerA"]["databases"][1]["name"] = "Bestellungen Ä ] ' 😀"
    text = take_snapshot(SERVER, "s3cret", FakeDriver(found["ServerA"]))
    folder = write_json(tmp_path, found)
    file = folder / "ServerA.json"
    assert text == file.read_text(encoding="utf-8")
    taken = load_snapshot(None, {str(file): text})
    assert taken == load_snapshot(folder)
    assert taken.topology.instances["ServerA"].databases["DatabaseA"].routes[0].source.line == 1


def test_the_documented_permissions_are_those_of_the_script() -> None:
    page = (ROOT / "docs" / "diagnose.md").read_text(encoding="utf-8")
    assert f"GRANT {', '.join(RIGHTS)} TO hopline;" in page
    assert all(f"| `{right}` |" in page for right in RIGHTS)
    assert all(right in json_script() for right in RIGHTS[:2])


def failure(driver: FakeDriver, password: str = "s3cret") -> str:
    with pytest.raises(SurroundingsError) as failed:
        take_snapshot(SERVER, password, driver)
    assert failed.value.exit_code == 3
    assert len(str(failed.value).splitlines()) == 2
    return str(failed.value)


MS = "[Microsoft][SQL Server]"


@pytest.mark.parametrize(
    ("error", "shown", "remedy"),
    [
        (DriverError(CONNECT, "[Microsoft]TCP Provider: Error code 0x2749"),
         "TCP Provider: Error code 0x2749.", "Check host and port"),
        (DriverError("Timeout expired", "[Microsoft]Login timeout expired"),
         "Login timeout expired.", "Check host and port"),
        (DriverError("Invalid authorization specification",
                     f"{MS}Login failed for user 'hopline'."),
         "Login failed for user 'hopline'.", "SQLCMDPASSWORD"),
        (DriverError("Invalid authorization specification",
                     f"{MS}Fehler bei der Anmeldung für den Benutzer 'hopline'."),
         "Fehler bei der Anmeldung", "SQLCMDPASSWORD"),
        (DriverError(DENIED, f'{MS}Cannot open database "Shop" requested by the login.'),
         'Cannot open database "Shop"', "Leave /DATABASE out of the URL"),
        (DriverError(CONNECT, "[Microsoft]SSL Provider: certificate verify failed:self-signed"),
         "certificate verify failed", "HostNameInCertificate"),
        (DriverError("Connection operation failed", "Failed to load the driver."),
         "Failed to load the driver.", "libltdl"),
        (DriverError("Failed to acquire an Entra ID access token", "no account"),
         "access token", "Sign in"),
        (ValueError("Invalid value"), "Invalid value.", "Check host and port"),
        (RuntimeError("a\nb"), "a\\nb.", "Check host and port"),
    ],
)  # fmt: skip
def test_a_failed_connection_has_a_text_and_a_remedy(
    error: Exception, shown: str, remedy: str
) -> None:
    text = failure(FakeDriver(refuses=error))
    assert text.startswith("Cannot connect to ServerA (sql01,1433): ")
    assert shown in text and remedy in text.splitlines()[1]


@pytest.mark.parametrize(
    ("error", "shown", "remedy"),
    [
        (DriverError(DENIED, f"{MS}VIEW SERVER STATE permission was denied on object 'server', "
                             "database 'master'."),
         "VIEW SERVER STATE permission was denied", "VIEW ANY DEFINITION"),
        (DriverError(DENIED, f"{MS}The user does not have permission to perform this action."),
         "does not have permission", "CONNECT ANY DATABASE"),
        (DriverError(DENIED, f"{MS}The SELECT permission was denied on the object 'databases'."),
         "SELECT permission was denied", "VIEW SERVER STATE"),
        (DriverError("Timeout expired", "[Microsoft]Query timeout expired"),
         "Query timeout expired", "sqlcmd"),
        (DriverError(DENIED, f"{MS}Incorrect syntax near 'JSON'."),
         "Incorrect syntax near 'JSON'", "--script csv"),
        (DriverError("Communication link failure", "[Microsoft]TCP Provider: closed"),
         "Communication link failure: TCP Provider: closed", "VIEW SERVER STATE"),
    ],
)  # fmt: skip
def test_a_failed_script_has_a_text_and_a_remedy(error: Exception, shown: str, remedy: str) -> None:
    driver = FakeDriver(fails=error)
    text = failure(driver)
    assert text.startswith("The snapshot script failed on ServerA: ")
    assert shown in text and remedy in text.splitlines()[1]
    assert driver.closed == 1


@pytest.mark.parametrize("results", [[], [None], [None, None], [(None,)], [("<?hopline ?>",)]])
def test_a_script_without_a_document_is_reported(results: list[tuple[Any] | None]) -> None:
    driver = FakeDriver(results=results)
    text = failure(driver)
    assert "ServerA returned no snapshot." in text and "VIEW SERVER STATE" in text
    assert driver.closed == 1


@pytest.mark.parametrize("password", ["s3cret", "s3}cret", "s3\ncret"])
@pytest.mark.parametrize("step", ["refuses", "fails"])
def test_no_error_shows_the_password(password: str, step: str) -> None:
    quoted = password.replace("}", "}}")
    told = f"PWD={{{quoted}}};PWD={password}: {'x' * 400}"
    for error in (DriverError(CONNECT, told), ValueError(told), DriverError(told, "")):
        text = failure(FakeDriver(**{step: error}), password)
        assert "cret" not in text and "***" in text
