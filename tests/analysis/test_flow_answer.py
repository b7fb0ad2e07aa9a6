"""Answers about flows agree with paths, and redundancy with what is left when something is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings

from streams.analysis import FlowAnswer, answer_flow, find_paths, flows_of
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answers_of, locked, routes_of
from streams.analysis.paths.step import Disposition
from streams.analysis.paths.verdict import PathVerdict
from streams.topology import Topology, load
from tests.topology.build import NOW, SHIPPED, shipped, write

from .networks import FORWARDERS, estates, linked

SAME = settings(max_examples=100)


def only(topology: Topology) -> FlowAnswer:
    """Return the answer of the topology's only flow."""
    [answer] = answers_of(Estate(topology, NOW))
    return answer


def agrees(topology: Topology, answer: FlowAnswer) -> None:
    """Demand the same verdict, count and shares as ``path`` gives."""
    flow = answer.flow
    paths = find_paths(topology, flow.sender, flow.to, NOW, broker=flow.broker, limit=100_000)
    assert (answer.verdict, answer.path_count) == (paths.verdict, paths.ways)
    shares: dict[str, float] = {}
    for outcome in paths.outcomes:
        if outcome.way.ending.delivered:
            at = outcome.way.ending.at
            shares[at] = shares.get(at, 0) + float(outcome.way.share)
    assert {r.at: float(r.share) for r in answer.reached} == pytest.approx(shares)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_flows_agree_with_paths(name: str) -> None:
    topology = shipped(name)
    estate = Estate(topology, NOW)
    for flow in flows_of(estate):
        answer = answer_flow(estate, flow)
        agrees(topology, answer)
        assert json.loads(json.dumps(answer.to_json()))["verdict"] == answer.verdict.value


@given(estates())
@SAME
def test_random_flows_agree_with_paths(topology: Topology) -> None:
    for answer in answers_of(Estate(topology, NOW)):
        agrees(topology, answer)


def test_combined() -> None:
    """Two broker ids, each by two paths that share no instance; no route is on all of them."""
    answer = only(shipped("combined"))
    assert [(r.at, r.broker, float(r.share)) for r in answer.reached] == [
        ("ServerB/DatabaseB", "DatabaseB", 0.5), ("ServerC/DatabaseC", "DatabaseC", 0.5),
    ]  # fmt: skip
    assert answer.redundancy == {"DatabaseB": 2, "DatabaseC": 2}
    assert (answer.verdict, answer.returns, answer.single_points) == (PathVerdict.OK, True, ())


def test_a_hub_is_a_single_point() -> None:
    """And so is each route that all paths to a broker id follow."""
    answer = only(shipped("hub"))
    assert answer.redundancy == {"DatabaseB": 1, "DatabaseC": 1}
    assert answer.single_points == (
        "Hub", "ServerA/DatabaseA/HubRoute", "Hub/msdb/TargetRouteB", "Hub/msdb/TargetRouteC",
    )  # fmt: skip


def test_routes_that_say_the_same_stand_in_for_each_other() -> None:
    """Losing one of the two routes to DatabaseC stops nothing."""
    assert only(shipped("unfair_weights")).single_points == ("ServerA/DatabaseA/TargetRouteB",)


def test_a_loop_is_reported_with_its_path() -> None:
    answer = only(shipped("routing_loop"))
    [loop] = (f for f in answer.failures if f.ending.disposition is Disposition.LOOP)
    assert loop.instances == ("ServerA", "F1", "F2")
    assert answer.verdict is PathVerdict.BROKEN and not answer.returns


LOCKED = """
instances:
  A: {databases: {D: {broker_id: DA, services: {I: {queue: Q, contracts: []}}, routes: [
    {name: ByName, service_name: S, address: 'tcp://B'},
    {name: ById, service_name: S, broker_instance: DB, address: 'tcp://C'}]}}}
  B: {databases: {D: {broker_id: DB, services: [S], routes: [
    {name: R, service_name: I, broker_instance: DA, address: 'tcp://A'}]}}}
  C: {}
"""


def test_a_dialog_goes_on_with_the_broker_id_of_its_target(tmp_path: Path) -> None:
    """Then a route with that id matches first, which the first message did not see (2.1)."""
    estate = Estate(load(write(tmp_path, LOCKED), NOW), NOW)
    [first] = answers_of(estate)
    [later] = locked(estate, first)
    assert first.verdict is PathVerdict.OK
    assert later.broker == "DB" and later.failures[0].instances == ("A", "C")


# --- Redundancy ----------------------------------------------------------------------------------


def _still_reached(answer: FlowAnswer, broker: str, without: Iterable[str]) -> bool:
    """Follow every move from the start, past what is lost."""
    graph, lost = answer.forth.graph, set(without)
    seen, waiting = {graph.first}, [graph.first]
    while waiting:
        key = waiting.pop()
        for move in graph.moves(key):
            end = move.ending
            if end is not None and end.delivered and end.broker == broker:
                return True
            following = move.following
            if following is not None and following not in seen:
                seen.add(following)
                if following.state.instance not in lost:
                    waiting.append(following)
    return False


def test_two_longer_disjoint_paths_replace_a_short_one() -> None:
    """A-b-d-t is the shortest; with it there is no other, without it there are two."""
    answer = only(linked({"A": "bc", "b": "de", "c": "f", "d": "t", "e": "g", "f": "d", "g": "t"}))
    assert answer.redundancy == {"B1": 2}


@given(estates())
@SAME
def test_so_many_instances_may_fail(topology: Topology) -> None:
    """With n paths that share no instance, n - 1 can be lost, and some n forwarders stop it."""
    for answer in answers_of(Estate(topology, NOW)):
        for reached in answer.reached:
            count = answer.redundancy[reached.broker]
            for lost in combinations(FORWARDERS, count - 1):
                assert _still_reached(answer, reached.broker, lost)
            direct = _still_reached(answer, reached.broker, FORWARDERS)
            if not direct:
                assert any(
                    not _still_reached(answer, reached.broker, lost)
                    for lost in combinations(FORWARDERS, count)
                )


@given(estates())
@SAME
def test_single_points_are_what_cannot_be_lost(topology: Topology) -> None:
    for answer in answers_of(Estate(topology, NOW)):
        for reached in answer.reached:
            found = set(answer.forth.redundancy[reached.broker].instances)
            lost = {f for f in FORWARDERS if not _still_reached(answer, reached.broker, [f])}
            assert found == lost


def test_routes_are_found_by_place_and_name() -> None:
    """AutoCreatedLocal is in every table; each is a route of its own."""
    index = routes_of(Estate(shipped("two_brokers"), NOW))
    names = {str(at) for at in index.every()}
    assert {"ServerA/DatabaseA/AutoCreatedLocal", "ServerB/msdb/AutoCreatedLocal"} <= names
