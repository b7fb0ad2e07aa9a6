"""Analyse one flow: targets, number of paths, and return paths."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from streams.analysis.estate import Estate
from streams.analysis.flows.flow_values import Back, Failure, FlowAnswer, Forth, Later, Reached
from streams.analysis.flows.flows import Flow, flows_of
from streams.analysis.flows.journey import Journey, first_paths, travel
from streams.analysis.flows.redundancy import Graph
from streams.analysis.flows.route_index import RouteIndex
from streams.analysis.hazards.hazards import hazards_of
from streams.analysis.hazards.passage import Passage, hops_of, steps_of
from streams.analysis.hazards.security import security_of
from streams.analysis.paths.network import Ending, State
from streams.analysis.paths.path_graph import PathGraph
from streams.analysis.paths.splits import several_targets
from streams.analysis.paths.verdict import judge
from streams.routing import broker_key


def answer_flow(estate: Estate, flow: Flow) -> FlowAnswer:
    """Follow a flow on every path in both directions; shared parts are computed once."""
    forth = _forth(estate, flow)
    backs = tuple(return_path(estate, flow, place) for place in forth.places)
    back = hops_of(back.hops for back in backs if back.arrives)
    passage = Passage(flow, forth.places, forth.steps, back)
    hazards = hazards_of(estate, passage, forth.splits)
    fine = not forth.failures and all(back.arrives for back in backs)
    secured = security_of(estate, passage)
    return FlowAnswer(flow, judge(fine, hazards), backs, hazards, forth, passage, secured)


def answers_of(estate: Estate) -> tuple[FlowAnswer, ...]:
    """Return the answers of all flows of an estate, in order."""
    return estate.once(_answers)


def passages(estate: Estate) -> tuple[Passage, ...]:
    """Return the instances on the paths of each flow of an estate."""
    return tuple(answer.passage for answer in answers_of(estate))


def _answers(estate: Estate) -> tuple[FlowAnswer, ...]:
    return tuple(answer_flow(estate, flow) for flow in flows_of(estate))


def outbound_answers(estate: Estate) -> tuple[tuple[Forth, tuple[FlowAnswer, ...]], ...]:
    """Return each outbound path once, with the answers of all flows that use it."""
    return estate.once(_by_forth)


def _by_forth(estate: Estate) -> tuple[tuple[Forth, tuple[FlowAnswer, ...]], ...]:
    found: dict[int, list[FlowAnswer]] = {}
    for answer in answers_of(estate):
        found.setdefault(id(answer.forth), []).append(answer)
    return tuple((answers[0].forth, tuple(answers)) for answers in found.values())


def locked(estate: Estate, answer: FlowAnswer) -> tuple[Later, ...]:
    """Return how a flow continues after a target has acknowledged a message.

    After the acknowledgement, the dialog has a broker id (reference 2.1), so routes match
    differently. The result is empty if the flow names a broker id from the start.
    """
    if answer.flow.broker is not None:
        return ()
    place, network = answer.flow.sender, answer.forth.graph.network
    known = estate.once(_laters)
    found = []
    for broker in dict.fromkeys(reached.broker for reached in answer.reached):
        start = State(place.instance.name, place.database.name, broker)
        if (network.service, start) not in known:
            known[network.service, start] = _later(broker, travel(network, start))
        found.append(known[network.service, start])
    return tuple(found)


def _laters(_: Estate) -> dict[tuple[str, State], Later]:
    return {}


def _later(broker: str, journey: Journey) -> Later:
    missed = (Failure(e, Fraction(0), hops) for e, hops in journey.ends.items() if not e.delivered)
    return Later(broker, journey, tuple(sorted(missed, key=_order)))


def routes_of(estate: Estate) -> RouteIndex:
    """Return the index of an estate's routes."""
    return estate.once(_index)


def _index(estate: Estate) -> RouteIndex:
    return RouteIndex(estate.topology, estate.now)


# --- Outbound ------------------------------------------------------------------------------------


def _forths(_: Estate) -> dict[tuple[str, str, str, str | None], Forth]:
    return {}


def _forth(estate: Estate, flow: Flow) -> Forth:
    place, known = flow.sender, estate.once(_forths)
    key = (place.instance.name, place.database.name, flow.to, flow.broker)
    if key not in known:
        start = State(place.instance.name, place.database.name, flow.broker)
        known[key] = _follow(estate.path_graph(flow.to, start), routes_of(estate))
    return known[key]


def _follow(graph: PathGraph, routes: RouteIndex) -> Forth:
    shares: dict[Ending, Fraction] = {}
    for kind, total in graph.totals().items():
        shares[kind.ending] = shares.get(kind.ending, Fraction(0)) + total.share
    places = tuple(sorted((e for e in shares if e.delivered), key=lambda e: e.at))
    used = Graph(graph, routes)
    reached = tuple(Reached(e.at, e.broker or "", shares[e]) for e in places)
    return Forth(
        graph, graph.count(), reached, places,
        {key: used.redundancy(key) for key in _keys(reached)},
        _failures(graph, {e: share for e, share in shares.items() if not e.delivered}),
        several_targets(graph), steps_of(graph),
    )  # fmt: skip


def _keys(reached: tuple[Reached, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(broker_key(r.broker) for r in reached))


def _failures(graph: PathGraph, shares: Mapping[Ending, Fraction]) -> tuple[Failure, ...]:
    if not shares:
        return ()
    proofs = first_paths(graph)
    found = (Failure(ending, share, proofs.get(ending, ())) for ending, share in shares.items())
    return tuple(sorted(found, key=_order))


def _order(failure: Failure) -> tuple[str, ...]:
    end = failure.ending
    return (end.at, end.disposition.value, str(end.error or ""), end.broker or "")


# --- Return ------------------------------------------------------------------------------------


def _backs(_: Estate) -> dict[tuple[str, str | None, str, str, str], Back]:
    return {}


def return_path(estate: Estate, flow: Flow, place: Ending) -> Back:
    """Return the return path of a flow's acknowledgements from a database."""
    sender, known = flow.sender, estate.once(_backs)
    home = (sender.instance.name, sender.database.name)
    key = (place.instance, place.database, sender.service, *home)
    if key not in known:
        start = State(place.instance, place.database, sender.database.broker_id)
        network = estate.network(sender.service, from_initiator=False)
        known[key] = _return(place, travel(network, start), home)
    return known[key]


def _return(place: Ending, journey: Journey, home: tuple[str, str]) -> Back:
    ends = journey.ends
    arriving = [e for e in ends if e.is_home(home)]
    missed = (Failure(e, Fraction(0), ends[e]) for e in ends if e not in arriving)
    failures = tuple(sorted(missed, key=_order))
    if not arriving:
        return Back(place, journey, failures[0].hops if failures else (), False, failures)
    between = journey.leading_to(arriving[0]) - {place.instance, home[0]}
    return Back(place, journey, ends[arriving[0]], True, failures, between)
