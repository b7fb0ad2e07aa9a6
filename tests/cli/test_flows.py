"""`hopline flows`: exit codes and formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["flows", *args])


@pytest.mark.parametrize(
    ("name", "code"), [("combined", 0), ("several_targets", 1), ("routing_loop", 1)]
)
def test_bad_news_is_exit_code_1(name: str, code: int) -> None:
    for more in ([], ["--format", "json"], ["--format", "mermaid"]):
        assert run(name, *more).exit_code == code


def test_json_stands_alone_on_stdout() -> None:
    result = run("combined", "--format", "json")
    [flow] = json.loads(result.stdout)["flows"]
    assert [reached["share"] for reached in flow["reached"]] == [0.5, 0.5]
    assert [reached["redundancy"] for reached in flow["reached"]] == [2, 2]
    assert result.stderr == ""


def test_no_match_is_wrong_use() -> None:
    """It says what to do, on stderr; no topology is wrong use too."""
    result = run("combined", "--from", "ServerX")
    assert result.exit_code == 2 and "No flow matches" in result.stderr
    assert run("nowhere").exit_code == 2


ROUTES = "name,remote_service_name,address\nR,Store,TCP://SRVB:4022\nAutoCreatedLocal,,LOCAL\n"
SCRIPT = "USE Shop; CREATE ROUTE R WITH SERVICE_NAME = 'Store', ADDRESS = 'TCP://SRVB:4022';"


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        ("Shop.routes.csv", ROUTES, "SRVA/Shop"),
        ("msdb.routes.csv", ROUTES, "SRVA"),
        ("sys.routes.csv", ROUTES, "SRVA"),  # its rows name no database, and are ignored
        ("shop.sql", SCRIPT, "SRVA/Shop"),
    ],
)
def test_nothing_but_routes(tmp_path: Path, file: str, text: str, place: str) -> None:
    """Without services, it is unknown which flows there are; neither command reports an error."""
    (tmp_path / file).write_text(text, encoding="utf-8")
    estate = tmp_path / "estate"
    CliRunner().invoke(main, ["import", f"SRVA={tmp_path / file}", "--output", str(estate)])
    result = run(str(estate))
    assert result.exit_code == 0
    assert result.stdout.startswith("flows unknown; ") and "0 flows" not in result.stdout
    assert f"services unknown: {place}; " in result.stdout
    found = json.loads(run(str(estate), "--format", "json").stdout)
    assert (found["flows"], found["services_unknown"]) == ([], [place])
    assert found["summary"]["services_unknown"] == 1
    assert run(str(estate), "--from", "SRVA").exit_code == 0
    assert run(str(estate), "--from", "SRVB").exit_code == 2
    assert CliRunner().invoke(main, ["check", str(estate)]).exit_code == 0
