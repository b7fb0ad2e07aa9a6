"""The pages have no broken links, name only existing files, and the README is correct."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command import hopline

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = sorted(
    page
    for folder in ("", "docs/**/", "streams/**/", "topologies/**/")
    for page in ROOT.glob(f"{folder}*.md")
)
_LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
_FILE = re.compile(r"`((?:bench|docs|schemas|streams|tests|topologies)/[\w./-]+)`")


def anchors(page: Path) -> set[str]:
    """Return what can stand behind the ``#`` of a link to a page: its titles, as GitHub does."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_files_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name, anchor in _LINK.findall(text):
        target = page.parent / name if name else page
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"
    assert [name for name in _FILE.findall(text) if not (ROOT / name).exists()] == []


def shown() -> dict[str, str]:
    """Return what the README shows of questions to a topology: what is said, by command."""
    blocks = re.findall(r"(?:^ {4}.*\n|^\n)+", README.read_text(encoding="utf-8"), re.MULTILINE)
    [block] = (b for b in blocks if b.lstrip().startswith("$ hopline explain"))
    told = re.sub("^ {4}", "", block, flags=re.MULTILINE)
    parts = (part.partition("\n") for part in told.split("$ hopline ")[1:])
    return {command.partition("  #")[0].rstrip(): out.strip() for command, _, out in parts}


@pytest.mark.parametrize("command", shown())
def test_what_the_readme_shows_is_said(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    words = [str(tmp_path / w) if w.endswith(".svg") else w for w in shlex.split(command)]
    code, out, err = hopline(*words)
    assert code in (0, 1), err
    expected, cut, _ = shown()[command].partition("\n  ...")
    assert expected in ("", out.strip()) or (cut and out.strip().startswith(expected + "\n"))
