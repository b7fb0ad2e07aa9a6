"""Find the circles of a network: the strongly connected states, by Tarjan's algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streams.analysis.network import Network, State


def circles(network: Network, start: State) -> Mapping[State, frozenset[State]]:
    """Return, for each state that a message can come back to, all states of its circle."""
    found: dict[State, frozenset[State]] = {}
    number: dict[State, int] = {}
    lowest: dict[State, int] = {}
    stack: list[State] = []
    on_stack: set[State] = set()
    work: list[tuple[State, Iterator[State]]] = []

    def open_state(state: State) -> None:
        number[state] = lowest[state] = len(number)
        stack.append(state)
        on_stack.add(state)
        work.append((state, _following(network, state)))

    open_state(start)
    while work:
        state, following = work[-1]
        target = next(following, None)
        if target is None:
            work.pop()
            if work:
                lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[state])
            if lowest[state] == number[state]:
                members = _pop(stack, on_stack, state)
                if len(members) > 1 or state in _following(network, state):
                    found.update(dict.fromkeys(members, members))
        elif target not in number:
            open_state(target)
        elif target in on_stack:
            lowest[state] = min(lowest[state], number[target])
    return found


def _pop(stack: list[State], on_stack: set[State], state: State) -> frozenset[State]:
    at = stack.index(state)
    members = frozenset(stack[at:])
    del stack[at:]
    on_stack -= members
    return members


def _following(network: Network, state: State) -> Iterator[State]:
    return (step.following for step in network.steps(state) if step.following is not None)
