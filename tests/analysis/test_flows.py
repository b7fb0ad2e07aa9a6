"""The flows of an estate: stated flows, flows that objects suggest, and what is no flow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams.analysis import flows_of
from streams.analysis.estate import Estate
from streams.analysis.flows.flows import Clue, Flow
from streams.topology import BeginDialog, Procedure, Topology, load
from tests.topology.build import NOW, shipped, write

TARGET = "{broker_id: DB, services: {S: {queue: Q, contracts: [C]}}, contracts: {C: {M: any}}}"


def flows(topology: Topology) -> tuple[Flow, ...]:
    return flows_of(Estate(topology, NOW))


def found(folder: Path, instances: str) -> list[str]:
    """Return the flows of instances given as YAML."""
    return [str(flow) for flow in flows(load(write(folder, f"instances:\n{instances}"), NOW))]


def test_combined_has_one() -> None:
    """The return routes of its targets are no flows: nobody can be a target at the initiator."""
    [flow] = flows(shipped("combined"))
    assert str(flow) == "ServerA/DatabaseA/InitiatorService -> TargetService"
    assert [e.clue for e in flow.why][:2] == [Clue.EXPECT, Clue.ROUTE]
    assert flow.stated and flow.contract == "//hopline/OrderContract"


def test_data_dependent_routing() -> None:
    """A return path to a router from a partition that the router is said to call is no flow."""
    names = {str(flow) for flow in flows(shipped("data_dependent"))}
    assert "RouterA/RoutingA/DataDependentRouting -> OrdersSouth" in names
    assert "North/North/OrdersNorth -> DataDependentRouting" not in names


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ("routes: [{name: R, service_name: S, address: 'tcp://B'}]", Clue.ROUTE),
        ("bindings: [{name: R, to_service: S, user: U}]", Clue.BINDING),
        ("priorities: [{name: R, remote_service_name: S, level: 8}]", Clue.PRIORITY),
        ("contracts: {C: {M: any}}, message_types: {M: {}}", Clue.CONTRACT),
    ],
)
def test_what_objects_suggest(tmp_path: Path, objects: str, why: Clue) -> None:
    """A route, a binding, a priority, or a contract that one service alone accepts."""
    here = f"{{broker_id: DA, services: {{I: {{queue: Q, contracts: []}}}}, {objects}}}"
    yaml = f"instances:\n  A: {{databases: {{D: {here}}}}}\n  B: {{databases: {{D: {TARGET}}}}}\n"
    [flow] = flows(load(write(tmp_path, yaml), NOW))
    assert (str(flow), [e.clue for e in flow.why]) == ("A/D/I -> S", [why])
    assert not flow.stated


def with_code(topology: Topology, *begins: BeginDialog) -> Topology:
    """Give A/D a procedure that begins dialogs."""
    instance = topology.instances["A"]
    procedures = {"P": Procedure("P", begins)}
    database = replace(instance.databases["D"], procedures=procedures)
    changed = replace(instance, databases={**instance.databases, "D": database})
    return replace(topology, instances={**topology.instances, "A": changed})


ROUTED = """
  A: {databases: {D: {broker_id: DA, services: {I: {queue: Q, contracts: []}, J: {queue: Q,
    contracts: []}}, routes: [{name: R, service_name: S, address: 'tcp://B'}]}}}
  B: {databases: {D: {broker_id: DB, services: [S], routes: [%s]}}}
"""


def test_code_settles_who_begins_and_with_which_broker_id(tmp_path: Path) -> None:
    """Then a route to the same service only confirms it."""
    topology = load(write(tmp_path, f"instances:{ROUTED % ''}"), NOW)
    coded = with_code(topology, BeginDialog("J", "S", "DB", "C"), BeginDialog("J", None))
    [flow] = flows(coded)
    assert (flow.sender.service, flow.broker, flow.contract) == ("J", "DB", "C")
    assert [e.clue for e in flow.why] == [Clue.BEGIN, Clue.ROUTE]


def test_who_begins_is_whom_the_target_has_a_route_to(tmp_path: Path) -> None:
    """Of several services that can only initiate; where nothing tells, each may be meant."""
    back = "{name: R, service_name: J, address: 'tcp://A'}"
    assert found(tmp_path, ROUTED % back) == ["A/D/J -> S"]
    assert found(tmp_path, ROUTED % "") == ["A/D/I -> S", "A/D/J -> S"]


def test_a_service_that_shares_a_contract_begins(tmp_path: Path) -> None:
    """Where none can only initiate."""
    assert found(
        tmp_path,
        "  A: {databases: {D: {services: {I: {queue: Q, contracts: [C]}, K: {queue: Q, contracts: "
        "[X]}}, contracts: {C: {M: any}}, routes: [{name: R, service_name: S, address: 'tcp://B'}]"
        f"}}}}}}\n  B: {{databases: {{D: {TARGET}}}}}\n",
    ) == ["A/D/I -> S"]


def test_a_route_back_under_a_contract_of_the_other_side_is_no_flow(tmp_path: Path) -> None:
    """B cannot begin a dialog with A's service: it does not have the contract that A accepts."""
    assert found(
        tmp_path,
        "  A: {databases: {D: {contracts: {C: {M: any}, X: {M: any}}, services: {I: {queue: Q, "
        "contracts: [X]}}, routes: [{name: R, service_name: S, address: 'tcp://B'}]}}}\n"
        "  B: {databases: {D: {contracts: {C: {M: any}}, services: {S: {queue: Q, contracts: [C]}},"
        " routes: [{name: R, service_name: I, address: 'tcp://A'}]}}}\n",
    ) == ["A/D/I -> S"]


def test_who_is_off_or_a_mirror_sends_nothing(tmp_path: Path) -> None:
    route = "routes: [{name: R, service_name: S, address: 'tcp://B'}]"
    for state in ("broker: disabled", "mirror: {pair: P, role: mirror}"):
        assert not found(
            tmp_path,
            f"  A: {{databases: {{D: {{services: {{I: {{queue: Q, contracts: []}}}}, {state}, "
            f"{route}}}}}}}\n  B: {{databases: {{D: {TARGET}}}}}\n",
        )


def test_a_route_to_a_service_that_is_elsewhere_is_a_flow(tmp_path: Path) -> None:
    """Not everything is in the folder; to oneself nobody talks by a route."""
    assert found(
        tmp_path,
        "  A: {databases: {D: {services: {I: {queue: Q, contracts: []}, S: {queue: Q}}, routes: ["
        "{name: R, service_name: Far, address: 'tcp://B'}, "
        "{name: L, service_name: SQL/ServiceBroker/BrokerConfiguration, address: LOCAL}]}}}\n",
    ) == ["A/D/I -> Far"]
