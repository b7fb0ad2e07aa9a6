"""`hopline check`: exit codes, formats, suppressions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main

REFUSED = """\
instances:
  ServerA:
    databases:
      DatabaseA:
        services: [InitiatorService]
        routes:
          - {name: TargetRoute, broker_instance: DatabaseB, address: 'tcp://ServerB:4022'}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A topology with one error, TA-20."""
    (tmp_path / "topology.yaml").write_text(REFUSED, encoding="utf-8")
    return tmp_path


def run(*args: object, **extra: Any) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, args)], **extra)


def answer(*args: object) -> dict[str, Any]:
    result = run(*args, "--format", "json")
    assert result.stderr == ""
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_the_shape_of_the_json(folder: Path) -> None:
    """The contract's keys, of the report and of a finding."""
    found = answer(folder)
    assert found["summary"]["error"] == 1
    [finding] = [f for f in found["findings"] if f["code"] == "TA-20"]
    keys = ("code", "severity", "message", "remedy", "subject", "file", "line", "column")
    assert set(finding) == {*keys, "evidence"}
    assert (finding["severity"], finding["subject"]) == ("error", "ServerA/DatabaseA")
    assert (finding["file"], finding["line"]) == (str(folder / "topology.yaml"), 7)
    assert found["suppressed"] == []


