"""TA-01, TA-02 and TA-04: a flow that code begins is told at its BEGIN DIALOG."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import Severity

from .folders import report_of, reported

SCRIPT = """\
CREATE DATABASE D;
GO
USE D;
CREATE QUEUE Q;
CREATE SERVICE S ON QUEUE Q;
GO
{}
GO
CREATE PROCEDURE P AS
  BEGIN DIALOG @h FROM SERVICE [S] TO SERVICE 'T';
  END CONVERSATION @h;
GO
"""


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("DROP ROUTE AutoCreatedLocal;", "TA-01", (10, 3)),
        ("", "TA-02", (10, 3)),
        # A route that somebody wrote is what to look at.
        ("CREATE ROUTE R WITH SERVICE_NAME = 'T', ADDRESS = 'LOCAL';", "TA-02", (7, 1)),
    ],
)
def test_the_place_of_what_code_begins(
    tmp_path: Path, statement: str, code: str, place: tuple[int, int]
) -> None:
    (tmp_path / "A.sql").write_text(SCRIPT.format(statement), encoding="utf-8")
    [found] = [f for f in report_of(tmp_path).findings if f.code == code]
    assert (found.line, found.column) == place


ELSEWHERE = """
instances:
  A:
    databases:
      D:
        services: {{I: {{queue: Q, contracts: []}}}}
        routes: [{{name: R, service_name: S{id}, address: 'tcp://B:4022'}}]
        procedures: {{P: {{ends: 1, begins: [{{service: I, to: S{broker}}}]}}}}
  B:
    databases: {{E: {{broker_id: E, services: [{service}]}}}}
"""


@pytest.mark.parametrize(
    ("id", "broker", "service", "said"),
    [
        (", broker_instance: X", "", "S", "error A/D: route R names broker id X for S"),
        (", broker_instance: X", "", "Other", "warning A/D: route R names broker id X for S"),
        ("", ", broker: X", "S", "error A/D: dialogs from A/D/I to S name broker id X"),
        ("", ", broker: X", "Other", "warning A/D: dialogs from A/D/I to S name broker id X"),
    ],
)
def test_an_unknown_id_of_an_unknown_service(
    tmp_path: Path, id: str, broker: str, service: str, said: str
) -> None:
    """If no database of the topology has the service, another database may have the id."""
    [found] = reported(tmp_path, "TA-04", ELSEWHERE.format(id=id, broker=broker, service=service))
    assert found.startswith(said)


PART = """
instances:
  A:
    databases:
      D:
        services: {services}
        {own}
        procedures: {{P: {{ends: 1, begins: [{{service: I, to: T}}]}}}}
"""


@pytest.mark.parametrize(
    ("services", "severity"), [("{}", "warning"), ("{I: {queue: Q}}", "error")]
)
@pytest.mark.parametrize(
    ("code", "own"), [("TA-01", "auto_created_local: false"), ("TA-02", "routes: []")]
)
def test_code_of_a_database_that_shows_no_service(
    tmp_path: Path, code: str, own: str, services: str, severity: str
) -> None:
    """Scripts with procedures alone are a part of a database: its routes may be elsewhere too."""
    [found] = reported(tmp_path, code, PART.format(services=services, own=own))
    assert found.startswith(f"{severity} A/D")


DEMO = """\
CREATE DATABASE D;
GO
USE D;
CREATE QUEUE Q;
CREATE SERVICE Own ON QUEUE Q;
CREATE SERVICE [//Demo/Initiator] ON QUEUE Q;
GO
CREATE PROCEDURE SendInvoice AS
  BEGIN DIALOG @h FROM SERVICE [//Demo/Initiator] TO SERVICE '//Demo/Target';
  END CONVERSATION @h;
GO
{}
"""


@pytest.mark.parametrize(
    ("drop", "severity"), [("", "error"), ("DROP SERVICE [//Demo/Initiator];", "warning")]
)
def test_code_that_a_demo_leaves_behind(tmp_path: Path, drop: str, severity: str) -> None:
    """A demo drops its services, but not its procedure: no message waits for a route.

    (github.com/totkin/MS-SQL-Server-Developer, homework_15/_work/exp/Expiriense01.sql)
    """
    (tmp_path / "A.sql").write_text(DEMO.format(drop), encoding="utf-8")
    found = {f.code: f.severity.value for f in report_of(tmp_path).findings}
    assert found["TA-02"] == severity
    assert found.get("TA-50") == ("error" if drop else None)


def test_a_database_without_services_sends_its_event_notifications(tmp_path: Path) -> None:
    """The engine's own service sends them, so the missing route is an error."""
    (tmp_path / "A.sql").write_text(
        "CREATE DATABASE D;\nGO\nUSE D;\nCREATE EVENT NOTIFICATION N ON DATABASE\n"
        "  FOR CREATE_TABLE TO SERVICE 'T', 'CURRENT DATABASE';\n",
        encoding="utf-8",
    )
    [found] = [f for f in report_of(tmp_path).findings if f.code == "TA-02"]
    assert found.severity is Severity.ERROR


LACKING = """
instances:
  A:
    databases:
      O: {{broker_id: O}}
      D:
        services: {{I: {{queue: Q, contracts: []}}}}
        procedures: {{P: {{ends: 1, begins: [{{service: I, to: S{}}}]}}}}
"""


@pytest.mark.parametrize(
    ("broker", "said"),
    [
        (", broker: O", "answers with Error -8490"),
        ("", "the first message stays in the transmission queue"),
    ],
)
def test_a_database_that_lacks_the_service_answers(tmp_path: Path, broker: str, said: str) -> None:
    """TA-02: the dialog ends if BEGIN names the broker id of a database here, else it waits."""
    (tmp_path / "topology.yaml").write_text(LACKING.format(broker), encoding="utf-8")
    [found] = [f for f in report_of(tmp_path).findings if f.code == "TA-02"]
    assert said in found.message
