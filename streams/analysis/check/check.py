"""Run every check over a topology."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from streams.analysis.check.registry import Check
from streams.analysis.check.table import CHECKS
from streams.analysis.estate import Estate
from streams.topology import Finding, Severity, Topology

_ORDER = {severity: number for number, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Report:
    """Every finding, the worst first; those of one severity by code, then by place."""

    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Return how many findings of a severity there are."""
        return sum(finding.severity is severity for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the report by the contract's keys."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "summary": {severity.value: self.count(severity) for severity in Severity},
        }


def check_topology(topology: Topology, now: float, checks: Iterable[Check] = CHECKS) -> Report:
    """Return what is wrong with a topology; ``now`` (epoch seconds) tells what has expired."""
    estate = Estate(topology, now)
    found = {_key(finding): finding for check in checks for finding in check.find(estate)}
    return Report(tuple(found[key] for key in sorted(found)))


def _key(finding: Finding) -> tuple[int | str, ...]:
    place = (finding.file, finding.line, finding.column)
    return (_ORDER[finding.severity], finding.code, finding.subject, *place, finding.message)
