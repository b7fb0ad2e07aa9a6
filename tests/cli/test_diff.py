"""`hopline diff`."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.resources import topologies_dir

TRAFFIC = str(topologies_dir() / "combined" / "traffic.avro")
KEYS = {"from", "to", "change", "before", "after", "messages"}


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["diff", *args])


def test_nothing_changed_is_one_sentence() -> None:
    result = run("combined")
    assert (result.exit_code, result.stdout) == (0, "Nothing changes for the one flow.\n")


def test_a_comparison_with_itself_is_announced() -> None:
    """A script whose variable for NEW is empty would otherwise pass in silence."""
    assert "OLD is compared with itself" in run("combined").stderr
    for others in (("combined",), ("--without", "GatewayA"), ("--capture", TRAFFIC)):
        assert run("combined", *others).stderr == ""


def test_spark_without_a_capture_is_refused() -> None:
    """It would read nothing, and nobody would notice."""
    result = run("combined", "--engine", "spark")
    assert (result.exit_code, result.stdout) == (2, "") and "--capture FILE" in result.stderr


def test_losing_one_gateway() -> None:
    """The contract's keys, and exit code 1 although no flow stops."""
    result = run("combined", "--without", "GatewayA", "--format", "json")
    answer = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (1, "")
    assert [flow["change"] for flow in answer["flows"]] == ["redundancy"]
    assert set(answer["flows"][0]) >= KEYS and answer["flows"][0]["messages"] == 0
    assert answer["summary"]["stops"] == 0


def test_losing_both_gateways_in_words() -> None:
    result = run("combined", "--without", "GatewayA", "--without", "GatewayB")
    assert result.exit_code == 1
    assert result.stdout.startswith("1 of 1 flow changes: 1 stops.\n\nSTOPS  ServerA/DatabaseA/")


def test_two_folders(tmp_path: Path) -> None:
    """NEW is another topology; --without takes away from it."""
    text = (topologies_dir() / "combined" / "topology.yaml").read_text(encoding="utf-8")
    (tmp_path / "topology.yaml").write_text(text.replace("GatewayB:4022", "GatewayA:4022"))
    answer = json.loads(run("combined", str(tmp_path), "--format", "json").stdout)
    assert [flow["change"] for flow in answer["flows"]] == ["redundancy"]
    more = run("combined", str(tmp_path), "--without", "GatewayA", "--format", "json")
    assert [flow["change"] for flow in json.loads(more.stdout)["flows"]] == ["stops"]


def test_captured_messages_are_counted() -> None:
    args = ("combined", "--without", "GatewayA", "--capture", TRAFFIC)
    answer = json.loads(run(*args, "--format", "json").stdout)
    [flow] = answer["flows"]
    assert flow["messages_by_change"] == {"redundancy": flow["messages"]}
    assert 9_000 < flow["messages"] < 11_000
    assert answer["capture"]["messages"] == answer["capture"]["judged"] == 20_000
    text = run(*args).stdout
    assert f"captured messages affected: {flow['messages']:,} of 20,000" in text
    assert text.endswith("\nCaptured: 20,000 messages.\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--without", "GatewayX"), "There is no instance 'GatewayX'.\n  Did you mean"),
        (("--without", "ServerA/DatabaseA/TargetRoute"), "Did you mean 'TargetRoute"),
        (("nowhere",), "nowhere"),
        (("--capture", "nowhere.avro"), "nowhere.avro"),
        (("--capture", str(topologies_dir() / "combined" / "README.md")), "not an Avro file"),
        (("--engine", "flink"), "'flink'"),
    ],
)
def test_wrong_use(args: tuple[str, ...], message: str) -> None:
    """Names that are near, and the file that is not."""
    result = run("combined", *args)
    assert (result.exit_code, result.stdout) == (2, "") and message in result.stderr


PAGE = Path(__file__).parents[2] / "docs" / "diff.md"
SHOWN = re.findall(
    r"^    \$ hopline (.+)\n((?:    .+\n|\n(?=    ))+)", PAGE.read_text("utf-8"), re.M
)


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_walk_through_is_what_is_printed(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PAGE.parents[1])
    result = CliRunner().invoke(main, command.split())
    assert result.stdout == textwrap.dedent(shown)


def test_the_walk_through_is_found() -> None:
    assert len(SHOWN) == 4
