"""Pages of files outside ``docs/``: README, changelog, shipped topologies, decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docs_site.page import DOCS, ROOT, Page, block, table
from streams.resources import topologies_dir

FILES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security_policy.md",
    "THIRD_PARTY_NOTICES.md": "third_party_notices.md",
    "streams/README.md": "packages.md",
    "tests/README.md": "tests.md",
}
"""Files of the repository that are pages, and the path of each in the site."""
_LANGUAGES = {".avsc": "json", ".json": "json", ".md": "markdown", ".py": "python", ".sql": "sql",
              ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}  # fmt: skip
_TOPOLOGIES = """\
# Shipped topologies

Each topology shows one feature. Commands accept its name: `hopline check hub`.

"""
_DECISIONS = """\
# Decisions

Design decisions and their reasons. No decision has the number 33 or 36.

"""


def pages() -> Iterator[Page]:
    """Yield the pages of the repository's files."""
    for file, path in FILES.items():
        head = "---\nhide: [navigation]\n---\n\n" if path == "index.md" else ""
        yield Page(path, head + (ROOT / file).read_text(encoding="utf-8"), file, (file,))
    yield from _topologies()
    files = sorted((DOCS / "decisions").glob("*.md"))
    rows = [(f"[{_title(file)}]({file.name})",) for file in files]
    yield Page("decisions/index.md", _DECISIONS + table(("",), rows), "", ("docs/decisions",))


def listing(file: str) -> Page:
    """Return the page of any other file to which a page links."""
    suffix = Path(file).suffix
    text = block((ROOT / file).read_text(encoding="utf-8"), _LANGUAGES.get(suffix, "text"))
    head = "---\nsearch:\n  exclude: true\n---\n\n"
    return Page(f"source/{file}.md", f"{head}# {file}\n\n{text}", file, (file,))


def _topologies() -> Iterator[Page]:
    folders = sorted(readme.parent for readme in topologies_dir().glob("*/README.md"))
    rows = [(f"[`{one.name}`]({one.name}.md)", _title(one / "README.md")) for one in folders]
    head = _TOPOLOGIES + table(("name", "what it shows"), rows)
    yield Page("topologies/index.md", head, "", ("topologies",))
    for folder in folders:
        readme = f"topologies/{folder.name}/README.md"
        text = (folder / "README.md").read_text(encoding="utf-8")
        path = f"topologies/{folder.name}.md"
        yield Page(path, text + "\n" + _files(folder), readme, (readme,))


def _files(folder: Path) -> str:
    lines = ["## Its files", ""]
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".yaml", ".sql", ".py"):
            text = block(file.read_text(encoding="utf-8"), _LANGUAGES[file.suffix])
            lines += [f"`{file.relative_to(folder).as_posix()}`:", "", text]
    return "\n".join(lines)


def _title(file: Path) -> str:
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ")
