"""Which instances every flow passes, there and back: what findings about ways have in common."""

from __future__ import annotations

from dataclasses import dataclass

from streams.analysis.check.known import Home
from streams.analysis.check.objects import targets
from streams.analysis.estate import Estate
from streams.analysis.flows.fate import FlowAnswer
from streams.analysis.flows.flow_answer import answers_of
from streams.analysis.flows.flows import Flow
from streams.analysis.paths.network import State, Step

Hop = tuple[State, Step]


@dataclass(frozen=True, slots=True)
class Passage:
    """A flow with every step that its messages can take, and those of its acknowledgements."""

    flow: Flow
    answer: FlowAnswer
    there: tuple[Hop, ...]
    back: tuple[Hop, ...]

    @property
    def begins(self) -> Home:
        """Return the database in which the dialogs begin."""
        return Home(self.flow.sender.instance, self.flow.sender.database)

    def ends(self, estate: Estate) -> tuple[Home, ...]:
        """Return the databases that take the dialogs; where none does, those that are meant to."""
        found = []
        for place in self.answer.forth.places:
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
        """Return the instances that pass the flow's messages on, there or back, by name."""
        return tuple(sorted({s.instance for s, step in (*self.there, *self.back) if step.forwards}))


def passages(estate: Estate) -> tuple[Passage, ...]:
    """Return every flow with its steps; computed once."""
    return estate.once(_passages)


def _passages(estate: Estate) -> tuple[Passage, ...]:
    there: dict[int, tuple[Hop, ...]] = {}
    found = []
    for answer in answers_of(estate):
        ways = answer.forth.ways
        if id(ways) not in there:
            states = dict.fromkeys(key.state for key in ways.reached())
            hops = [(state, step) for state in states for step in ways.network.steps(state)]
            there[id(ways)] = tuple(sorted(hops, key=_order))
        # A network makes each step once: its identity is cheaper to compare than its parts.
        back = {(hop[0], id(hop[1])): hop for b in answer.backs if b.arrives for hop in b.hops}
        found.append(Passage(answer.flow, answer, there[id(ways)], tuple(back.values())))
    return tuple(found)


def _order(hop: Hop) -> tuple[str, ...]:
    state, step = hop
    return (state.instance, state.database or "", state.broker or "", *step.order)
