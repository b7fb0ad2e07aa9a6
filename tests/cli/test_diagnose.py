"""`hopline diagnose`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from streams.cli import main
from tests.analysis.diagnose.example import FOLDER
from tests.snapshots import documents, write_csv, write_json
from tests.topology.build import shipped


def run(*args: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["diagnose", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def test_something_stuck_is_bad_news_in_text_and_json() -> None:
    code, out, err = run(FOLDER)
    assert (code, err) == (1, "")
    assert "12 messages, oldest 3 d: The route leads to a database with another broker id" in out
    assert max(map(len, out.splitlines())) <= 100 or any(str(FOLDER) in x for x in out.splitlines())
    assert out.index("12 messages") < out.index("1 message,") < out.index("24 endpoints, oldest")
    assert "(The reference)" in out.splitlines()[-1]
    code, out, err = run(FOLDER, "--format", "json")
    answer = json.loads(out)
    assert (code, err, answer["summary"]["stuck"]) == (1, "", 18)
    found = next(d for d in answer["diagnoses"] if d["cause"] == "stale-broker-id")
    assert (found["count"], found["errors"], found["at"]) == (12, [28017], "ServerA/DatabaseA")
    assert found["remedy"] and found["rule"].startswith("reference") and found["evidence"]


def test_nothing_stuck_is_fine(tmp_path: Path) -> None:
    for write in (write_json, write_csv):
        folder = write(tmp_path / write.__name__, documents(shipped("two_brokers")))
        code, out, _ = run(folder)
        assert (code, out.splitlines()[-1]) == (0, "Nothing is stuck.")


def test_a_snapshot_without_rows_to_look_at_is_wrong_use(tmp_path: Path) -> None:
    """Nobody may take it for a healthy one."""
    (tmp_path / "DatabaseA.routes.csv").write_text("name,address\nR,LOCAL\n")
    code, out, err = run(tmp_path)
    assert (code, out) == (2, "")
    assert "neither sys.conversation_endpoints nor sys.transmission_queue" in err


def test_another_file_is_distinguished_from_a_missing_one(tmp_path: Path) -> None:
    other = tmp_path / "a.json"
    assert f"There is no snapshot at {other}" in " ".join(run(other)[2].split())
    other.write_text("{}", encoding="utf-8")
    code, out, err = run(other)
    assert (code, out) == (2, "") and f"{other} is not a snapshot" in err


def test_missing_views_are_reported(tmp_path: Path) -> None:
    (tmp_path / "transmission_queue.csv").write_text("")
    (tmp_path / "DatabaseA.routes.csv").write_text("name,address\nR,nowhere\n")
    code, out, _ = run(tmp_path)
    assert code == 0
    assert "not in the snapshot: server, databases" in out
    assert "routes.csv:2:1: route R: 'nowhere' is not a valid address (V6: 9744" in " ".join(
        out.split()
    )


def test_unreadable_is_two(tmp_path: Path) -> None:
    assert run(tmp_path)[0] == 2
    (tmp_path / "a.json").write_text('{"hopline_snapshot": 1, "databases": [{"name": "A"')
    code, out, err = run(tmp_path)
    assert (code, out) == (2, "") and "a.json:1:" in err and "-y 0" in err
    assert run()[0] == 2 and run(tmp_path / "none")[0] == 2
    assert run(FOLDER, "--script", "json")[0] == 2


def test_the_scripts_are_printed() -> None:
    code, out, _ = run("--script", "json")
    assert code == 0 and out.startswith("/*") and "FOR JSON PATH" in out
    assert ":OUT $(prefix)routes.csv" in run("--script", "csv")[1]


def test_a_topology_names_the_rest(tmp_path: Path) -> None:
    folder = write_json(tmp_path, {"ServerA": documents(shipped("two_brokers"))["ServerA"]})
    assert run(folder, "--topology", "two_brokers")[0] == 0
    assert run(folder, "--topology", "nothing_of_the_kind")[0] == 2


def test_other_commands_take_a_snapshot() -> None:
    args = ["--from", "ServerA/DatabaseA", "--to", "TargetService", "--format", "json"]
    result = CliRunner().invoke(main, ["path", str(FOLDER), *args])
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["verdict"], answer["ways"]) == (1, "broken", 2)


def test_an_error_is_explained_without_a_snapshot() -> None:
    code, out, err = run("--error", "The target service broker is unreachable.")
    assert (code, err, out.splitlines()[0]) == (0, "", "9753: the target broker is unreachable")
    assert "  rule    target-unreachable, reference" in out
    code, out, _ = run("--error=-8490", "--format", "json")
    answer = json.loads(out)
    assert (code, answer["number"], answer["cause"]) == (0, -8490, None)
    code, out, err = run("--error", "Login failed")
    assert (code, out) == (2, "") and "no error of Service Broker" in err
    assert run(FOLDER, "--error", "9753")[0] == 2
