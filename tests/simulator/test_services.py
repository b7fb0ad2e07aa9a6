"""Data-dependent routing as applications of a scenario (reference, section 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streams.protocol import END_DIALOG, ERROR
from streams.services.data_dependent import read_error
from streams.simulator import SECOND, Result, Simulation, read_scenario
from tests.node.evidence import shows
from tests.simulator.build import bodies, path_of, run, shipped

SEEDS = range(3)
CLIENT_A, CLIENT_B = "ClientA/ClientA/ClientQueue", "ClientB/ClientB/ClientQueue"
NORTH, SOUTH = "North/North/OrderQueue", "South/South/OrderQueue"
ROUTERS = ("RouterA/RoutingA/RoutingQueue", "RouterB/RoutingB/RoutingQueue")
FIRST = "<message><toServiceName>OrdersNorth</toServiceName></message>"


def before(seed: int, seconds: int) -> Result:
    """Return the shipped scenario as it is after some seconds."""
    topology, scenario = read_scenario(path_of("data_dependent", "router"))
    return Simulation(topology, replace(scenario, until=seconds * SECOND), seed).run()


def by_dialog(result: Result, queue: str) -> dict[str, list[dict[str, Any]]]:
    """Return a queue's rows by conversation."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in result.queues.get(queue, []):
        found.setdefault(row["conversation"], []).append(row)
    return found


@shows("EX-68", "6-1")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_68_the_first_message_is_classified_and_the_others_follow(seed: int) -> None:
    result = before(seed, 20)
    bodies = [FIRST, "no XML at all 0", "no XML at all 1"]
    north, south = by_dialog(result, NORTH), by_dialog(result, SOUTH)
    assert [[row["body"] for row in rows] for rows in north.values()] == [bodies] * 20
    # The second message names North, and is not asked.
    assert [[row["body"] for row in rows] for rows in south.values()] == [
        [FIRST.replace("North", "South"), FIRST]
    ] * 20
    groups: dict[str, list[bool]] = {}
    for row in result.endpoints:
        if row["instance"].startswith("Router"):
            groups.setdefault(row["conversation_group_id"], []).append(row["is_initiator"])
    both = [sides for sides in groups.values() if len(sides) == 2]
    assert [sorted(sides) for sides in both] == [[False, True]] * 40, "one lock covers both"


@shows("EX-68")
def test_ex_68_who_names_no_service_is_refused() -> None:
    result = shipped("data_dependent/router")
    refused = [row for row in result.queues[CLIENT_B] if "does not name its target" in row["body"]]
    assert [(row["type"], read_error(row["body"].encode())[0]) for row in refused] == [(ERROR, 1)]


@shows("EX-69", "6-2", "6-6")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_69_replies_come_back_on_the_first_dialog(seed: int) -> None:
    result = before(seed, 20)
    replies = by_dialog(result, CLIENT_A)
    assert [[row["body"] for row in rows] for rows in replies.values()] == [
        ["from the north"] * 3
    ] * 20
    assert not replies.keys() & by_dialog(result, NORTH).keys(), "the target sees the router alone"


@shows("EX-70", "6-3")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_70_the_end_of_one_dialog_is_the_end_of_both(seed: int) -> None:
    result = shipped("data_dependent/router", seed)
    for rows in by_dialog(result, NORTH).values():
        assert [row["type"] for row in rows].count(END_DIALOG) == 1
    errors = [row for row in result.queues[CLIENT_B] if "forwarded: " in row["body"]]
    assert len(errors) == 20
    assert {read_error(row["body"].encode())[0] for row in errors} == {9720}
    assert [row for row in result.endpoints if row["state"] != "CD"] == []
    assert not result.transmission_queue


@shows("EX-70")
def test_ex_70_the_target_ends_first() -> None:
    text = f"""
        applications:
          - {{service: RouterA/RoutingA/DataDependentRouting, does: route}}
          - {{service: RouterB/RoutingB/DataDependentRouting, does: route}}
          - {{service: North/North/OrdersNorth, does: [reply, close]}}
          - {{service: ClientA/ClientA/OrderClient, does: end}}
        steps:
          - at: 0s
            begin: {{dialog: d, from: ClientA/ClientA/OrderClient, to: DataDependentRouting}}
          - {{at: 0s, send: {{dialog: d, body: {FIRST}}}}}
    """
    result = run("data_dependent", text)
    assert bodies(result, CLIENT_A) == ["reply", ""]
    assert result.queues[CLIENT_A][1]["type"] == END_DIALOG
    assert [row for row in result.endpoints if row["state"] != "CD"] == []


@shows("EX-72")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_72_a_dialog_keeps_its_router(seed: int) -> None:
    result = shipped("data_dependent/router", seed)
    inbound = {*by_dialog(result, CLIENT_A), *by_dialog(result, CLIENT_B)}
    at_a, at_b = (inbound & by_dialog(result, queue).keys() for queue in ROUTERS)
    assert min(len(at_a), len(at_b)) >= 5
    assert not at_a & at_b
    assert len(at_a | at_b) == 41


@shows("6-4")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_redirection_answers_with_the_name_of_the_service(seed: int) -> None:
    result = shipped("data_dependent/redirection", seed)
    answers = by_dialog(result, CLIENT_A)
    asked = [rows for rows in answers.values() if rows[0]["body"] == "OrdersSouth"]
    assert [[row["type"] for row in rows[1:]] for rows in asked] == [[END_DIALOG]] * 10
    assert sum(len(result.queues.get(queue, [])) for queue in ROUTERS) == 10
    for rows in by_dialog(result, SOUTH).values():
        assert {row["path"][0] for row in rows} == {"ClientA"}
    assert [row for row in result.endpoints if row["state"] != "CD"] == []


@shows("6-5")
def test_a_contract_that_the_router_does_not_accept_is_refused() -> None:
    """It must accept the union of what the targets accept: here it has none but SalesContract."""
    text = """
        steps:
          - at: 0s
            begin: {dialog: d, from: BranchA/Branch/SalesBranch, to: DataDependentRouting}
          - {at: 0s, send: {dialog: d, body: <salesQuery/>}}
    """
    result = run("data_dependent_routing", text)
    [row] = result.queues["BranchA/Branch/AnswerQueue"]
    assert (row["type"], read_error(row["body"].encode())[0]) == (ERROR, -8408)


@shows("6-5")
def test_a_service_to_which_the_router_has_no_route_is_waited_for() -> None:
    text = f"""
        applications:
          - {{service: RouterA/RoutingA/DataDependentRouting, does: route}}
          - {{service: RouterB/RoutingB/DataDependentRouting, does: route}}
        steps:
          - at: 0s
            begin: {{dialog: d, from: ClientA/ClientA/OrderClient, to: DataDependentRouting}}
          - {{at: 0s, send: {{dialog: d, body: {FIRST.replace("North", "West")}}}}}
    """
    [row] = run("data_dependent", text).transmission_queue
    assert (row["instance"][:6], row["to_service_name"]) == ("Router", "OrdersWest")
