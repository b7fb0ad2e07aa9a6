"""The decisions that select a dialog's broker id, for TA-13, TA-14 and TA-18."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import outbound_answers, routes_of
from streams.analysis.flows.flow_values import FlowAnswer
from streams.analysis.flows.journey import shortest_path_to
from streams.analysis.flows.route_index import At
from streams.analysis.known import Home
from streams.analysis.paths.network import State, Step
from streams.analysis.paths.path_graph import PathGraph
from streams.routing import Route


@dataclass(slots=True)
class Stop:
    """A decision on the path of some flows, with the table that makes the decision."""

    graph: PathGraph
    state: State
    step: Step
    home: Home
    answers: list[FlowAnswer]

    @property
    def service(self) -> str:
        """Return the service of the message."""
        return self.graph.network.service

    def path(self) -> tuple[str, ...]:
        """Return the instances on the path to this decision."""
        return tuple(state.instance for state, _ in shortest_path_to(self.graph, self.state))


def stops_of(estate: Estate) -> tuple[Stop, ...]:
    """Return all decisions about messages without a broker id, each once per service."""
    return estate.once(_find_stops)


def _find_stops(estate: Estate) -> tuple[Stop, ...]:
    found: dict[tuple[str, State], Stop] = {}
    for forth, answers in outbound_answers(estate):
        service = forth.graph.network.service
        for state in {key.state for key in forth.graph.reached() if key.state.broker is None}:
            stop = found.get((service, state))
            if stop is None:
                step = forth.graph.network.steps(state)[0]
                stop = Stop(forth.graph, state, step, _home(estate, state, step), [])
                found[service, state] = stop
            stop.answers.extend(answers)
    return tuple(stop for _, stop in sorted(found.items(), key=_order))


def _order(item: tuple[tuple[str, State], Stop]) -> tuple[str, str, str]:
    (service, state), _ = item
    return (service, state.instance, state.database or "")


def _home(estate: Estate, state: State, step: Step) -> Home:
    instance = estate.topology.instances[state.instance]
    outside = state.database is None or step.decision.looped_back
    database = None if outside or state.database is None else instance.database(state.database)
    return Home(instance, database or instance.msdb)


def routes_with_ids(estate: Estate, stop: Stop) -> tuple[Route, ...]:
    """Return the unexpired routes of a table that name the service and a broker id."""
    table = estate.instances[stop.home.instance.name].databases[stop.home.database.name].routes
    every = table.with_broker(stop.service)
    return tuple(r for r in every if r.expires is None or r.expires > estate.now)


def named_routes(estate: Estate, stop: Stop, names: Iterable[str]) -> tuple[At, ...]:
    """Return the routes of the deciding table that have one of these names."""
    index = routes_of(estate)
    found = (index.named(stop.state, stop.step, name) for name in names)
    return tuple(at for at in found if at is not None)
