"""Every finding both ways: a topology that triggers it and one that does not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from streams.analysis.check import CHECKS, Check
from streams.topology import Finding

from .folders import FOLDERS, report_of

EVERY = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)


def found(check: Check, folder: str) -> list[Finding]:
    """Return the findings of a check in one of its folders."""
    report = report_of(FOLDERS / check.code / folder)
    return [finding for finding in report.findings if finding.code == check.code]


def every() -> Iterator[Finding]:
    for check in CHECKS:
        yield from report_of(FOLDERS / check.code / "triggers").findings


@EVERY
def test_one_topology_triggers_it(check: Check) -> None:
    findings = found(check, "triggers")
    assert findings
    assert {finding.severity for finding in findings} <= set(check.severities)


@EVERY
def test_the_other_does_not(check: Check) -> None:
    assert found(check, "clean") == []


@EVERY
def test_a_finding_says_what_where_and_what_to_do(check: Check) -> None:
    """Message and remedy in words, the object, its place, and evidence that scripts can read."""
    for finding in found(check, "triggers"):
        assert finding.message and not finding.message.endswith(".")
        assert finding.remedy.endswith(".")
        assert finding.subject
        assert finding.file and finding.line
        assert finding.evidence and json.dumps(finding.to_json())


@EVERY
def test_it_is_told_at_the_marked_lines(check: Check) -> None:
    """A comment with the code marks each place in the topology that triggers it."""
    marked = {
        (str(path), number)
        for path in (FOLDERS / check.code / "triggers").iterdir()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith((f"# {check.code}", f"-- {check.code}"))
    }
    assert {(finding.file, finding.line) for finding in found(check, "triggers")} == marked


@EVERY
def test_a_check_has_a_page(check: Check) -> None:
    assert check.severities and check.rule
    assert check.title and not check.title.endswith(".")
    assert check.why.endswith(".") and check.remedy.endswith(".")


def test_codes_are_unique_and_in_order() -> None:
    codes = [check.code for check in CHECKS]
    assert codes == sorted(set(codes))


def test_every_folder_has_a_check() -> None:
    folders = {path.name for path in FOLDERS.glob("TA-*")}
    assert folders == {check.code for check in CHECKS}


def test_nothing_is_told_by_a_code_or_severity_that_has_no_page() -> None:
    severities = {check.code: set(check.severities) for check in CHECKS}
    for finding in every():
        assert finding.severity in severities[finding.code], finding
