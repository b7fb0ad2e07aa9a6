"""`hopline explain`."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.resources import topologies_dir

BALANCED = str(topologies_dir() / "load_balanced")
AT = ["--at", "ServerA/DatabaseA"]


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["explain", *args])
    return result.exit_code, result.stdout, result.stderr


def test_json_goes_to_stdout_alone() -> None:
    """The answer has the contract's shape, and the exit code is 0 where the message gets on."""
    code, out, err = run(BALANCED, *AT, "--to", "TargetService", "--format", "json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["verdict"] == "send" and answer["alternatives"] == ["DatabaseB", "DatabaseC"]


def test_options_reach_the_question() -> None:
    """Broker id, conversation, origin and side are asked as given."""
    conversation = "7e5a1c0e-8f1b-4e0e-9a53-5c3f5d1f6a10"
    args = ["--broker", "DatabaseB", "--conversation", conversation, "--outside", "--from-target"]
    _, out, _ = run(BALANCED, "--at", "ServerB", "--to", "S", *args, "--format", "json")
    assert json.loads(out)["query"] == {
        "service": "S", "broker": "DatabaseB", "origin": "outside", "from": "target",
        "conversation": conversation,
    }  # fmt: skip


def test_bad_news_are_exit_code_1_with_the_answer() -> None:
    """A delayed message is exit code 1, and the JSON is printed all the same."""
    code, out, _ = run(BALANCED, *AT, "--to", "Nothing", "--format", "json")
    assert code == 1 and json.loads(out)["error"] == 9796
    code, out, _ = run(BALANCED, *AT, "--to", "Nothing")
    assert code == 1 and "9796" in out


def test_an_unknown_service_or_broker_id_is_reported() -> None:
    """The answer stays the same: a server would decide like this."""
    has = "hopline: warning: no database of this topology has"
    code, out, err = run(BALANCED, *AT, "--to", "Nope")
    assert (code, err) == (
        1, f"{has} a service 'Nope'. The topology has: InitiatorService and TargetService.\n",
    )  # fmt: skip
    assert "9796" in out
    code, out, err = run(BALANCED, *AT, "--to", "TargetService", "--broker", "databaseb")
    assert (code, err) == (1, f"{has} the broker id 'databaseb'. Did you mean 'DatabaseB'?\n")
    err = run(BALANCED, *AT, "--to", "TARGETSERVICE")[2]
    assert err == f"{has} a service 'TARGETSERVICE'. Did you mean 'TargetService'?\n"


def test_many_known_services_are_clipped(tmp_path: Path) -> None:
    services = ", ".join(f"S{n}" for n in range(10, 20))
    text = f"instances: {{A: {{databases: {{D: {{services: [{services}]}}}}}}}}"
    (tmp_path / "topology.yaml").write_text(text)
    _, _, err = run(str(tmp_path), "--at", "A/D", "--to", "Nope")
    assert err.endswith("The topology has: S10, S11, S12, S13, S14 and 5 more.\n")


def test_a_guid_as_broker_id_is_known_in_any_form(tmp_path: Path) -> None:
    guid = "ea92d710-999a-5709-8950-e759d940ab0a"
    text = f"instances: {{A: {{databases: {{D: {{broker_id: {guid}, services: [S]}}}}}}}}"
    (tmp_path / "topology.yaml").write_text(text)
    args = (str(tmp_path), "--at", "A/D", "--to", "S")
    assert run(*args, "--broker", guid.upper())[2] == ""
    assert guid in run(*args, "--broker", guid.replace("e", "f"))[2]


def test_the_only_broker_id_is_not_shown_as_a_choice() -> None:
    for more in ((), ("--conversation", str(uuid.uuid4()))):
        _, out, _ = run("two_brokers", *AT, "--to", "TargetService", *more)
        assert "  PICK  DatabaseB is the only broker id [TargetRoute]\n" in out
        assert "  one of DatabaseB" not in out
    _, out, _ = run(BALANCED, *AT, "--to", "TargetService")
    assert "  one of DatabaseB, DatabaseC, by the conversation id\n" in out
    assert "  (the output assumes DatabaseB; see --conversation)\n" in out


def test_the_text_names_the_rule_of_the_endpoint_by_its_number() -> None:
    """JSON keeps the published name."""
    args = (BALANCED, *AT, "--to", "TargetService")
    out = run(*args)[1]
    assert "  R8.6  the endpoint is started\n" in out and "STOPPED" not in out
    trace = json.loads(run(*args, "--format", "json")[1])["trace"]
    assert "STOPPED" in [step["rule"] for step in trace]


def test_a_shipped_topology_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is no folder here may be that of a shipped topology."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("load_balanced", *AT, "--to", "TargetService")
    assert code == 0 and "LoadBalancingRoute1" in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((BALANCED, "--at", "ServerX/D", "--to", "S"), "ServerA, ServerB, ServerC"),
        ((BALANCED, "--at", "ServerA/Database", "--to", "S"), "Did you mean 'DatabaseA'"),
        ((BALANCED, "--at", "ServerA", "--to", "S"), "--outside"),
        ((BALANCED, *AT), "--to"),
        ((BALANCED, *AT, "--to", "S", "--conversation", "x"), "not a GUID"),
        (("combinde", *AT, "--to", "S"), "Did you mean 'combined'"),
        (("no/where", *AT, "--to", "S"), "no topology at no/where.\n  Give a folder"),
        (("no/hub", *AT, "--to", "S"), "at no/hub.\n  Did you mean the shipped topology 'hub'?"),
        (("/no/hub", *AT, "--to", "S"), "at /no/hub.\n  Did you mean the shipped topology 'hub'?"),
    ],
)
def test_wrong_use_is_exit_code_2(args: tuple[str, ...], message: str) -> None:
    """Wrong use says what is known, on stderr, with exit code 2 and without a traceback."""
    code, out, err = run(*args)
    assert (code, out) == (2, "") and message in err and "Traceback" not in err


def test_a_script_is_no_topology(tmp_path: Path) -> None:
    """A script in place of a topology is an error with the remedy."""
    (tmp_path / "a.sql").touch()
    code, _, err = run(str(tmp_path / "a.sql"), *AT, "--to", "S")
    assert code == 2 and "hopline import NAME=" in err


def test_an_unreadable_topology_is_exit_code_2(tmp_path: Path) -> None:
    """What cannot be parsed says file, line and column."""
    (tmp_path / "topology.yaml").write_text("instances:\n  A: {adress: x}\n")
    code, _, err = run(str(tmp_path), *AT, "--to", "S")
    assert code == 2 and "topology.yaml:2:7" in err and "Did you mean 'address'" in err