def test_exit_codes(folder: Path) -> None:
    """1 for findings at or above --fail-on, 2 for what cannot be read or asked."""
    assert run(folder).exit_code == 1
    assert run("combined").exit_code == 0
    assert run(folder / "nothing").exit_code == 2
    assert run().exit_code == 2
    (folder / "topology.yaml").write_text("instances: []]", encoding="utf-8")
    result = run(folder, "--format", "json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "topology.yaml:1:" in result.stderr


@pytest.mark.parametrize("command", ["check", "flows"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("topology.yaml", ""),
        ("topology.yaml", "instances: {}"),
        ("topology.yaml", "instances: {A: {}}"),
        ("A.sql", ""),
        ("A.sql", "CREATE TABLE t (x int);"),
    ],
)
def test_nothing_is_not_checked(tmp_path: Path, command: str, name: str, text: str) -> None:
    """A job that looks at the wrong file does not stay green."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, [command, str(tmp_path), "--format", "json"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "nothing was checked" in result.stderr


@pytest.mark.parametrize(
    "text",
    ["{A: {msdb: {routes: [{name: R, address: 'tcp://B:4022'}]}}}", "{A: {databases: {D: {}}}}"],
)
def test_a_little_is_checked(tmp_path: Path, text: str) -> None:
    (tmp_path / "topology.yaml").write_text(f"instances: {text}", encoding="utf-8")
    assert run(tmp_path).exit_code == 0


def test_another_file_is_distinguished_from_a_missing_one(folder: Path) -> None:
    other = folder / "a.json"
    assert f"There is no topology at {other}" in run(other).stderr
    other.write_text("{}", encoding="utf-8")
    assert run(other).exit_code == 2 and f"{other} is not a topology" in run(other).stderr


def test_fail_on_a_milder_severity(folder: Path) -> None:
    """A warning is a negative result only where it is asked for."""
    suppress(folder, "- {code: TA-20, reason: known}\n- {code: TA-99, reason: superfluous}")
    assert answer(folder)["summary"]["warning"] > 0
    assert run(folder).exit_code == 0
    assert run(folder, "--fail-on", "warning").exit_code == 1
    assert run(folder, "--fail-on", "info").exit_code == 1


def test_the_text_fits_a_screen(folder: Path) -> None:
    """A finding is its code and place, its message and its remedy; the summary is last."""
    out = run(folder).stdout
    assert "TA-20  ServerA/DatabaseA" in out and "topology.yaml:7:13" in out
    assert out.splitlines()[-1].startswith("1 error, ")
    texts = [line for line in out.splitlines() if str(folder) not in line]
    assert max(map(len, texts)) <= 100


def test_many_infos_of_one_code_are_cut_short(folder: Path) -> None:
    """All errors are shown, ten infos of a code, and every one in JSON."""
    idle = "{name: I%d, service_name: S, address: LOCAL}"
    broken = "{name: B%d, broker_instance: X, address: LOCAL}"
    routes = ", ".join(row % n for row in (idle, broken) for n in range(12))
    services = "{S: {contracts: []}}"
    text = f"{{A: {{msdb: {{routes: [{routes}]}}, databases: {{D: {{services: {services}}}}}}}}}"
    text = f"instances: {text}"
    (folder / "topology.yaml").write_text(text, encoding="utf-8")
    assert Counter(f["code"] for f in answer(folder)["findings"])["TA-25"] == 12
    out = run(folder).stdout
    shown = Counter(line.split()[0] for line in out.splitlines() if line.startswith("TA-"))
    assert shown["TA-20"] == 12 and shown["TA-25"] == 11
    assert "TA-25  2 more like these: see --format json" in out


def test_colour_is_for_terminals(folder: Path) -> None:
    """And NO_COLOR turns it off there too."""
    assert "\x1b[" not in run(folder).stdout
    assert "\x1b[" in run(folder, color=True, env={"NO_COLOR": None}).stdout
    assert "\x1b[" not in run(folder, color=True, env={"NO_COLOR": "1"}).stdout


def test_a_page() -> None:
    """--explain needs no topology and takes any case; an unknown code names the page."""
    result = run("--explain", "ta-20")
    assert (result.exit_code, result.stdout[:7]) == (0, "TA-20  ")
    result = run("--explain", "TA-00")
    assert result.exit_code == 2 and "docs/findings.md" in result.stderr
    assert "Did you mean" not in run("--explain", "TA-99").stderr
    assert "Rule: reference 3.4 (docs/conformance.md, The reference)." in (
        run("--explain", "TA-12").stdout
    )


# --- Suppressions --------------------------------------------------------------------------------


def suppress(folder: Path, text: str, name: str = "suppressions.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_suppressed_finding_is_listed_apart(folder: Path) -> None:
    """With its reason; it counts no more."""
    suppress(folder, "- {code: TA-20, subject: servera/*, reason: known, until: 2999-12-31}")
    found = answer(folder)
    assert found["summary"]["error"] == 0
    [suppressed] = found["suppressed"]
    assert suppressed["code"] == "TA-20"
    assert suppressed["suppression"] == {
        "reason": "known",
        "until": "2999-12-31",
        "file": str(folder / "suppressions.yaml"),
        "line": 1,
        "column": 3,
    }
    result = run(folder)
    assert result.exit_code == 0 and "; 1 suppressed" in result.stdout


@pytest.mark.parametrize(
    ("text", "left", "message"),
    [
        ("- {code: TA-20, subject: ServerB/*, reason: x}", 1, "matches no finding"),
        ("- {code: TA-99, reason: x}", 1, "there is no TA-99"),
        ("- {code: TA-99, reason: x, until: 2001-01-01}", 1, "there is no TA-99"),
        ("- {code: TA-20, reason: x, until: 2001-01-01}", 1, "the finding still exists"),
        ("- {code: TA-19, reason: x, until: 2001-01-01}", 1, "was valid until 2001-01-01"),
    ],
)
def test_an_unused_suppression_is_reported(
    folder: Path, text: str, left: int, message: str
) -> None:
    suppress(folder, text)
    found = answer(folder)
    assert found["summary"]["error"] == left
    [finding] = [f for f in found["findings"] if f["code"] == "TA-46"]
    assert message in finding["message"] and finding["line"] == 1


def test_another_file_replaces_the_default(folder: Path) -> None:
    suppress(folder, "- {code: TA-20, reason: known}")
    other = suppress(folder, "", "none.yaml")
    assert answer(folder, "--suppress", other)["summary"]["error"] == 1
    assert run(folder, "--suppress", folder / "missing.yaml").exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{code: TA-20}", "expected a list of suppressions"),
        ("- {code: TA-20}", ":1:3: a suppression without reason"),
        ("- {code: TA-20, reason: ' '}", "State why"),
        ("- {code: TA-20, reason: x, untill: 2031-01-31}", "Did you mean 'until'"),
        ("- {code: TA-20, reason: x, until: soon}", "2031-01-31"),
        ("- {code: TA-20, reason: x, subject: [a]}", "found a list"),
        ("- {}}", "invalid YAML"),
    ],
)
def test_a_bad_file_is_reported_with_its_place(folder: Path, text: str, message: str) -> None:
    suppress(folder, text)
    result = run(folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "suppressions.yaml:1" in result.stderr and message in result.stderr


def test_a_file_in_another_encoding_is_reported(folder: Path) -> None:
    (folder / "suppressions.yaml").write_bytes(b"- {code: TA-20, reason: caf\xe9}")
    result = run(folder)
    assert result.exit_code == 2 and "UTF-8" in result.stderr


# --- SARIF ---------------------------------------------------------------------------------------


SHAPES = {
    "": {"$schema", "version", "runs"},
    "runs": {"tool", "columnKind", "results"},
    "driver": {"name", "version", "rules"},
    "rules": {"id", "shortDescription", "fullDescription", "help", "defaultConfiguration",
              "helpUri"},
    "results": {"ruleId", "ruleIndex", "level", "message", "locations", "properties",
                "suppressions"},
    "locations": {"physicalLocation", "logicalLocations"},
    "physicalLocation": {"artifactLocation", "region"},
    "artifactLocation": {"uri", "uriBaseId"},
    "region": {"startLine", "startColumn"},
    "suppressions": {"kind", "status", "justification"},
}  # fmt: skip
"""Of the standard's properties those that are used: it allows no others."""


def objects(value: object, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object of a log with the name of its property; bags may hold anything."""
    if isinstance(value, dict):
        yield name, value
        for key, inner in value.items() if name != "properties" else ():
            yield from objects(inner, key)
    for inner in value if isinstance(value, list) else ():
        yield from objects(inner, name)


def test_sarif_has_no_properties_of_its_own(folder: Path) -> None:
    suppress(folder, "- {code: TA-20, reason: known}\n- {code: TA-99, reason: x}")
    log = json.loads(run(folder, "--format", "sarif").stdout)
    seen = {name: set(found) for name, found in objects(log) if name in SHAPES}
    assert set(seen) == set(SHAPES)
    assert all(keys <= SHAPES[name] for name, keys in seen.items())


def test_sarif(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the standard requires (SARIF 2.1.0, 3.13 to 3.30), and what code hosts read of it."""
    monkeypatch.chdir(folder.parent)
    suppress(folder, "- {code: TA-46, reason: known}\n- {code: TA-99, reason: x}")
    result = run(folder.name, "--format", "sarif")
    assert (result.exit_code, result.stderr) == (1, "")
    log = json.loads(result.stdout)
    assert log["version"] == "2.1.0" and log["$schema"].startswith("https://")
    [one] = log["runs"]
    driver = one["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert driver["name"] == "hopline" and len(set(rules)) == len(rules)
    assert all(rule["help"]["text"] for rule in driver["rules"])
    levels = {"error", "warning", "note"}
    for found in one["results"]:
        assert found["message"]["text"] and found["level"] in levels
        assert rules[found["ruleIndex"]] == found["ruleId"]
        place = found["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] > 0
        assert place["artifactLocation"]["uri"].startswith(f"{folder.name}/")
    assert {f["ruleId"] for f in one["results"]} >= {"TA-20", "TA-46"}


def test_sarif_lists_suppressed_results_as_such(folder: Path) -> None:
    """Seen from elsewhere, places are relative to the topology."""
    suppress(folder, "- {code: TA-20, reason: known}")
    log = json.loads(run(folder, "--format", "sarif").stdout)
    [found] = [r for r in log["runs"][0]["results"] if r["ruleId"] == "TA-20"]
    expected = {"kind": "external", "status": "accepted", "justification": "known"}
    assert found["suppressions"] == [expected]
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "topology.yaml"


# --- Links to the documentation ------------------------------------------------------------------

SITE = "https://hopline.example/docs"
PAGE = f"{SITE}/reference/findings/TA-20/"


@pytest.fixture
def stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the project's metadata state where the documentation is."""
    about = Message()
    about["Project-URL"] = "Repository, https://hopline.example/source"
    about["Project-URL"] = f"Documentation, {SITE}"
    monkeypatch.setattr(metadata, "metadata", lambda name: about)


@pytest.mark.usefixtures("stated")
def test_findings_link_to_their_pages(folder: Path) -> None:
    out = run(folder).stdout
    assert out.count(f"TA-20  see {PAGE}\n") == 1
    assert run("--explain", "TA-20").stdout.endswith(f"\n{PAGE}\n")
    log = json.loads(run(folder, "--format", "sarif").stdout)
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["TA-20"]["helpUri"] == PAGE


def test_without_a_stated_address_nothing_is_linked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "metadata", lambda name: Message())
    assert "://" not in re.sub(r"tcp://", "", run(folder).stdout)
    log = json.loads(run(folder, "--format", "sarif").stdout)
    assert all("helpUri" not in rule for rule in log["runs"][0]["tool"]["driver"]["rules"])
