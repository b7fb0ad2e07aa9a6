"""The findings of ``check`` that commands about a single flow also report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams.analysis.estate import Estate
from streams.analysis.hazards.contracts import contracts
from streams.analysis.hazards.endpoints import endpoints
from streams.analysis.hazards.identity import clashes
from streams.analysis.hazards.passage import Passage
from streams.analysis.hazards.security import security
from streams.analysis.paths.splits import Split, split_finding
from streams.topology import Finding, Severity

CODES = ("TA-12", "TA-17", "TA-31", "TA-39", "TA-42", "TA-48", "TA-49")
"""Codes that can be hazards: a dialog reaches several targets, or no target although a path exists.

Messages that do not arrive or are not acknowledged need no finding, because their paths show the
failure.
"""


def hazards_of(estate: Estate, passage: Passage, splits: Sequence[Split]) -> tuple[Finding, ...]:
    """Return the errors among the findings of ``CODES`` about a flow, sorted by code."""
    found = (f for f in _found(estate, passage, splits) if f.severity is Severity.ERROR)
    return tuple(sorted(found, key=lambda finding: finding.code))


def _found(estate: Estate, passage: Passage, splits: Sequence[Split]) -> Iterator[Finding]:
    for split in splits:
        yield split_finding(estate.topology, split, passage.flow.to)
    yield from clashes(estate, passage)
    yield from contracts(estate, passage)
    yield from endpoints(estate, (passage,))
    yield from security(estate, (passage,))
