"""`hopline flows`: exit codes and formats."""

from __future__ import annotations

import json

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
