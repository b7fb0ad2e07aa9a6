"""TA-19 and TA-42: what has expired, what soon will, and who depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.analysis.check import check_topology
from streams.topology import load

from .folders import NOW, report_of, reported

DAY = 24 * 60 * 60


def route(expires: float | str, more: str = "") -> str:
    return f"""
instances:
  A:
    msdb:
      routes:
        - {{name: R, service_name: S, address: 'tcp://B:4022', expires: {expires}}}{more}
"""


ASKS = "\n        - {name: C, service_name: SQL/ServiceBroker/BrokerConfiguration, address: LOCAL}"


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (route(NOW), "warning A/msdb: route R expired on 2026-05-28 20:26 UTC and is ignored"),
        (route(NOW + 7 * DAY), "warning A/msdb: route R expires on 2026-06-04 20:26 UTC"),
        (route(NOW + 7 * DAY + 1), ""),
        (route(NOW - 1, ASKS), "R expired on"),
        (route(NOW + 1, ASKS), ""),  # the configuration service makes a new one
        (route("-1.0e+300"), "expired on an out-of-range date"),
    ],
)
def test_routes(tmp_path: Path, yaml: str, said: str) -> None:
    """A week counts as soon; where routes are made on demand, only dead ones matter."""
    found = reported(tmp_path, "TA-19", yaml)
    assert [said in message for message in found] == [True] * bool(said)


def test_a_script_does_not_say_when_it_was_run(tmp_path: Path) -> None:
    """A LIFETIME counts from its statement; the day that is told is a guess."""
    script = "CREATE ROUTE R WITH SERVICE_NAME = 'S', LIFETIME = 60, ADDRESS = 'TCP://B:4022'"
    (tmp_path / "A.sql").write_text(f"CREATE DATABASE D\nGO\nUSE D\nGO\n{script}", "utf-8")
    [finding] = [f for f in report_of(tmp_path).findings if f.code == "TA-19"]
    assert finding.message == "route R expires on 2026-05-28 20:27 UTC, if it is created now"


def test_how_soon_is_soon(tmp_path: Path) -> None:
    reported(tmp_path, "TA-19", route(NOW + 2 * DAY))
    topology = load(tmp_path, NOW)
    for soon, count in ((DAY, 0), (2 * DAY, 1)):
        assert len(check_topology(topology, NOW, soon=soon).findings) == count


def certificate(dates: str, more: str = "", endpoint: str = "") -> str:
    return f"""
instances:
  A:
    endpoint: {{{endpoint}}}
    databases:
      D:
        certificates: {{C: {{user: U, {dates}}}}}
        {more}
"""


BINDING = "bindings: [{name: B, to_service: T, user: u}]"


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (
            certificate("expires: 2020-01-31"),
            "warning A/D: certificate C expired on 2020-01-31",
        ),
        (certificate("starts: 2099-01-31"), "warning A/D: certificate C is not valid before 2099"),
        (certificate("expires: 2020-01-31", BINDING), "error A/D: certificate C expired"),
        (certificate("expires: 2020-01-31", BINDING.replace("u}", "v}")), "warning A/D"),
        (certificate("expires: 2020-01-31").replace("user: U, ", ""), "warning A/D"),
        (certificate("starts: 2099-01-31", BINDING), "; binding B uses it for dialogs with T"),
        (certificate("expires: 2026-06-01", BINDING), "warning A/D: certificate C expires on"),
        (
            certificate("expires: 2020-01-31", endpoint="authentication: 'CERTIFICATE [C]'"),
            "error A/D: certificate C expired on 2020-01-31 00:00 UTC; the endpoint",
        ),
        (certificate("starts: 2020-01-31, expires: 2099-01-31", BINDING), ""),
        (certificate(f"starts: {NOW}, expires: {NOW + 7 * DAY + 1}"), ""),
        (certificate(f"expires: {NOW}"), "C expired on"),
        (certificate(f"expires: {NOW + 7 * DAY}"), "certificate C expires on"),
    ],
)
def test_certificates(tmp_path: Path, yaml: str, said: str) -> None:
    """An error where something is known to rest on one that is not valid now."""
    found = reported(tmp_path, "TA-42", yaml)
    assert [said in message for message in found] == [True] * bool(said)


def test_evidence(tmp_path: Path) -> None:
    reported(tmp_path, "TA-19", route(NOW))
    [finding] = report_of(tmp_path).findings
    assert finding.evidence == {"route": "R", "service": "S", "broker": None, "expires": NOW}
    assert finding.line == 6
    reported(tmp_path, "TA-19", route(NOW + 1))
    [finding] = report_of(tmp_path).findings
    assert finding.message.endswith("UTC")
