"""`hopline path`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.resources import topologies_dir

SENDER = ["--from", "ServerA/DatabaseA", "--to", "TargetService"]


def run(name: str, *args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["path", str(topologies_dir() / name), *args])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("name", "to", "code", "verdict"),
    [
        ("combined", "TargetService", 0, "ok"),
        ("several_targets", "TargetService", 1, "hazard"),
        ("routing_loop", "Svc", 1, "broken"),
    ],
)
def test_exit_codes_follow_the_verdict(name: str, to: str, code: int, verdict: str) -> None:
    """broken and hazard are exit code 1, and the JSON is printed all the same."""
    found, out, err = run(name, *SENDER[:2], "--to", to, "--format", "json")
    assert (found, err, json.loads(out)["verdict"]) == (code, "", verdict)


def test_text_and_mermaid() -> None:
    """People get a tree, diagrams a flow chart."""
    _, out, _ = run("combined", *SENDER)
    assert "4 paths" in out and "└─ delivered to ServerC/DatabaseC" in out
    _, out, _ = run("combined", *SENDER, "--format", "mermaid")
    assert out.startswith("flowchart LR") and 'n0["ServerA"]' in out and "-.->" in out


def test_a_list_of_no_paths_is_the_verdict_alone() -> None:
    code, out, _ = run("combined", *SENDER, "--limit", "0", "--format", "json")
    answer = json.loads(out)
    assert (code, answer["outcomes"], answer["ways"], answer["truncated"]) == (0, [], 4, True)


def test_limit_and_conversation() -> None:
    """--limit cuts the list, --conversation the paths."""
    _, out, _ = run("combined", *SENDER, "--limit", "1", "--format", "json")
    answer = json.loads(out)
    assert (len(answer["outcomes"]), answer["ways"], answer["truncated"]) == (1, 4, True)
    conversation = ["--conversation", "7e5a1c0e-8f1b-4e0e-9a53-5c3f5d1f6a10"]
    _, out, _ = run("combined", *SENDER, *conversation, "--format", "json")
    assert json.loads(out)["ways"] == 2
    _, out, _ = run("combined", *SENDER, "--broker", "DatabaseC", "--format", "json")
    assert {o["broker"] for o in json.loads(out)["outcomes"]} == {"DatabaseC"}


def test_wrong_use() -> None:
    """An unknown service of the sender is named with the ones that there are."""
    code, out, err = run("combined", "--from", "ServerA/DatabaseA/Initiator", "--to", "S")
    assert (code, out) == (2, "") and "Did you mean 'InitiatorService'" in err


def test_a_service_that_nobody_has_may_be_a_typo() -> None:
    """The answer is true all the same: so would the routes decide."""
    code, out, err = run("combined", *SENDER[:2], "--to", "TargetServic")
    assert code == 1 and "9796" in out
    assert err == (
        "hopline: warning: no database of this topology has a service 'TargetServic'. "
        "Did you mean 'TargetService'?\n"
    )
    assert run("combined", *SENDER[:2], "--to", "//far/Orders")[2] == (
        "hopline: warning: no database of this topology has a service '//far/Orders'. "
        "The topology has: InitiatorService and TargetService.\n"
    )


def test_an_unknown_broker_id_is_reported() -> None:
    args = ("combined", *SENDER[:2], "--to", "TargetService")
    assert run(*args, "--broker", "DatabaseB")[2] == ""
    assert run(*args, "--broker", "Nope")[2] == (
        "hopline: warning: no database of this topology has the broker id 'Nope'. "
        "The topology has: DatabaseA, DatabaseB and DatabaseC.\n"
    )
