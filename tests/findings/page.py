"""``docs/findings.md`` and the list in each shipped topology's README, made from what is checked.

``python -m tests.findings --write`` makes all of them anew.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from streams.analysis.check import CHECKS, Check
from streams.resources import topologies_dir
from streams.topology import Severity

from .folders import FOLDERS, report_of

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
HEADING = "## Warnings and infos\n"
COMMAND = "python -m tests.findings --write"
_LANGUAGES = {".yaml": "yaml", ".sql": "sql"}
_INTRODUCTION = f"""# Findings of `hopline check`

<!-- Generated: {COMMAND} -->

Look up a finding, correct it, or suppress it:

    hopline check TOPOLOGY            # find errors in a topology before anything is sent
    hopline check --explain TA-12     # print the explanation of one finding

Each finding has two minimal topologies, which are also tests. The first one has the finding, at the
line with the code in a comment; the second one does not have it. "Reference" is the
[semantics of Service Broker](conformance.md#the-reference).

To accept a finding, add it to `suppressions.yaml` next to the topology, or to the file
that `--suppress` names. Example of an entry:
`{{code: TA-24, subject: 'ServerA/*', reason: why, until: 2031-01-31}}`.
Without `subject`, an entry covers all subjects; without `until`, it does not expire.
"""


def pages() -> Mapping[Path, str]:
    """Return every generated file with what it should hold."""
    readmes = sorted(topologies_dir().glob("*/README.md"))
    return {PAGE: _page(), **{readme: _readme(readme) for readme in readmes}}


def _page() -> str:
    lines = [_INTRODUCTION, *_table(), *(line for c in CHECKS for line in finding_lines(c))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table() -> Iterator[str]:
    yield from ("| code | severity | finding |", "| --- | --- | --- |")
    for check in CHECKS:
        anchor = check.code.lower()
        yield f"| [{check.code}](#{anchor}) | {_severities(check)} | {check.title} |"
    yield ""


def _severities(check: Check) -> str:
    return " or ".join(severity.value for severity in check.severities)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 115, break_on_hyphens=False)


def finding_lines(check: Check) -> Iterator[str]:
    """Yield the part of the page about one finding; its heading is first."""
    yield from (f"## {check.code}", "")
    yield f"**{check.title}.** {_severities(check).capitalize()}; {check.rule}."
    yield from ("", *_wrapped(check.why), "", *_wrapped(f"*What to do:* {check.remedy}"), "")
    yield from ("With the finding:", "")
    yield from _topology(FOLDERS / check.code / "triggers")
    yield from ("Without the finding:", "")
    yield from _topology(FOLDERS / check.code / "clean")


def _topology(folder: Path) -> Iterator[str]:
    files = sorted(path for path in folder.iterdir() if path.suffix in _LANGUAGES)
    for path in files:
        if len(files) > 1:
            yield from (f"`{path.name}`:", "")
        text = path.read_text(encoding="utf-8").strip("\n")
        yield from (f"```{_LANGUAGES[path.suffix]}", text, "```", "")


def _readme(readme: Path) -> str:
    """Return a shipped topology's README with the list of its warnings and infos made anew."""
    head, heading, rest = readme.read_text(encoding="utf-8").partition(HEADING)
    _, more, tail = rest.partition("\n## ")
    findings = [f for f in report_of(readme.parent).findings if f.severity is not Severity.ERROR]
    lines = [f"- {f.code} ({f.severity.value}) at {f.subject}: {f.message}." for f in findings]
    return head + heading + "\n" + "\n".join(lines or ["None."]) + "\n" + more + tail


def main(arguments: list[str]) -> int:
    """Rewrite the files, or report which of them are stale."""
    stale = [p for p, text in pages().items() if p.read_text(encoding="utf-8") != text]
    if "--write" in arguments:
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
        return 0
    for path in stale:
        print(f"{path} is stale: {COMMAND}", file=sys.stderr)
    return int(bool(stale))
