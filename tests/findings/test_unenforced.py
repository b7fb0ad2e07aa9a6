"""What SQL Server enforces and the workers do not is told, wherever it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.analysis.check.unenforced import unenforced, unenforced_of
from streams.analysis.estate import Estate
from streams.cli import main
from streams.cli.unenforced import report_unenforced
from streams.topology import Database, Instance, Topology, load

ENDPOINT = "CREATE ENDPOINT E STATE = STARTED AS TCP (LISTENER_PORT = 4022) FOR SERVICE_BROKER ("
BINDING = "CREATE REMOTE SERVICE BINDING B TO SERVICE 'S' WITH USER = U;"
DIALOG = "CREATE PROCEDURE P AS BEGIN DIALOG @h FROM SERVICE S TO SERVICE 'T'"
GRANT = "GRANT SEND ON SERVICE::S TO"
BEGIN = """CREATE DATABASE D;
GO
USE D;
GO
CREATE QUEUE Q;
CREATE SERVICE S ON QUEUE Q ([DEFAULT]);
CREATE USER U WITHOUT LOGIN;
GO
"""


def reported(folder: Path, statement: str) -> list[str]:
    (folder / "A.sql").write_text(BEGIN + statement + "\nGO\n")
    return [found.message for found in unenforced(Estate(load(folder, 0.0), 0.0))]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DENY SEND ON SERVICE::S TO U;", "DENY SEND on service S"),
        (f"{GRANT} U;", "GRANT SEND on service S"),
        (f"{GRANT} U; {GRANT} public;", "GRANT SEND on service S"),
        (BINDING, "remote service binding B"),
        ("CREATE CERTIFICATE C FROM FILE = 'c.cer';", "certificate C encrypts and signs nothing"),
        (f"{ENDPOINT}AUTHENTICATION = WINDOWS, ENCRYPTION = REQUIRED);", "encryption required"),
        (f"{ENDPOINT}AUTHENTICATION = CERTIFICATE C);", "requires CERTIFICATE"),
        ("ALTER QUEUE Q WITH RETENTION = ON;", "RETENTION = ON of queue Q"),
        ("ALTER DATABASE D SET HONOR_BROKER_PRIORITY ON;", "HONOR_BROKER_PRIORITY ON"),
        (f"{DIALOG} WITH ENCRYPTION = ON, LIFETIME = 60;", "P begins dialogs WITH ENCRYPTION = ON"),
    ],
)
def test_each_is_told_once(tmp_path: Path, statement: str, said: str) -> None:
    [message] = reported(tmp_path, statement)
    assert message.startswith("not enforced by Hopline: ")
    assert said in message


@pytest.mark.parametrize("settings", ["", " WITH ENCRYPTION = OFF", " WITH LIFETIME = 60"])
def test_what_nobody_has_written_is_not_told(tmp_path: Path, settings: str) -> None:
    """ENCRYPTION = ON is the default, too: then nobody has asked for it."""
    assert not reported(tmp_path, "")
    assert not reported(tmp_path, f"{DIALOG}{settings};")


def test_import_says_it(tmp_path: Path) -> None:
    reported(tmp_path, "DENY SEND ON SERVICE::S TO U;")
    done = CliRunner().invoke(
        main, ["import", f"A={tmp_path / 'A.sql'}", "--output", str(tmp_path / "made")]
    )
    assert done.exit_code == 0
    assert "A.sql:9: not enforced by Hopline: DENY SEND on service S" in done.stderr
    assert "not enforced" not in done.stdout


def test_apply_says_it_before_anything_is_done(tmp_path: Path) -> None:
    """It was taken in silence: whoever denied SEND was not told that everybody may send."""
    reported(tmp_path, "DENY SEND ON SERVICE::S TO U;")
    words = ["apply", str(tmp_path), "--bootstrap", "127.0.0.1:1", "--timeout", "1", "--dry-run"]
    done = CliRunner().invoke(main, words)
    assert "A.sql:9: not enforced by Hopline: DENY SEND on service S" in done.output


def test_each_kind_has_its_own_remedy(tmp_path: Path) -> None:
    reported(tmp_path, "DENY SEND ON SERVICE::S TO U; ALTER QUEUE Q WITH RETENTION = ON;")
    done = CliRunner().invoke(
        main, ["import", f"A={tmp_path / 'A.sql'}", "--output", str(tmp_path / "made")]
    )
    assert "Control access with Kafka ACLs" in done.stderr
    assert "must store what it has sent" in done.stderr


def test_a_setting_without_a_place_names_its_database(capsys: pytest.CaptureFixture[str]) -> None:
    """ALTER DATABASE of a database that no script creates has no line."""
    database = Database("D", "B", honor_priority=True)
    topology = Topology({"I": Instance("I", databases={"D": database}, msdb=Database("msdb", "M"))})
    report_unenforced(unenforced_of(topology, 0.0))
    assert capsys.readouterr().err.startswith("hopline: I/D: not enforced by Hopline: HONOR_BROKER")
