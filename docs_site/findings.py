"""A page for each finding of ``hopline check``, from the rows behind ``docs/findings.md``."""

from __future__ import annotations

from collections.abc import Iterator

from docs_site.page import DOCS, Page
from streams.analysis.check import CHECKS
from streams.analysis.check.page import page_path
from tests.findings.page import finding_lines

_SOURCE = "docs/findings.md"


def pages() -> Iterator[Page]:
    """Yield the list of findings, and a page for each."""
    whole = (DOCS / "findings.md").read_text(encoding="utf-8")
    listed = whole.partition("\n## ")[0] + "\n"
    yield Page("reference/findings/index.md", listed, _SOURCE, (_SOURCE,))
    for check in CHECKS:
        lines = list(finding_lines(check))
        text = "\n".join(lines).removeprefix(f"## {check.code}\n\n**{check.title}.** ")
        text = f"# {check.code}: {check.title}\n\n{text}\n"
        path = page_path(check.code).rstrip("/") + ".md"
        yield Page(path, text, _SOURCE, (f"{_SOURCE}#{check.code.lower()}",))
