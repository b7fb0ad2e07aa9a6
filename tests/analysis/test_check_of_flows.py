"""Findings about flows: one for each cause, and none about what is merely not in the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from streams.analysis.check import check_topology
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answers_of, locked
from streams.analysis.paths.verdict import PathVerdict
from streams.topology import Finding, Severity, Topology, load
from tests.topology.build import NOW, SHIPPED, shipped, write

from .networks import estates

BROKEN = {"several_targets": {"TA-12"}, "routing_loop": {"TA-10"}}
"""What is wrong in shipped topologies; in all others nothing is."""


def findings(topology: Topology, *codes: str) -> list[Finding]:
    """Return the findings of some codes, or all."""
    report = check_topology(topology, NOW)
    return [f for f in report.findings if not codes or f.code in codes]


def errors(topology: Topology) -> set[str]:
    return {f.code for f in findings(topology) if f.severity is Severity.ERROR}


def small(folder: Path, instances: str) -> Topology:
    return load(write(folder, f"instances:\n{instances}"), NOW)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_false_alarm_on_a_shipped_topology(name: str) -> None:
    assert errors(shipped(name)) == BROKEN.get(name, set())


def test_several_targets_has_both_routes_as_evidence() -> None:
    [found] = findings(shipped("several_targets"), "TA-12")
    assert found.severity is Severity.ERROR and found.subject == "ServerA/DatabaseA"
    assert found.evidence["routes"] == ["TargetRouteB", "TargetRouteC"]
    assert found.evidence["places"] == ["ServerA/DatabaseA"] * 2
    assert found.evidence["targets"] == ["ServerB/DatabaseB", "ServerC/DatabaseC"]


def test_a_loop_is_reported_at_the_route_that_turns_back() -> None:
    [found] = findings(shipped("routing_loop"), "TA-10")
    assert found.subject == "F2/msdb" and found.line == 25
    assert found.evidence["path"] == ["ServerA", "F1", "F2", "F1"]
    assert found.evidence["routes"] == ["SvcRoute", "SvcRoute"]
    assert found.evidence["places"] == ["F1/msdb", "F2/msdb"]


SENDER = """
  A%d: {databases: {D: {broker_id: A%d, services: {I: {queue: Q, contracts: []}}, routes: [
    {name: R, service_name: S, broker_instance: DB, address: 'tcp://G'}]}}}
"""
GATEWAY = """
  G: {endpoint: {forwarding: %s}, msdb: {routes: [
    {name: R, service_name: S, address: 'tcp://B'}, {name: I, service_name: I, address: 'tcp://A1'}]}}
"""
TARGET = """
  B: {databases: {D: {broker_id: DB, services: {S: {queue: Q, contracts: [DEFAULT]}}, routes: [
    {name: R, service_name: I, address: 'tcp://%s'}]}}}
