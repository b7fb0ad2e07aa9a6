"""A report as SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from streams.analysis.check.page import page_url
from streams.analysis.check.registry import Check
from streams.analysis.check.run import Report
from streams.topology import Finding, Severity, Suppression

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def report_sarif(
    report: Report, checks: Iterable[Check], base: Path, version: str, site: str | None = None
) -> dict[str, Any]:
    """Return a report as a SARIF log; the URIs of files are relative to the folder ``base``.

    ``site`` is the address of the documentation site; without ``site``, no rule has a ``helpUri``.
    """
    rules = tuple(checks)
    index = {check.code: number for number, check in enumerate(rules)}
    results = [_result(finding, index, base) for finding in report.findings]
    for taken in report.suppressed:
        result = _result(taken.finding, index, base)
        results.append({**result, "suppressions": [_suppression(taken.by)]})
    rows = [_rule(check, site) for check in rules]
    driver = {"name": "hopline", "version": version, "rules": rows}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(check: Check, site: str | None) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": check.code,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": check.why},
        "help": {"text": f"{check.why} {check.remedy} Rule: {check.rule}."},
        "defaultConfiguration": {"level": _LEVELS[check.severities[0]]},
    }
    return rule if site is None else {**rule, "helpUri": page_url(check.code, site)}


def _result(finding: Finding, index: dict[str, int], base: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. {finding.remedy}"},
        "locations": [_location(finding, base)],
        "properties": {"evidence": dict(finding.evidence)},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    return result


def _location(finding: Finding, base: Path) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": finding.subject}]}
    if finding.file:
        uri = {"uri": relative_uri(finding.file, base), "uriBaseId": "%SRCROOT%"}
        location["physicalLocation"] = {"artifactLocation": uri}
        region = {"startLine": finding.line, "startColumn": finding.column}
        if finding.line:
            location["physicalLocation"]["region"] = {k: v for k, v in region.items() if v}
    return location


def _suppression(by: Suppression) -> dict[str, str]:
    return {"kind": "external", "status": "accepted", "justification": by.reason}


def relative_uri(file: str, base: Path) -> str:
    """Return a file's place as a URI relative to a folder, with ``..`` for a file outside of it."""
    try:
        return quote(PurePath(os.path.relpath(file, base)).as_posix())
    except ValueError:  # on another drive
        return Path(file).absolute().as_uri()
