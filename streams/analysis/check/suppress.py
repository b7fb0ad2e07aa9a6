"""Remove accepted findings from a report, and report suppressions that no longer apply."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.topology import Finding, Severity, Suppression, finding_at

CODE = "TA-46"


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding with the suppression that covers it."""

    finding: Finding
    by: Suppression

    def to_json(self) -> dict[str, Any]:
        """Return the finding as for JSON output, and the reason for its suppression."""
        until = None if self.by.until is None else self.by.until.isoformat()
        place = self.by.source
        return {
            **self.finding.to_json(),
            "suppression": {
                "reason": self.by.reason,
                "until": until,
                "file": place.file,
                "line": place.line,
                "column": place.column,
            },
        }


def suppress(
    findings: Iterable[Finding],
    suppressions: Sequence[Suppression],
    now: float,
    codes: Collection[str],
) -> tuple[list[Finding], list[Suppressed]]:
    """Return the remaining findings (with TA-46 for unused suppressions) and the suppressed ones.

    ``codes`` are the codes that findings can have.
    """
    left: list[Finding] = []
    taken: list[Suppressed] = []
    valid = [s for s in suppressions if not s.expired(now)]
    for finding in findings:
        by = next((s for s in valid if s.covers(finding)), None)
        if by is None:
            left.append(finding)
        else:
            taken.append(Suppressed(finding, by))
    wrong = [s for s in suppressions if s.code.upper() not in codes]
    left += (_no_such(one) for one in wrong)
    others = [s for s in suppressions if s not in wrong]
    left += _unused(others, [t.finding for t in taken], left, now)
    return left, taken


def _no_such(one: Suppression) -> Finding:
    what = f"matches no finding: there is no {one.code}"
    return _finding(one, what, "Correct the code; hopline check prints the codes of findings.")


def _unused(
    suppressions: Sequence[Suppression], taken: list[Finding], left: list[Finding], now: float
) -> Iterator[Finding]:
    for one in suppressions:
        if one.expired(now):
            hit = any(one.covers(finding) for finding in left)
            what = f"was valid until {one.until}" + (", but the finding still exists" * hit)
            yield _finding(one, what, "Correct the topology, or set a later date in until.")
        elif not any(one.covers(finding) for finding in taken):
            yield _finding(one, "matches no finding", "Remove it, or correct code and subject.")


def _finding(one: Suppression, what: str, remedy: str) -> Finding:
    return finding_at(
        CODE, Severity.WARNING,
        f"the suppression of {one.code} for {one.subject} {what}", remedy,
        one.subject, one.source,
        {"code": one.code, "subject": one.subject, "reason": one.reason,
         "until": None if one.until is None else one.until.isoformat()},
    )  # fmt: skip


def _nothing(estate: Estate) -> Iterable[Finding]:
    """Find nothing, because suppressions are checked after all other findings."""
    return ()


CHECKS = (
    Check(
        CODE,
        "A suppression that suppresses nothing",
        (Severity.WARNING,),
        "suppressions.yaml",
        "A suppression accepts a finding after a review. If it matches no finding, it has no "
        "effect now, but would hide a later finding without a review. An "
        "expired suppression has no effect either.",
        "Remove it, correct its code and subject, or set a new last day.",
        _nothing,
    ),
)
