"""An estate at a glance: filters, single points of failure, unused routes, text and chart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.analysis import Survey, survey_flows, survey_mermaid, survey_text
from streams.analysis.check import check_topology
from streams.analysis.paths.verdict import PathVerdict
from streams.topology import load
from tests.topology.build import NOW, SHIPPED, shipped, write


def survey(name: str, *senders: str, to: tuple[str, ...] = ()) -> Survey:
    return survey_flows(shipped(name), NOW, senders, to)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_format_of_every_topology(name: str) -> None:
    found = survey(name)
    assert all(len(line) <= 100 for line in survey_text(found).splitlines())
    assert survey_mermaid(found).startswith("flowchart LR\n")
    summary = json.loads(json.dumps(found.to_json()))["summary"]
    assert sum(summary[verdict.value] for verdict in PathVerdict) == len(found.answers)
    assert not found.services_unknown


@pytest.mark.parametrize(
    ("senders", "to", "count"),
    [
        ((), (), 11),
        (("ClientA",), (), 3),
        (("clienta/*", "RouterB/RoutingB"), (), 5),
        ((), ("OrdersNorth",), 4),
        ((), ("North/*",), 4),
        (("Router?",), ("*South",), 2),
        (("Nobody",), (), 0),
    ],
)
def test_patterns(senders: tuple[str, ...], to: tuple[str, ...], count: int) -> None:
    """Of senders or of what is reached, in any case; several add up."""
    assert len(survey("data_dependent", *senders, to=to).answers) == count


def test_what_flows_hang_on() -> None:
    found = survey("hub")
    [hub, *routes] = found.to_json()["single_points"]
    assert (hub["name"], hub["kind"]) == ("Hub", "instance")
    assert {point["kind"] for point in routes} == {"route"}
    assert "Hub, for 1 flow" in survey_text(found) and "class n1 single" in survey_mermaid(found)


def test_dialogs_with_an_unknown_target(tmp_path: Path) -> None:
    """They are no flows, and are reported: the list of flows may be incomplete."""
    yaml = """\
        instances: {A: {databases: {D: {services: [S], procedures: {
          P: {begins: [{service: S, unresolved: [TO SERVICE]}]}}}}}}"""
    topology = load(write(tmp_path, yaml), NOW)
    found = survey_flows(topology, NOW)
    assert found.to_json()["unsettled"][0]["procedure"] == "P"
    assert "the target of 1 BEGIN DIALOG is known only at run time: P of A/D" in survey_text(found)
    assert not survey_flows(topology, NOW, ("B",)).unsettled


def test_a_database_without_services_next_to_flows(tmp_path: Path) -> None:
    """Its flows may be missing; those of a database whose code names its service are listed."""
    yaml = """\
        instances:
          A: {databases: {D: {services: [S], routes: [%s]}, Bare: {routes: [%s]}, Code: {
            routes: [%s], procedures: {P: {begins: [{service: S, to: T}]}}}}}
          Gateway: {msdb: {routes: [%s]}}
""" % (("{name: R, service_name: T, address: 'tcp://B'}",) * 4)
    found = survey_flows(load(write(tmp_path, yaml), NOW), NOW)
    assert found.services_unknown == ("A/Bare",)
    assert survey_text(found).startswith("2 flows: 2 broken; ")


ANY_BROKER = """\
    instances:
      A:
        databases:
          D:
            services: [S]
            procedures: {P: {begins: [{service: S, to: T, contract: null,
              unresolved: [broker id, ON CONTRACT]}]}}
            routes: [%s]
      B: {databases: {D: {message_types: {M: {}}, contracts: {C: {M: any}},
        services: {T: {contracts: [C]}}, routes: [{name: Back, service_name: S, address: LOCAL}]}}}
"""


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([], []),
        (["x", "y"], ["A/D/S -> T (broker id x)", "A/D/S -> T (broker id y)"]),
        ([None], ["A/D/S -> T"]),  # by the route: nothing states it
    ],
)
def test_dialogs_with_an_unknown_broker_id(
    tmp_path: Path, routes: list[str | None], expected: list[str]
) -> None:
    """No dialog begins without one: the ids of routes are candidates, the BEGIN is reported."""
    rows = ", ".join(
        f"{{name: R{n}, service_name: T, address: 'tcp://B:4022'"
        + (f", broker_instance: {broker}}}" if broker else "}")
        for n, broker in enumerate(routes)
    )
    found_in = load(write(tmp_path, ANY_BROKER % rows), NOW)
    found = survey_flows(found_in, NOW)
    assert [str(answer.flow) for answer in found.answers] == expected
    assert all(answer.flow.contract is None for answer in found.answers)
    assert not any(answer.flow.stated for answer in found.answers)
    messages = [finding.message for finding in check_topology(found_in, NOW).findings]
    assert not any(message.startswith("the dialogs of A/D/S") for message in messages)
    [begin] = found.to_json()["unsettled"]
    assert (begin["procedure"], begin["to"]) == ("P", "T")
    text = "the broker id of 1 BEGIN DIALOG is known only at run time: P of A/D"
    assert text in survey_text(found)


def test_a_route_that_rests() -> None:
    """Told with its place; a filter leaves out what it does not concern."""
    found = survey("unfair_weights")
    [route] = found.to_json()["unused_routes"]
    assert (route["route"], route["at"], route["line"]) == (
        "TargetRouteC2",
        "ServerA/DatabaseA",
        12,
    )
    assert "TargetRouteC2: TargetService to tcp://ServerC:4022, line 12" in survey_text(found)
    assert not survey("unfair_weights", "ServerB").unused


def test_a_failure_is_reported_with_its_path() -> None:
    text = survey_text(survey("routing_loop"))
    assert "InitiatorService -> Svc: broken" in text and "by ServerA -> F1 -> F2" in " ".join(
        text.split()
    )
    assert text.startswith("1 flow: 1 broken; 0 single points of failure; 0 unused routes\n")


IDS = """
    CREATE DATABASE {name}
    GO
    USE {name}
    GO
    CREATE QUEUE Q; CREATE SERVICE {service} ON QUEUE Q ([DEFAULT]);
"""
ROUTE = "CREATE ROUTE R{0} WITH SERVICE_NAME = 'S', BROKER_INSTANCE = '{0}', ADDRESS = 'TCP://B'\n"


@pytest.mark.parametrize("stated", [False, True])
def test_ids_that_scripts_do_not_contain(tmp_path: Path, stated: bool) -> None:
    """One TA-04 for a service's routes; a failure is no 28017 while a database's id is unknown."""
    routes = "".join(ROUTE.format(n) for n in (1, 2, 3))
    back = "CREATE ROUTE Back WITH SERVICE_NAME = 'I', ADDRESS = 'TCP://A'"
    yaml = "instances: {A: {sql: [A.sql]}, B: {sql: [B.sql], databases: {E: {broker_id: X}}}}"
    write(tmp_path, yaml if stated else "", A=IDS.format(name="D", service="I") + routes,
          B=IDS.format(name="E", service="S") + back)  # fmt: skip
    topology = load(tmp_path, NOW)
    [finding] = [f for f in check_topology(topology, NOW).findings if f.code == "TA-04"]
    assert "routes R1, R2 and R3 name broker ids 1, 2 and 3 for S" in finding.message
    assert finding.severity.value == ("error" if stated else "warning")
    text = survey_text(survey_flows(topology, NOW))
    assert ("UNKNOWN ID at B: broker id 1 may be that of a database here" in text) is not stated
    assert ("28017" in text) is stated
