"""Reachable states and ends of a message, without counting paths.

:mod:`streams.analysis.paths.path_graph` counts paths. Where it is enough to find every end and one
path to it, as for acknowledgements, a search over states is faster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streams.analysis.paths.moves import HOPS, Key
from streams.analysis.paths.network import Ending, Network, State, Step
from streams.analysis.paths.path_graph import PathGraph

Hops = tuple[tuple[State, Step], ...]
"""A path: its states and steps, from first to last."""


@dataclass(frozen=True, slots=True)
class Journey:
    """All reachable states, and every end with the shortest path to that end."""

    network: Network
    states: tuple[State, ...]
    ends: Mapping[Ending, Hops]

    def leading_to(self, end: Ending) -> frozenset[str]:
        """Return the instances on all paths to an end."""
        if len(self.ends) == 1:
            return frozenset(state.instance for state in self.states)
        good: set[State] = set()
        before: dict[State, list[State]] = {}
        for state in self.states:
            for step in self.network.steps(state):
                if step.ending == end:
                    good.add(state)
                elif step.following is not None:
                    before.setdefault(step.following, []).append(state)
        waiting = list(good)
        while waiting:
            for state in before.get(waiting.pop(), ()):
                if state not in good:
                    good.add(state)
                    waiting.append(state)
        return frozenset(state.instance for state in good)


def travel(network: Network, start: State) -> Journey:
    """Follow a message through all steps, visiting each state once."""
    return _straight(network, start) or _branching(network, start)


def _straight(network: Network, start: State) -> Journey | None:
    """Follow a message if no step has alternatives (the usual case); otherwise return ``None``."""
    hops: list[tuple[State, Step]] = []
    state: State | None = start
    while state is not None and len(hops) < HOPS:
        steps = network.steps(state)
        if len(steps) > 1:
            return None
        hops.append((state, steps[0]))
        state = steps[0].following
    ending = hops[-1][1].ending
    if ending is None:
        return None
    return Journey(network, tuple(state for state, _ in hops), {ending: tuple(hops)})


def _branching(network: Network, start: State) -> Journey:
    came: dict[State, tuple[State, Step] | None] = {start: None}
    ends: dict[Ending, Hops] = {}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for step in network.steps(state):
            if step.following is None:
                if step.ending is not None and step.ending not in ends:
                    ends[step.ending] = _hops(came, state, step)
            elif step.following not in came:
                came[step.following] = (state, step)
                waiting.append(step.following)
    # Loops and exhausted hop counts are ends of paths, not of states.
    if len(came) > HOPS or _turns(network, came):
        return Journey(network, tuple(came), first_paths(PathGraph(network, start)))
    return Journey(network, tuple(came), ends)


def _turns(network: Network, states: Iterable[State]) -> bool:
    """Return whether any path has a cycle; states then have no order."""
    following = {s: [t.following for t in network.steps(s) if t.following] for s in states}
    entering = dict.fromkeys(following, 0)
    for heads in following.values():
        for head in heads:
            entering[head] += 1
    free = [state for state, count in entering.items() if count == 0]
    for state in free:
        for head in following[state]:
            entering[head] -= 1
            if entering[head] == 0:
                free.append(head)
    return len(free) < len(following)


def _hops(came: Mapping[State, tuple[State, Step] | None], state: State, step: Step) -> Hops:
    hops = [(state, step)]
    before = came[state]
    while before is not None:
        hops.append(before)
        before = came[before[0]]
    return tuple(reversed(hops))


# --- Paths -------------------------------------------------------------------------


def first_paths(graph: PathGraph) -> dict[Ending, Hops]:
    """Return one shortest path to every end, including loops and exhausted hop counts."""
    came: dict[Key, tuple[Key, Step] | None] = {graph.first: None}
    waiting = deque([graph.first])
    found: dict[Ending, Hops] = {}
    while waiting:
        key = waiting.popleft()
        for move in graph.moves(key):
            if move.following is None:
                if move.ending is not None and move.ending not in found:
                    found[move.ending] = _along(came, key, move.step)
            elif move.following not in came:
                came[move.following] = (key, move.step)
                waiting.append(move.following)
    return found


def shortest_path_to(graph: PathGraph, state: State) -> Hops:
    """Return the shortest path to a state, including the first step from that state."""
    came: dict[Key, tuple[Key, Step] | None] = {graph.first: None}
    waiting = deque([graph.first])
    while waiting:
        key = waiting.popleft()
        if key.state == state:
            return _along(came, key, graph.network.steps(state)[0])
        for move in graph.moves(key):
            if move.following is not None and move.following not in came:
                came[move.following] = (key, move.step)
                waiting.append(move.following)
    return ()


def _along(came: Mapping[Key, tuple[Key, Step] | None], key: Key, step: Step) -> Hops:
    hops = [(key.state, step)]
    before = came[key]
    while before is not None:
        hops.append((before[0].state, before[1]))
        before = came[before[0]]
    return tuple(reversed(hops))
