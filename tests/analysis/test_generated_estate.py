"""`check` and generated estates: healthy ones have no error, and every planted defect is found."""

from __future__ import annotations

from streams.analysis.check import check_topology
from streams.topology import Severity
from streams.topology.generate import KINDS, Wish, generate_estate

NOW = 1_700_000_000.0


def test_a_healthy_estate_has_no_error() -> None:
    estate = generate_estate(Wish(120, 1_000, seed=7))
    report = check_topology(estate.topology, NOW)
    assert [f for f in report.findings if f.severity is Severity.ERROR] == []


def test_every_planted_defect_is_found() -> None:
    """By its code and its severity, at its subject."""
    estate = generate_estate(Wish(300, 2_500, seed=4, defects=2 * len(KINDS)))
    report = check_topology(estate.topology, NOW)
    found = {(f.code, f.severity, f.subject) for f in report.findings}
    assert {(d.code, d.severity, d.subject) for d in estate.defects} <= found
