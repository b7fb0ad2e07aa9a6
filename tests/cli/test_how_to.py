"""The how-to page: its topologies, queries and outputs are real; so is each command of any page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from streams.cli import main
from streams.live.views.queue_rows import ROW_COLUMNS
from streams.live.views.select import _create, _database, _for_sqlite
from streams.live.views.table import VIEWS
from streams.resources import topologies_dir
from tests.command import hopline

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "how_to.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
QUERIES = re.findall(r'hopline query "(SELECT [^"]*)"', TEXT)

_COMMAND = re.compile(
    r"(?:^(?: {4,})?\$ |^ {4,}|`)(hopline (?:[^`\n#>|]|\n(?! *(?:\$ |\n)| {4}))*)", re.MULTILINE
)
_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def section(title: str) -> str:
    """Return the section of the page with this title."""
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def shown(text: str, key: str) -> Any:
    """Return the YAML of the page that begins with a key."""
    indent, block = re.findall(rf"^( +){key}:\n((?:\1 .*\n)+)", text, re.MULTILINE)[0]
    return yaml.safe_load(f"{indent}{key}:\n{block}")[key]


def topology() -> dict[str, Any]:
    """Return the topology that the page changes."""
    text = (topologies_dir() / "two_brokers" / "topology.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def saved(folder: Path, changed: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "topology.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
    return folder


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of a page, those that continue on the next line as one."""
    text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
    yield from (" ".join(found.split()) for found in _COMMAND.findall(text))


def unknown(command: str) -> list[str]:
    """Return the options that a command does not have, or its name if there is no such command."""
    words = command.split()[1:]
    current: click.Command = main
    context = click.Context(main)
    known = {"-h", "--help", "--version"}
    while isinstance(current, click.Group) and words:
        if (found := current.get_command(context, words[0])) is None:
            break
        current, words = found, words[1:]
        context = click.Context(current, context)
        for option in current.get_params(context):
            known |= {*option.opts, *option.secondary_opts}
    if current is main and words and not words[0].startswith(("-", "C", "[")):
        return words[:1]
    return [flag for flag in _FLAG.findall(command) if flag not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    assert {each: wrong for each in commands(page) if (wrong := unknown(each))} == {}


def test_commands_and_wrong_options_are_found() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 400
    assert unknown("hopline verify --nothing") == ["--nothing"]
    assert unknown("hopline nothing") == ["nothing"]


def test_a_moved_service_gets_new_dialogs_and_keeps_open_ones(tmp_path: Path) -> None:
    text = section("Move a service to another instance")
    new = topology()
    moved = {"TargetService": {"queue": "TargetQueue"}}
    back = dict(new["instances"]["ServerB"]["databases"]["DatabaseB"]["routes"][0])
    place = {"broker_id": "DatabaseC", "services": moved, "routes": [back]}
    new["instances"]["ServerC"] = {"databases": {"DatabaseC": place}}
    new["instances"]["ServerA"]["databases"]["DatabaseA"]["routes"] = shown(text, "routes")
    new["expect"] = shown(text, "expect")
    folder = saved(tmp_path / "NEW", new)
    asked = ("explain", folder, "--at", "ServerA/DatabaseA", "--to", "TargetService")
    assert "sent to tcp://ServerC:4022\n" in hopline(*asked)[1]
    assert "sent to tcp://ServerB:4022\n" in hopline(*asked, "--broker", "DatabaseB")[1]
    code, out, _ = hopline("check", folder, "--fail-on", "warning")
    assert code == 0 and out.count("TA-24  ") == 2 and out.count("Drop the route") == 2
    _, out, _ = hopline("diff", "two_brokers", folder)
    for line in ("MOVES", "reached by open dialogs only: ServerB/DatabaseB", "ServerC/DatabaseC"):
        assert line in out and line in text


def test_an_added_gateway_changes_only_the_path(tmp_path: Path) -> None:
    text = section("Add a gateway, or another instance")
    step1 = topology()
    step1["instances"]["Gateway"] = shown(text, "Gateway")
    saved(tmp_path / "STEP1", step1)
    databases = step1["instances"]
    databases["ServerA"]["databases"]["DatabaseA"]["routes"][0]["address"] = "tcp://Gateway:4022"
    databases["ServerB"]["databases"]["DatabaseB"]["routes"][0]["address"] = "tcp://Gateway:4022"
    folder = saved(tmp_path / "NEW", step1)
    old = str(topologies_dir() / "two_brokers")
    assert hopline("check", folder, "--fail-on", "warning")[0] == 0
    code, out, _ = hopline("diff", old, tmp_path / "STEP1")
    assert code == 0, out
    code, out, _ = hopline("diff", old, folder)
    assert (code, "OTHER PATH" in out) == (1, True)
    assert "still reached: ServerB/DatabaseB" in out and "still reached: ServerB/DatabaseB" in text


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_views_and_columns_that_exist(query: str) -> None:
    with closing(_database()) as database:
        for name, view in VIEWS.items():
            _create(database, "sys", name.removeprefix("sys."), view.columns)
        _create(database, "dbo", "TargetQueue", ROW_COLUMNS)
        assert database.execute(_for_sqlite(query)).description


def test_the_queries_are_found() -> None:
    assert len(QUERIES) >= 5
