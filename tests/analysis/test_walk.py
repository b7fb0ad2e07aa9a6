"""Counting in the graph gives what walking every path gives."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.layers import CASES, TARGET
from streams.analysis import find_paths, find_sender
from streams.analysis.paths.network import Common, Network, Pick, State
from streams.analysis.paths.path_graph import KEYS, MessagePath, PathClass, PathGraph, Total
from streams.topology import (
    MSDB,
    Database,
    Endpoint,
    EndpointState,
    Instance,
    Route,
    Service,
    Topology,
)
from tests.analysis.walk import Walked, dialog

NAMES = ("A", "F", "G", "B", "C")
HOSTS = ("F", "F", "G", "G", "B", "B", "C", "A", "localhost", "gone")
NOW = 1.0

addresses = st.sampled_from([f"tcp://{host}:4022" for host in HOSTS] + ["LOCAL", "TRANSPORT"])
brokers = st.sampled_from([None, None, None, "b", "c", "two"])
services = st.sampled_from(["S", "S", "I", None])
rows = st.lists(st.tuples(services, brokers, addresses), max_size=4, unique=True)


def table(rows: list[tuple[str | None, str | None, str]]) -> tuple[Route, ...]:
    """Return routes; no kind is left out, be it legal or not."""
    return tuple(Route(f"R{n}", *row, route_id=n) for n, row in enumerate(rows))


def instance(name: str, draw: st.DrawFn) -> Instance:
    """Return an instance with routes, and at A, B and C a database of its own."""
    state = draw(st.sampled_from([EndpointState.STARTED] * 9 + [EndpointState.STOPPED]))
    endpoint = Endpoint(state, forwarding=draw(st.sampled_from([True, True, True, False])))
    msdb = Database(MSDB, f"msdb of {name}", routes=table(draw(rows)))
    if name in ("F", "G"):
        return Instance(name, msdb, endpoint=endpoint)
    made = {"D": Database("D", name.lower(), services=served(name), routes=table(draw(rows)))}
    if name == "C" and draw(st.booleans()):
        made["E"] = Database("E", "two", services=served("B"), routes=table(draw(rows)))
    return Instance(name, msdb, made, endpoint=endpoint)


def served(name: str) -> dict[str, Service]:
    service = "I" if name == "A" else "S"
    return {service: Service(service, "Q", ("DEFAULT",))}


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Draw five instances that know each other in any way."""
    return Topology({name: instance(name, draw) for name in NAMES})


def walked(path: MessagePath) -> Walked:
    """Return a path in the words of the walk."""
    end = path.ending
    error = None if end.error is None else int(end.error)
    names = tuple(state.instance for state, _ in path.hops)
    return Walked(names, end.disposition.value, end.at, end.broker, error, path.share)


@settings(max_examples=400)
@given(topologies())
def test_paths_shares_and_verdict_are_those_of_walking(topology: Topology) -> None:
    """The same paths with the same shares; broken exactly where walking finds a bad one."""
    place = find_sender(topology, "A/D/I", "S")
    found = find_paths(topology, place, "S", NOW, limit=10_000)
    walks, fine = dialog(topology, ("A", "D", "I"), "S", NOW)
    mine = Counter(walked(outcome.way) for outcome in found.outcomes)
    assert mine - Counter(walks) == Counter(walks) - mine == Counter()
    assert found.ways == len(walks) and sum(walk.share for walk in walks) == 1
    assert (found.verdict.value != "broken") is fine
    lengths = [len(outcome.way.hops) for outcome in found.outcomes]
    assert lengths == sorted(lengths)


@settings(max_examples=150)
@given(topologies())
def test_totals_are_sums_of_the_paths(topology: Topology) -> None:
    """Paths and shares are counted by end and number of hops."""
    graph = PathGraph(Network(Common.of(topology), "S", True, None, NOW), State("A", "D", None))
    sums: dict[PathClass, Total] = {}
    for path in graph.listed():
        picks = frozenset[Pick]().union(*(step.picks for _, step in path.hops))
        kind = PathClass(path.ending, len(path.hops), picks)
        old = sums.get(kind, Total())
        sums[kind] = Total(old.path_count + 1, old.share + path.share)
    assert graph.totals() == sums
    assert graph.ends_at(graph.first) == graph.endings() == {kind.ending for kind in sums}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_hard_topologies_cost_what_their_graph_costs(name: str) -> None:
    """A thousand instances: paths grow to thousands of millions, what is looked at does not."""
    network = Network(Common.of(CASES[name]()), TARGET, True, None, NOW)
    graph = PathGraph(network, State("Sender", "Home", None))
    assert len(graph.reached()) <= len({key.state for key in graph.reached()}) + KEYS
    assert sum(total.share for total in graph.totals().values()) == 1


DIALOGS = [uuid.uuid5(uuid.NAMESPACE_URL, str(n)) for n in range(40)]


@pytest.mark.long
@settings(max_examples=150)
@given(topologies())
def test_several_targets_are_found_where_some_dialog_has_them(topology: Topology) -> None:
    """TA-12 without a conversation's id means that there is a dialog with two broker ids."""
    place = find_sender(topology, "A/D/I", "S")
    found = find_paths(topology, place, "S", NOW, limit=0)
    some = any(_targets(topology, dialog) > 1 for dialog in DIALOGS)
    assert bool(found.hazards) is some


def _targets(topology: Topology, dialog: uuid.UUID) -> int:
    place = find_sender(topology, "A/D/I", "S")
    found = find_paths(topology, place, "S", NOW, conversation=dialog)
    return len({o.way.ending.broker for o in found.outcomes if o.way.ending.delivered})
