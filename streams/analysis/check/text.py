"""Format a report, and the page of a check, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from streams.analysis.check.page import page_url
from streams.analysis.check.registry import Check
from streams.analysis.check.run import Report
from streams.prose import counted, lines, one_line, wrapped
from streams.topology import Finding, Severity

Paint = Callable[[Severity, str], str]
"""Return a string in the colour of a severity."""
_INFOS = 10
"""Maximum number of infos shown per code, so that errors stay visible in a large estate."""


def _plain(severity: Severity, text: str) -> str:
    return text


def report_text(report: Report, paint: Paint = _plain, site: str | None = None) -> str:
    """Return a report as text, worst findings first, wrapped to the output width (except paths).

    Control characters are escaped here, not when the text is printed, because it has colours.
    ``site`` is the address of the documentation site, for a link to the page of each code.
    """
    return "\n".join(_lines(report, paint, site)) + "\n"


def _lines(report: Report, paint: Paint, site: str | None) -> Iterator[str]:
    for severity in Severity:
        group = [finding for finding in report.findings if finding.severity is severity]
        if group:
            yield paint(severity, counted(len(group), severity.value))
            yield ""
        for code, alike in groupby(group, key=lambda finding: finding.code):
            yield from _alike_lines(code, tuple(alike), severity, paint)
            if site is not None:
                yield from (f"{paint(severity, code)}  see {page_url(code, site)}", "")
    yield _summary(report)


def _alike_lines(
    code: str, findings: tuple[Finding, ...], severity: Severity, paint: Paint
) -> Iterator[str]:
    shown = findings[:_INFOS] if severity is Severity.INFO else findings
    for finding in shown:
        yield from _finding_lines(finding, paint)
        yield ""
    if len(shown) < len(findings):
        more = len(findings) - len(shown)
        yield f"{paint(severity, code)}  {more} more like these: see --format json"
        yield ""


def _summary(report: Report) -> str:
    counts = ", ".join(counted(report.count(s), s.value) for s in Severity)
    more = f"; {len(report.suppressed)} suppressed" if report.suppressed else ""
    return f"{counts}{more}"


def _finding_lines(finding: Finding, paint: Paint) -> Iterator[str]:
    place = one_line(str(finding.source)) or "(no file)"
    yield f"{paint(finding.severity, finding.code)}  {one_line(finding.subject)}  {place}"
    yield from wrapped(lines(finding.message) + ".", "  ")
    yield from wrapped(lines(finding.remedy), "  > ", "    ")


def page_text(check: Check, site: str | None = None) -> str:
    """Describe a check as text, with a link to its page in the ``site``."""
    severities = " or ".join(severity.value for severity in check.severities)
    rule = f"{check.rule} (docs/conformance.md, The reference)"
    lines = [f"{check.code}  {check.title}", "", *wrapped(f"Severity: {severities}. Rule: {rule}.")]
    for text in (check.why, check.remedy):
        lines += ["", *wrapped(text)]
    if site is not None:
        lines += ["", page_url(check.code, site)]
    return "\n".join(lines) + "\n"