"""


def test_one_cause_is_one_finding_with_all_its_flows(tmp_path: Path) -> None:
    """Thirty databases send over a gateway that may not forward; twenty of them are named."""
    senders = "".join(SENDER % (n, n) for n in range(30))
    topology = small(tmp_path, senders + GATEWAY % "false" + TARGET % "G")
    [found] = findings(topology, "TA-08")
    assert found.subject == "G" and found.evidence["flow_count"] == 30
    assert len(found.evidence["flows"]) == 20
    assert "A0/D/I -> S and 29 more flows" in found.message
    assert errors(topology) == {"TA-08"}


def test_only_acknowledgements_may_be_stopped(tmp_path: Path) -> None:
    """The gateway is on the return path alone: cause and effect on the flow are reported."""
    sender = SENDER.replace("tcp://G", "tcp://B") % (1, 1)
    topology = small(tmp_path, sender + GATEWAY % "false" + TARGET % "G")
    assert errors(topology) == {"TA-08", "TA-09"}
    [found] = findings(topology, "TA-09")
    assert found.evidence["path"] == ["B", "G"] and "9792" in found.message


def test_what_is_not_in_the_folder_is_no_mistake(tmp_path: Path) -> None:
    """Hosts, services and broker ids that no instance has are legal."""
    topology = small(
        tmp_path,
        "  A: {databases: {D: {broker_id: A, services: {I: {queue: Q, contracts: []}}, routes: ["
        "{name: R, service_name: Far, broker_instance: X, address: 'tcp://elsewhere'}]}}}\n",
    )
    assert findings(topology) == []


def test_an_address_of_nobody_is_a_warning_where_the_service_is_known(tmp_path: Path) -> None:
    sender = SENDER.replace("tcp://G", "tcp://Bb") % (1, 1)
    [found] = findings(small(tmp_path, sender + TARGET % "A1"), "TA-05")
    assert found.severity is Severity.WARNING and "tcp://Bb:4022" in found.message


def test_an_id_that_only_a_server_knows_is_a_warning(tmp_path: Path) -> None:
    """A script does not say the broker id of its database, so a route may well be right."""
    guid = "5f0a4c1e-0d5c-4c1b-9f0e-000000000001"
    write(
        tmp_path,
        A=f"USE D; CREATE QUEUE Q; CREATE SERVICE I ON QUEUE Q; CREATE ROUTE R WITH SERVICE_NAME = "
        f"'S', BROKER_INSTANCE = '{guid}', ADDRESS = 'TCP://B:4022';",
        B=f"USE E; CREATE QUEUE Q; CREATE SERVICE S ON QUEUE Q ([DEFAULT]); CREATE ROUTE R WITH "
        f"SERVICE_NAME = 'I', BROKER_INSTANCE = '{guid}', ADDRESS = 'TCP://A:4022';",
    )
    topology = load(tmp_path, NOW)
    assert errors(topology) == set()
    assert {f.code for f in findings(topology) if f.severity is Severity.WARNING} == {"TA-04"}


def test_a_copy_that_is_a_mirror_shares_its_id_rightly() -> None:
    assert not findings(shipped("mirrored"), "TA-16", "TA-17")


def test_a_name_in_code_and_in_expectations_is_held_against_services(tmp_path: Path) -> None:
    """Not only those of routes: byte by byte (1.2)."""
    text = (SENDER % (1, 1) + TARGET % "A1").replace("tcp://G", "tcp://B")
    expect = "expect:\n  - {from: A1/D/I, to: 's '}\n"
    [found] = findings(load(write(tmp_path, f"instances:\n{text}{expect}"), NOW), "TA-03")
    assert found.evidence["meant"] == "S" and found.line == 9


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("verdict: broken", "expected verdict broken, found ok"),
        ("at: [A1/D]", "expected to reach A1/D, reaches B/D"),
        ("verdict: ok, at: [B/D]", ""),
        ("broker: X, verdict: ok", "found broken"),
    ],
)
def test_expectations(tmp_path: Path, expected: str, message: str) -> None:
    text = (SENDER % (1, 1) + TARGET % "A1").replace("tcp://G", "tcp://B")
    expect = f"expect:\n  - {{from: A1/D/I, to: S, {expected}}}\n"
    found = findings(load(write(tmp_path, f"instances:\n{text}{expect}"), NOW), "TA-45")
    assert [message in f.message for f in found] == ([True] if message else [])


def test_an_expectation_about_nothing(tmp_path: Path) -> None:
    text = (SENDER % (1, 1) + TARGET % "A1").replace("tcp://G", "tcp://B")
    expect = "expect:\n  - {from: A2/D/I, to: S, verdict: ok}\n"
    [found] = findings(load(write(tmp_path, f"instances:\n{text}{expect}"), NOW), "TA-45")
    assert "no instance 'A2'" in found.message and found.remedy == "The topology has: A1, B."


def test_a_dialog_that_begins_well_and_goes_on_badly(tmp_path: Path) -> None:
    """Once locked it follows the route with the broker id, which is used and wrong (2.1)."""
    topology = small(
        tmp_path,
        "  A1: {databases: {D: {broker_id: A1, services: {I: {queue: Q, contracts: []}}, routes: ["
        "{name: ByName, service_name: S, address: 'tcp://B'}, "
        "{name: ById, service_name: S, broker_instance: DB, address: 'tcp://G'}]}}}\n"
        "  G: {}\n" + TARGET % "A1",
    )
    [found] = findings(topology, "TA-05", "TA-13", "TA-24")
    assert found.code == "TA-05" and "route ById" in found.message


def test_a_gateway_that_fails_is_reported_once(tmp_path: Path) -> None:
    """Not again as a stale return route, nor as redundancy that deceives."""
    topology = small(
        tmp_path,
        "  A1: {databases: {D: {broker_id: A1, services: {I: {queue: Q, contracts: []}}, routes: ["
        "{name: R, service_name: S, address: 'tcp://G'}, "
        "{name: R2, service_name: S, address: 'tcp://H'}]}}}\n"
        + GATEWAY % "false" + GATEWAY.replace("G:", "H:") % "true"
        + (TARGET % "G").replace("}]", "}, {name: R2, service_name: I, address: 'tcp://H'}]"),
    )  # fmt: skip
    reported = [(f.code, f.severity) for f in findings(topology) if f.severity is not Severity.INFO]
    assert reported == [("TA-08", Severity.ERROR)]


def test_acknowledgements_that_leave_the_topology_are_a_warning(tmp_path: Path) -> None:
    sender = SENDER.replace("tcp://G", "tcp://B") % (1, 1)
    [found] = findings(small(tmp_path, sender + TARGET % "gone"), "TA-09")
    assert found.severity is Severity.WARNING and "tcp://gone:4022" in found.message


def test_a_wrong_port_on_the_return_path_is_reported_once(tmp_path: Path) -> None:
    """At the route, which is to be mended; that acknowledgements are lost follows from it."""
    sender = SENDER.replace("tcp://G", "tcp://B") % (1, 1)
    target = TARGET.replace("tcp://%s", "tcp://%s:1433") % "A1"
    assert errors(small(tmp_path, sender + target)) == {"TA-06"}
    assert not findings(small(tmp_path, sender + target), "TA-09")


def test_of_those_who_may_begin_one_that_is_answered_is_enough(tmp_path: Path) -> None:
    """J is answered over the gateway; that I is not tells only that I does not begin."""
    sender = "  A1: {databases: {D: {broker_id: A1, services: {%s}, routes: [{name: R, "
    sender += "service_name: S, address: 'tcp://B'}]}}}\n"
    only = "{queue: Q, contracts: []}"
    rest = (GATEWAY % "true").replace("service_name: I", "service_name: J")
    rest += (TARGET % "G").replace("service_name: I, ", "")
    assert not errors(small(tmp_path, sender % f"I: {only}, J: {only}" + rest))
    assert errors(small(tmp_path, sender % f"I: {only}" + rest)) == {"TA-09"}


def test_a_service_and_a_host_of_others(tmp_path: Path) -> None:
    """Neither is in the folder: no finding, unlike for a host alone."""
    topology = small(
        tmp_path,
        "  A: {databases: {D: {broker_id: A, services: {I: {queue: Q, contracts: []}}, routes: ["
        "{name: R, service_name: Far, address: 'tcp://elsewhere'}]}}}\n",
    )
    assert findings(topology) == []


def test_a_path_through_the_instance_itself_is_used(tmp_path: Path) -> None:
    """A route to this very instance is decided again by msdb, and is no dead route (R9)."""
    topology = small(
        tmp_path,
        "  A: {databases: {D: {broker_id: A, services: {I: {queue: Q, contracts: []}}, routes: ["
        "{name: R, service_name: S, address: 'tcp://localhost:4022'}]}, "
        "E: {broker_id: E, services: [S]}}}\n",
    )
    assert not findings(topology, "TA-05", "TA-24")


def chain(length: int, last: str) -> str:
    """Return forwarders that pass on what is for I, the last one to an address."""
    heads = [f"F{n + 1}" for n in range(1, length)] + [last]
    return "".join(
        f"  F{n}: {{endpoint: {{forwarding: true}}, msdb: {{routes: [{{name: I, service_name: I, "
        f"address: 'tcp://{head}'}}]}}}}\n"
        for n, head in enumerate(heads, start=1)
    )


@pytest.mark.parametrize(
    ("length", "last", "codes"),
    [(16, "A1", set()), (17, "A1", {"TA-09"}), (3, "F2", {"TA-09", "TA-10"})],
)
def test_acknowledgements_have_hops_too(
    tmp_path: Path, length: int, last: str, codes: set[str]
) -> None:
    """Sixteen are enough, seventeen are not, and a loop uses them up (11285)."""
    sender = SENDER.replace("tcp://G", "tcp://B") % (1, 1)
    topology = small(tmp_path, sender + chain(length, last) + TARGET % "F1")
    assert errors(topology) == codes
    assert all("11285" in f.message for f in findings(topology, "TA-09"))


def test_one_broker_id_is_nothing_to_balance(tmp_path: Path) -> None:
    """A route with it beside one without is how some dialogs are sent elsewhere."""
    sender = SENDER.replace("tcp://G'}]", "tcp://B'}, {name: N, service_name: S, "
                            "address: 'tcp://B'}]") % (1, 1)  # fmt: skip
    assert not findings(small(tmp_path, sender + TARGET % "A1"), "TA-13")


def test_a_random_target_is_reported_once(tmp_path: Path) -> None:
    """However many databases send to it, each by a decision of its own."""
    sender = "%s: {broker_id: %s, services: {I: {queue: Q, contracts: []}}, routes: [{name: R, "
    sender += "service_name: S, address: LOCAL}]}"
    senders = ", ".join(sender % (name, name) for name in "DE")
    both = ", ".join(f"T{n}: {{broker_id: T{n}, services: [S]}}" for n in (1, 2))
    [found] = findings(small(tmp_path, f"  A: {{databases: {{{senders}, {both}}}}}\n"), "TA-18")
    assert found.evidence["targets"] == ["A/T1", "A/T2"]


# --- Any estate ----------------------------------------------------------------------------------


@pytest.mark.long
@given(estates())
@settings(max_examples=200)
def test_only_broken_flows_have_error_findings(topology: Topology) -> None:
    """Every flow that does not arrive or return has a finding; without any, there is no error."""
    reported = findings(topology)
    assert json.dumps([finding.to_json() for finding in reported])
    about = {name for finding in reported for name in finding.evidence.get("flows", ())}
    estate = Estate(topology, NOW)
    broken = {
        str(answer.flow)
        for answer in answers_of(estate)
        if answer.verdict is not PathVerdict.OK
        or any(later.failures for later in locked(estate, answer))
    }
    assert broken <= about
    if not broken:
        assert not errors(topology)
