"""The documentation site builds strictly, is complete, and its links lead to the right pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from docs_site import commands, contents, hook, links, lists, python
from docs_site.page import Page, block, escaped
from streams.analysis.check import CHECKS, Check
from streams.analysis.check.page import page_path
from streams.cli.commands import COMMANDS
from streams.schema import NAMES
from streams.settings import settings_of

ROOT = Path(__file__).parent.parent
STATED = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def made() -> dict[str, Page]:
    return {page.path: page for page in contents.generated()}


def test_the_build_is_strict() -> None:
    assert STATED["strict"] and STATED["theme"]["font"] is False
    levels = [level for part in STATED["validation"].values() for level in part.values()]
    assert levels == ["warn"] * 7
    assert "mkdocs build --quiet --strict" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "make docs\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("link", ["b.md", "b.md#there", "c.md", "b.md#nowhere", "/b/", "../x.md"])
def test_a_broken_link_fails(tmp_path: Path, link: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A\n\n[b]({link})\n", encoding="utf-8")
    (tmp_path / "docs" / "b.md").write_text("# B\n\n## There\n", encoding="utf-8")
    strict = {key: STATED[key] for key in ("strict", "validation")}
    stated = {"site_name": "x", "theme": {"name": None, "custom_dir": "docs"}, **strict}
    (tmp_path / "docs" / "main.html").write_text("{{ page.content }}", encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump({**stated, "plugins": []}))
    config = load_config(str(tmp_path / "mkdocs.yml"))
    if link in ("b.md", "b.md#there"):
        build(config)
        return
    with pytest.raises(Abort):
        build(config)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_every_finding_has_a_page(made: dict[str, Page], check: Check) -> None:
    page = made[page_path(check.code).rstrip("/") + ".md"]
    assert page.text.startswith(f"# {check.code}: {check.title}\n")
    assert f"docs/findings.md#{check.code.lower()}" in page.stands_for


def test_every_command_option_setting_and_schema_has_its_place(made: dict[str, Page]) -> None:
    assert {f"reference/commands/{name}.md" for name in COMMANDS} <= set(made)
    for command, option in commands.options():
        first, *below = command.split()
        if not option.hidden:
            anchor = "-".join((*below, max(option.opts, key=len).lstrip("-")))
            assert f"{{ #{anchor} }}" in made[f"reference/commands/{first}.md"].text
    for setting in settings_of():
        assert f"## {setting.key}\n" in made["reference/settings.md"].text
    assert {f"reference/schemas/{name}.md" for name in NAMES} <= set(made)


def test_what_the_pages_import_is_in_the_python_reference() -> None:
    missing = []
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for module, names in re.findall(r"^ *from (streams[\w.]*) import ([\w, ]+)$", text, re.M):
            known = python.public(module) if module in python.MODULES else ()
            missing += [f"{module}.{n}" for n in names.split(", ") if n not in known]
    assert missing == []


def test_a_search_for_a_number_finds_its_page_first(made: dict[str, Page]) -> None:
    assert "numbers.md" in hook._FOUND_FIRST
    assert "- Error and event numbers: numbers.md\n" in (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "[error and event numbers](docs/numbers.md)" in made["index.md"].text


def test_a_search_shows_background_pages_last(made: dict[str, Page]) -> None:
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    for prefix in hook._FOUND_LAST:
        assert any(page.startswith(prefix) for page in {*pages, *made}), prefix
    assert not any(page.startswith(hook._FOUND_LAST) for page in hook._FOUND_FIRST)


def test_no_two_pages_have_one_path() -> None:
    pages = [page.path for page in contents.generated()]
    files = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert len(set(pages)) == len(pages) and not files & set(pages)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("operation.md#plans", "../operation.md#plans"),
        ("../schemas/Ack.avsc", "../reference/schemas/Ack.md"),
        ("../topologies/hub", "../topologies/hub.md"),
        ("../topologies/hub/README.md#its-files", "../topologies/hub.md#its-files"),
        ("findings.md#ta-12", "../reference/findings/TA-12.md"),
        ("findings.md", "../reference/findings/index.md"),
        ("https://example.org/a.md", "https://example.org/a.md"),
        ("../README.md#analyse-routes", "../index.md#analyse-routes"),
    ],
)
def test_a_link_leads_to_the_page_of_its_file(
    made: dict[str, Page], link: str, expected: str
) -> None:
    places = contents.places(tuple(made.values()))
    text = links.rewritten(f"See [it]({link}).", "docs/x.md", "decisions/x.md", places)
    assert text == f"See [it]({expected}).\n"


def test_a_link_within_a_page_stays_there() -> None:
    text = "[a](#title) [b](x.md#title)\n"
    kept = links.rewritten(text, "docs/x.md", "x.md", {})
    assert kept == "[a](#title) [b](#title)\n"


def test_code_keeps_what_looks_like_a_link() -> None:
    text = "`[a](b.md)`\n\n```\n[a](b.md)\n```\n"
    assert links.rewritten(text, "docs/x.md", "y/x.md", {}) == text


def test_links_are_called_like_their_pages() -> None:
    text = "([x.md](y/x.md#a), [why](y/x.md))\n"
    assert links.titled(text, "z.md", {"y/x.md": "X"}.get) == "([X](y/x.md#a), [why](y/x.md))\n"


def test_lists_are_widened() -> None:
    text = "A:\n- one\n  - two\n\n1. three\n\n       code\n   more\n2. four\n\n    - code\n"
    wide = "A:\n\n- one\n    - two\n\n1. three\n\n        code\n    more\n\n2. four\n\n    - code\n"
    assert lists.widened(text) == wide


def test_text_is_escaped_and_code_is_not() -> None:
    assert escaped("a_b `c_d` <e> [f] g|h") == r"a\_b `c_d` &lt;e&gt; \[f\] g&#124;h"
    assert block("```\nx\n```", "markdown") == "````markdown\n```\nx\n```\n````\n"


def test_a_star_stands_for_what_is_not_named() -> None:
    nav = [{"A": ["a/index.md", "a/*"]}, "b.md"]
    paths = ["a/index.md", "a/1.md", "a/2.md", "b.md"]
    assert contents.expanded(nav, paths) == [{"A": ["a/index.md", "a/1.md", "a/2.md"]}, "b.md"]
