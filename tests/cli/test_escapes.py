"""Names in topologies, scripts and snapshots never control the terminal that shows them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from streams.analysis.mermaid import mermaid_label
from streams.cli import main
from streams.cli.text.terminal import show, write
from streams.topology import load
from tests.snapshots import documents, message, part, write_json

OSC = "\x1b]0;pwned\x07"
"""Sets the title of a terminal's window; click does not remove it."""
NASTY = f"{OSC}\x9b1m\u202e"
TOPOLOGY = """\
instances:
  "I{nasty}":
    address: tcp://I:4022
    databases:
      "D{nasty}":
        broker_id: "a{nasty}"
        services: {{"S{nasty}": {{queue: "Q{nasty}", contracts: []}}}}
        routes:
        - {{name: "r{nasty}", service_name: "T{nasty}", address: "tcp://ServerB:4022"}}
        - {{name: "s{nasty}", service_name: "U{nasty}", address: "tcp://ServerX:4022"}}
  ServerB:
    databases:
      B:
        broker_id: "b{nasty}"
        services: {{"T{nasty}": {{queue: "Q{nasty}"}}}}
        routes:
        - {{name: "r{nasty}", service_name: "S{nasty}", address: "tcp://I:4022"}}
"""
AT, TO = f"I{NASTY}/D{NASTY}", f"T{NASTY}"
COMMANDS = [
    ("check", "{topology}"),
    ("flows", "{topology}"),
    ("flows", "{topology}", "--format", "mermaid"),
    ("path", "{topology}", "--from", AT, "--to", TO),
    ("path", "{topology}", "--from", AT, "--to", TO, "--format", "mermaid"),
    ("explain", "{topology}", "--at", AT, "--to", TO),
    ("diff", "{topology}", "--without", "ServerB"),
    ("simulate", "{scenario}"),
    ("diagnose", "{snapshot}"),
    ("import", "{script}", "--output", "{output}", "--database", "D"),
]


def printable(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write one file of each kind, and return the path of each."""
    names = ("topology", "scenario", "snapshot", "output")
    paths = {name: tmp_path / name for name in names}
    paths["topology"].mkdir()
    nasty = json.dumps(NASTY)[1:-1]
    (paths["topology"] / "topology.yaml").write_text(TOPOLOGY.format(nasty=nasty))
    begin = {"dialog": "d1", "from": f"{AT}/S{NASTY}", "to": TO}
    send = {"dialog": "d1", "side": "initiator", "body": NASTY}
    scenario = {
        "topology": str(paths["topology"]),
        "until": "60s",
        "steps": [{"at": "0s", "begin": begin}, {"at": "1s", "send": send}],
    }
    paths["scenario"].write_text(json.dumps(scenario))
    found = documents(load(paths["topology"], 0.0))
    status = f"Something nobody has ever seen{NASTY}"
    part(found[f"I{NASTY}"], f"D{NASTY}")["transmission_queue"] = [message("d", TO, status)]
    write_json(paths["snapshot"], {f"I{n}": each for n, each in enumerate(found.values())})
    script = tmp_path / "I.sql"
    name = NASTY.replace("]", "]]")
    script.write_text(f"[{name}] x;\n", encoding="utf-8")
    return {**{name: str(path) for name, path in paths.items()}, "script": f"I={script}"}


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[::4]))
def test_control_characters_of_names_are_escaped(
    files: dict[str, str], words: tuple[str, ...]
) -> None:
    done = CliRunner().invoke(main, [word.format_map(files) for word in words])
    assert isinstance(done.exception, SystemExit | None), done.exception
    assert "\\x1b]0;pwned\\x07\\x9b1m\\u202e" in done.output
    assert printable(done.output)


def test_colours_of_names_are_no_colours(capsys: pytest.CaptureFixture[str]) -> None:
    """Click removes them from what is not shown at a terminal."""
    show("S\x1b[31m -> T: ok", {})
    assert capsys.readouterr().out == "S\\x1b[31m -> T: ok\n"


def test_an_exported_script_keeps_its_names(tmp_path: Path) -> None:
    """A script without the parts that look like colours would create one route twice."""
    names = ("R", "R\x1b[1m")
    routes = "".join(f"CREATE ROUTE [{name}] WITH ADDRESS = 'LOCAL';\n" for name in names)
    (tmp_path / "I.sql").write_text(f"USE D;\n{routes}")
    done = CliRunner().invoke(main, ["export", str(tmp_path), "--at", "I"])
    (tmp_path / "I.sql").write_text(done.stdout)
    found = load(tmp_path, 0.0).instances["I"].databases["D"].routes
    assert {route.name for route in found if route.name[0] == "R"} == {*names}
    assert printable(done.stderr)


def test_content_is_escaped_only_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((io.StringIO(), f"a{NASTY}\nb\x1b[1m\n"), (Terminal(), None)):
        monkeypatch.setattr(sys, "stdout", stream)
        write(f"a{NASTY}\nb\x1b[1m\n")
        text = stream.getvalue()
        assert text == shown or (shown is None and printable(text) and "\\x1b[1m" in text)


def test_a_commands_name_in_acl_is_not_changed(tmp_path: Path) -> None:
    topology = TOPOLOGY.format(nasty=json.dumps("\x1b[1m")[1:-1])
    (tmp_path / "topology.yaml").write_text(topology)
    done = CliRunner().invoke(main, ["acl", str(tmp_path)])
    assert done.exit_code == 0
    assert "\x1b[1m" not in click.unstyle(done.stdout)
    for line in done.stdout.split("\n"):
        assert line.isprintable() or not line.startswith("#")


@pytest.mark.parametrize("name", ["x`y", '"]', "#35;", "<b>", "a\nb", OSC])
def test_flow_charts_escape_labels(name: str) -> None:
    label = mermaid_label(name)
    assert not set('"<>`\n\x1b') & set(label)
    assert label.count("#") == label.count(";") - name.count(";") + name.count("#;")
