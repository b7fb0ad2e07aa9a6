"""The instances on the paths of a flow in both directions, for hazards and findings about paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streams.analysis.estate import Estate
from streams.analysis.flows.flows import Flow
from streams.analysis.known import Home
from streams.analysis.objects import targets
from streams.analysis.paths.network import Ending, State, Step
from streams.analysis.paths.path_graph import PathGraph

Hop = tuple[State, Step]
Connection = tuple[str, str]
"""A connection from one instance to another."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A flow with all steps that its messages and acknowledgements can take.

    ``places``: the databases in which messages are delivered.
    """

    flow: Flow
    places: tuple[Ending, ...]
    there: tuple[Hop, ...]
    back: tuple[Hop, ...]

    @property
    def begins(self) -> Home:
        """Return the database in which the dialogs begin."""
        return Home(self.flow.sender.instance, self.flow.sender.database)

    def ends(self, estate: Estate) -> tuple[Home, ...]:
        """Return the databases that accept the dialogs; if none does, the intended databases."""
        found = []
        for place in self.places:
            instance = estate.topology.instances[place.instance]
            database = instance.database(place.database or "")
            if database is not None and self.flow.to in database.services:
                found.append(Home(instance, database))
        if found:
            return tuple(found)
        homes = (here.get(self.flow.to, ()) for here in targets(estate).values())
        return tuple(at for home in homes for at in home)

    @property
    def forwarders(self) -> tuple[str, ...]:
        """Return the instances that forward the flow's messages in either direction, sorted."""
        return tuple(sorted({s.instance for s, step in (*self.there, *self.back) if step.forwards}))

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Return the connections that messages and acknowledgements need, sorted by name."""
        pairs = {
            (state.instance, step.following.instance)
            for state, step in (*self.there, *self.back)
            if step.following is not None
        }
        return tuple(sorted((one, other) for one, other in pairs if one != other))


def steps_of(graph: PathGraph) -> tuple[Hop, ...]:
    """Return all steps of the paths, each once."""
    states = dict.fromkeys(key.state for key in graph.reached())
    return tuple((state, step) for state in states for step in graph.network.steps(state))


def hops_of(paths: Iterable[tuple[Hop, ...]]) -> tuple[Hop, ...]:
    """Return all hops of the paths, each once."""
    # A network creates each step once, so comparing by identity is cheaper than by fields.
    return tuple({(hop[0], id(hop[1])): hop for path in paths for hop in path}.values())
