"""TA-26 to TA-29: addresses that lead elsewhere than they seem to."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main

from .folders import report_of, reported


@pytest.mark.parametrize(
    ("address", "count"),
    [
        ("tcp://A:4022", 1),
        ("tcp://127.0.0.1:4022", 1),
        ("tcp://alias", 1),
        ("tcp://A:4023", 0),  # another instance of the machine
        ("tcp://listener:4022", 0),  # leads here only as long as this replica is the primary
        ("tcp://B:4022", 0),
        ("LOCAL", 0),
        ("no address", 0),
    ],
)
def test_loop_backs(tmp_path: Path, address: str, count: int) -> None:
    yaml = f"""
instances:
  A:
    aliases: [alias]
    listeners: ['tcp://listener:4022']
    databases: {{D: {{routes: [{{name: R, service_name: S, address: '{address}'}}]}}}}
    msdb: {{routes: [{{name: R, service_name: S, address: '{address}'}}]}}
"""
    found = reported(tmp_path, "TA-26", yaml)
    assert len(found) == count
    assert all(message.startswith("warning A/D: route R (") for message in found)


TRANSPORT = """
instances:
  A:
    databases:
      D:
        broker_id: D
        auto_created_local: false
        services: {{'{initiator}': {{contracts: []}}}}
        routes: [{{name: ToHub, address: 'tcp://Hub:4022'}}]
  Hub:
    endpoint: {{forwarding: true}}
    msdb:
      auto_created_local: false
      routes:
        - {{name: ByName, address: TRANSPORT}}
        - {{name: More, service_name: {more}, address: 'tcp://{to}:4022'}}
  B:
    databases:
      E:
        auto_created_local: false
        services: ['{target}']
        routes: [{{name: ToHub, address: 'tcp://Hub:4022'}}]
expect: [{{from: A/D, to: '{target}'}}]
"""
BY_NAME = {"initiator": "tcp://A:4022/I", "target": "tcp://B:4022/T", "more": "X", "to": "C"}


@pytest.mark.parametrize(
    ("names", "ta27", "ta28"),
    [
        (BY_NAME, "", ""),
        ({**BY_NAME, "target": "T"}, "error Hub/msdb: route ByName takes the address from", ""),
        ({**BY_NAME, "target": "T", "more": "T", "to": "B"}, "", ""),
        ({**BY_NAME, "initiator": "I"}, "but I contains no address", ""),
        (
            {**BY_NAME, "initiator": "I", "more": "I", "to": "A"},
            "",
            "warning A/D: messages from I to tcp://B:4022/T take their address from the "
            "service name (Hub/msdb/ByName)",
        ),
    ],
)
def test_transport(tmp_path: Path, names: dict[str, str], ta27: str, ta28: str) -> None:
    """An error where nothing else leads on, a warning where a route back makes up for it."""
    yaml = TRANSPORT.format(**names)
    for code, said in (("TA-27", ta27), ("TA-28", ta28)):
        found = reported(tmp_path, code, yaml)
        assert [said in message for message in found] == [True] * bool(said)


MIRRORED = """
instances:
  A: {{databases: {{D: {{routes: [{{name: R, service_name: S{broker}, address: '{address}'}}]}}}}}}
  P1:
    listeners: [{listeners}]
    databases: {{O: {{broker_id: O, mirror: {{pair: P}}, services: [S]}}}}
