"""`flows` fails for what `check` reports as an error, and for nothing else (decision 53)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from streams.analysis import survey_flows
from streams.analysis.check import check_topology
from streams.cli import main
from streams.topology import Severity, Topology
from tests.topology.build import NOW, write

from .networks import estates

HERE = """\
CREATE DATABASE DA;
GO
USE DA;
CREATE QUEUE Q;
CREATE SERVICE I ON QUEUE Q;
"""
THERE = """\
CREATE DATABASE DB;
GO
USE DB;
CREATE QUEUE Q;
CREATE SERVICE S ON QUEUE Q ([DEFAULT]);
GRANT SEND ON SERVICE::S TO public;
"""
ROUTE = "CREATE ROUTE R WITH SERVICE_NAME = '{}', {} ADDRESS = 'TCP://{}:4022';\n"
TO_B, TO_A = ROUTE.format("S", "", "B"), ROUTE.format("I", "", "A")
ID = "BROKER_INSTANCE = '5f0a4c1e-0d5c-4c1b-9f0e-000000000001',"
CODE = """\
GO
CREATE PROCEDURE P AS
DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE {} TO SERVICE 'S'{} WITH ENCRYPTION = OFF;
END CONVERSATION @h;
GO
"""
UNKNOWN = CODE.format("I", "{}").replace("'S'", "'U'")


@pytest.mark.parametrize(
    ("here", "there", "codes"),
    [
        (TO_B, TO_A, (0, 0)),
        # An unknown address, also of acknowledgements
        (ROUTE.format("S", "", "Elsewhere"), TO_A, (0, 1)),
        (TO_B, ROUTE.format("I", "", "Elsewhere"), (0, 1)),
        (ROUTE.format("S", "", "B.corp.local"), TO_A, (0, 0)),  # assumed to be B
        # Ids that scripts do not contain
        (ROUTE.format("S", ID, "B"), TO_A, (0, 1)),
        (TO_B + CODE.format("I", ", '5f0a4c1e-0d5c-4c1b-9f0e-000000000001'"), TO_A, (0, 1)),
        (TO_B, "", (0, 1)),
        # A service that no database of the topology has: with an id, another one may have it
        (ROUTE.format("U", "", "B") + UNKNOWN.format(", '5f0a4c1e-0d5c-4c1b-9f0e-000000000001'"),
         TO_A, (0, 1)),
        (ROUTE.format("U", "", "B") + UNKNOWN.format(""), TO_A, (1, 1)),
        # No service from which to begin; a statement that is not known may create it
        (TO_B + CODE.format("J", ""), TO_A, (1, 1)),
        (TO_B + "EXEC (@later);\n" + CODE.format("J", ""), TO_A, (0, 1)),
        # A certain failure: no route, a wrong port, no permission
        (CODE.format("I", ""), TO_A, (1, 1)),
        (TO_B.replace("4022", "1433"), TO_A, (1, 1)),
        # Procedures alone, whose services and routes other scripts may create
        ("DROP SERVICE I;\n" + CODE.format("I", ""), TO_A, (0, 1)),
        (TO_B + CODE.format("I", ""), TO_A + "REVOKE SEND ON SERVICE::S FROM public;\n", (1, 1)),
    ],
)  # fmt: skip
def test_exit_codes(tmp_path: Path, here: str, there: str, codes: tuple[int, int]) -> None:
    """The codes are those of both commands by default, and of flows --fail-on warning."""

    def code(*words: str) -> int:
        return CliRunner().invoke(main, words, catch_exceptions=False).exit_code

    write(tmp_path, A=HERE + here, B=THERE + there)
    estate = str(tmp_path / "estate")
    scripts = [f"{name}={tmp_path / name}.sql" for name in "AB"]
    code("import", *scripts, "--output", estate)
    found = (code("check", estate), code("flows", estate, "--fail-on", "warning"))
    assert found == codes
    assert code("flows", estate) == codes[0]
    if codes == (0, 1):
        assert code("check", estate, "--fail-on", "warning") == 1


def test_a_flow_that_may_fail_is_named(tmp_path: Path) -> None:
    write(tmp_path, A=HERE + ROUTE.format("S", "", "Elsewhere"), B=THERE + TO_A)
    shown = CliRunner().invoke(main, ["flows", str(tmp_path)]).stdout
    assert "I -> S: broken, not certain\n" in shown
    shown = CliRunner().invoke(main, ["flows", str(tmp_path), "--format", "json"]).stdout
    [flow] = json.loads(shown)["flows"]
    assert (flow["verdict"], flow["certain"]) == ("broken", False)


@given(estates())
@settings(max_examples=30)
def test_a_flow_fails_for_certain_by_an_error_about_it(topology: Topology) -> None:
    survey = survey_flows(topology, NOW)
    errors = [f for f in check_topology(topology, NOW).findings if f.severity is Severity.ERROR]
    for answer in survey.answers:
        certain = answer.flow.key in survey.certain
        about = any(str(answer.flow) in finding.evidence.get("flows", ()) for finding in errors)
        assert not about or certain or answer.verdict.value == "ok"
        assert errors or not certain
