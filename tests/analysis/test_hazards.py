"""What ``check`` tells of a flow as an error is a hazard of its path, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.analysis import (
    Estate,
    answer_flow,
    find_paths,
    find_sender,
    flows_of,
    path_mermaid,
    path_text,
)
from streams.analysis.check import check_topology
from streams.analysis.hazards.hazards import CODES
from streams.analysis.paths.path import Paths
from streams.analysis.paths.verdict import PathVerdict
from streams.topology import Finding, Severity, Topology, load
from tests.findings.folders import FOLDERS, NOW
from tests.topology.build import SHIPPED, shipped

FIXTURES = sorted(
    str(file.parent.relative_to(FOLDERS)) for file in FOLDERS.glob("TA-*/*/topology.yaml")
)
Hazards = set[tuple[str, str, str, int]]


def hazards_among(findings: tuple[Finding, ...]) -> Hazards:
    """Return the hazards among findings: which, about what, and where."""
    return {
        (f.code, f.subject, f.file, f.line)
        for f in findings
        if f.code in CODES and f.severity is Severity.ERROR
    }


def agree(topology: Topology) -> Hazards:
    """Hold path, flows and check against each other; return what check alone tells."""
    report = check_topology(topology, NOW)
    estate, left = Estate(topology, NOW), hazards_among(report.findings)
    for flow in flows_of(estate):
        path = find_paths(topology, flow.sender, flow.to, NOW, broker=flow.broker)
        answer = answer_flow(estate, flow)
        assert path.verdict is answer.verdict
        assert (
            hazards_among(path.hazards)
            == hazards_among(answer.hazards)
            == hazards_among(_about(str(flow), report.findings))
        )
        left -= hazards_among(path.hazards)
    return left


def _about(flow: str, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings that name a flow."""
    return tuple(
        f
        for f in findings
        if f.code in CODES and flow in (f.evidence.get("flow"), *f.evidence.get("flows", ()))
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_topologies(name: str) -> None:
    """Every error of these codes is about some flow, whose path tells it."""
    assert agree(shipped(name)) == set()


@pytest.mark.parametrize("name", FIXTURES)
def test_the_findings_own_topologies(name: str) -> None:
    """Those that trigger a finding and those that do not; a clash may be beside every flow."""
    left = agree(load(FOLDERS / name, NOW))
    assert {code for code, *_ in left} <= ({"TA-17"} if name == "TA-17/triggers" else set())


def ask(folder: Path | str) -> Paths:
    """Follow the path of a finding's own topology."""
    topology = load(FOLDERS / folder, NOW)
    place = find_sender(topology, "ServerA/DatabaseA/InitiatorService", "TargetService")
    return find_paths(topology, place, "TargetService", NOW)


@pytest.mark.parametrize("code", CODES)
def test_a_path_has_its_hazards(code: str) -> None:
    """In the verdict, as text, as JSON and beside the chart; a clean topology is ok."""
    paths = ask(f"{code}/triggers")
    assert paths.verdict is PathVerdict.HAZARD and not paths.good
    assert f"\n{code}: " in path_text(paths) and f'>"{code}: ' in path_mermaid(paths)
    assert {found["code"] for found in paths.to_json()["hazards"]} == {code}
    assert ask(f"{code}/clean").verdict is PathVerdict.OK


DIFFERENT = """
instances:
  ServerA:
    databases:
      DatabaseA:
        message_types: {Order: {}, Reply: {}}
        contracts: {OrderContract: {Order: initiator, Reply: initiator}}
        services: {InitiatorService: {contracts: []}}
      DatabaseB:
        message_types: {Order: {}, Reply: {}}
        contracts: {OrderContract: {Order: initiator, Reply: target}}
        services: {TargetService: {contracts: [OrderContract]}}
"""


def test_a_warning_is_no_hazard(tmp_path: Path) -> None:
    """Nothing tells whether the flow uses the contract that differs."""
    (tmp_path / "topology.yaml").write_text(DIFFERENT, encoding="utf-8")
    warned = check_topology(load(tmp_path, NOW), NOW).findings
    assert [(f.code, f.severity) for f in warned if f.code in CODES] == [
        ("TA-31", Severity.WARNING)
    ]
    assert ask(tmp_path).verdict is PathVerdict.OK