"""


@pytest.mark.parametrize(
    ("broker", "address", "listeners", "count"),
    [
        ("", "tcp://P1:4022", "", 1),
        (", broker_instance: O", "tcp://P1:4022", "", 1),
        (", broker_instance: X", "tcp://P1:4022", "", 0),
        (", broker_instance: O, mirror_address: 'tcp://P2:4022'", "tcp://P1:4022", "", 0),
        ("", "tcp://L:4022", "'tcp://L:4022'", 0),
        ("", "tcp://P1:4022", "'tcp://L:4022'", 1),
        ("", "tcp://P2:4022", "", 0),
    ],
)
def test_mirrored(tmp_path: Path, broker: str, address: str, listeners: str, count: int) -> None:
    yaml = MIRRORED.format(broker=broker, address=address, listeners=listeners)
    found = reported(tmp_path, "TA-29", yaml)
    assert len(found) == count
    assert all("route R leads only to P1, but O there is mirrored" in said for said in found)


def test_a_database_beside_a_mirrored_one(tmp_path: Path) -> None:
    """Only the database that the route is for matters."""
    yaml = MIRRORED.format(broker="", address="tcp://P1:4022", listeners="")
    beside = yaml.replace("services: [S]}", "services: [T]}, N: {services: [S]}")
    assert reported(tmp_path, "TA-29", beside) == []


MACHINE = """
instances:
  A:
    databases:
      D:
        services: {{I: {{contracts: []}}}}
        routes: [{{name: R, service_name: S, address: '{address}'}}]
  B:
    {b}
    databases:
      E: {{services: [S], routes: [{{name: Back, service_name: I, address: 'tcp://A:4022'}}]}}
"""


@pytest.mark.parametrize(
    ("address", "b", "code", "remedy"),
    [
        ("tcp://localhost:4023", "endpoint: {port: 4023}", "TA-06",
         "Write tcp://B:4023. If B runs on the machine of A, list localhost under its aliases:"),
        ("tcp://A:4023", "endpoint: {port: 4023}", "TA-06",
         "Write tcp://B:4023. If B runs on the machine of A, list A under its aliases:"),
        ("tcp://localhost:4024", "endpoint: {port: 4023}", "TA-06",
         "Write the address of the instance that is meant."),
        ("tcp://B:4022", "endpoint: {port: 4023}", "TA-06", "Write tcp://B:4023, or correct"),
        ("tcp://b.corp.local:4022", "partitions: 1", "TA-05",
         "If b.corp.local is another name of B, list it under aliases: of the instance"),
        ("tcp://localhost:4023", "endpoint: {port: 4023}\n    aliases: [localhost]", None, ""),
    ],
)  # fmt: skip
def test_remedies_name_the_instance_that_is_meant(
    tmp_path: Path, address: str, b: str, code: str | None, remedy: str
) -> None:
    """No remedy leads a route back to its own instance."""
    text = MACHINE.format(address=address, b=b)
    (tmp_path / "topology.yaml").write_text(text, encoding="utf-8")
    found = [f for f in report_of(tmp_path).findings if f.code in ("TA-05", "TA-06")]
    assert [f.code for f in found] == ([] if code is None else [code])
    assert all(remedy in f.remedy for f in found)


BESIDE = """\
CREATE DATABASE TestDB;
GO
USE TestDB;
CREATE QUEUE TestInitiatorQueue;
CREATE SERVICE TestInitiator ON QUEUE TestInitiatorQueue ([DEFAULT]);
CREATE ROUTE TestRoute WITH SERVICE_NAME = 'TestTarget', ADDRESS = 'TCP://{}:4567';
GO
CREATE PROCEDURE P AS
  BEGIN DIALOG @h FROM SERVICE TestInitiator TO SERVICE 'TestTarget' WITH ENCRYPTION = OFF;
  END CONVERSATION @h;
GO
"""


@pytest.mark.parametrize(
    ("host", "severity"), [("localhost", "warning"), ("A", "warning"), ("B", "error")]
)
def test_another_instance_on_the_machine(tmp_path: Path, host: str, severity: str) -> None:
    """A script's port of its own host may be that of an instance whose scripts were not given.

    (A public script for localhost\\SQLDEV01 with a route to TCP://localhost:4567.)
    """
    (tmp_path / "A.sql").write_text(BESIDE.format(host), encoding="utf-8")
    (tmp_path / "B.sql").write_text("CREATE DATABASE E;\n", encoding="utf-8")
    [found] = [f for f in report_of(tmp_path).findings if f.code == "TA-06"]
    assert found.severity.value == severity
    remedy = "If another instance on the machine of A listens on port 4567, import its scripts"
    assert (remedy in found.remedy) == (severity == "warning")
    certain = CliRunner().invoke(main, ["flows", str(tmp_path)]).exit_code
    assert certain == (1 if severity == "error" else 0)
