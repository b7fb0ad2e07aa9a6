"""Run every check over a topology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from streams.analysis.check.registry import Check
from streams.analysis.check.suppress import Suppressed, suppress
from streams.analysis.check.table import CHECKS
from streams.analysis.estate import SOON, Estate
from streams.topology import Finding, Severity, Suppression, Topology

_CODES = frozenset(check.code for check in CHECKS)
_ORDER = {severity: number for number, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, worst first; findings of one severity are sorted by code, then by place.

    ``suppressed``: the findings that a suppression covers; all other counts exclude them.
    """

    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def reaches(self, severity: Severity) -> bool:
        """Return whether there is a finding of a severity, or of a worse severity."""
        return any(_ORDER[f.severity] <= _ORDER[severity] for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the report as a dictionary with the keys of the JSON output."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "summary": {severity.value: self.count(severity) for severity in Severity},
            "suppressed": [suppressed.to_json() for suppressed in self.suppressed],
        }


def check_topology(
    topology: Topology,
    now: float,
    checks: Iterable[Check] = CHECKS,
    suppressions: Sequence[Suppression] = (),
    *,
    soon: float = SOON,
) -> Report:
    """Return the findings of a topology; ``now`` (epoch seconds) decides what has expired.

    Objects that expire within ``soon`` (seconds) are reported in advance.
    """
    estate = Estate(topology, now, soon)
    found = {_key(finding): finding for check in checks for finding in check.find(estate)}
    left, taken = suppress(found.values(), suppressions, now, _CODES)
    return Report(
        tuple(sorted(left, key=_key)), tuple(sorted(taken, key=lambda s: _key(s.finding)))
    )


def _key(finding: Finding) -> tuple[int | str, ...]:
    place = (finding.file, finding.line, finding.column)
    return (_ORDER[finding.severity], finding.code, finding.subject, *place, finding.message)
