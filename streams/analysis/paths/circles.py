"""Find the cycles of a network: the strongly connected states, by Tarjan's algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.analysis.paths.network import Network, State

NONE: frozenset[State] = frozenset()


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a state in its network.

    ``circle``: the states that it can reach and that can reach it, empty without a cycle.
    ``height``: the maximum number of forwards from the state if no state is visited twice.
    """

    circle: frozenset[State]
    height: int


@dataclass(slots=True)
class Circles:
    """The cycles of a network, and the distances of its states from the ends.

    Each state is examined once, on first access, together with all states that follow it.
    """

    network: Network
    _found: dict[State, Position] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of examined states."""
        return len(self._found)

    def at(self, state: State) -> Position:
        """Return the position of a state."""
        found = self._found.get(state)
        if found is None:
            self._explore(state)
            found = self._found[state]
        return found

    def _explore(self, start: State) -> None:
        number: dict[State, int] = {start: 0}
        lowest: dict[State, int] = {start: 0}
        stack, open_ = [start], {start}
        work = [(start, self._following(start))]
        while work:
            state, following = work[-1]
            target = next(following, None)
            if target is None:
                work.pop()
                if work:
                    before = work[-1][0]
                    lowest[before] = min(lowest[before], lowest[state])
                if lowest[state] == number[state]:
                    self._close(_pop(stack, open_, state))
            elif target not in number:
                number[target] = lowest[target] = len(number)
                stack.append(target)
                open_.add(target)
                work.append((target, self._following(target)))
            elif target in open_:
                lowest[state] = min(lowest[state], number[target])

    def _following(self, state: State) -> Iterator[State]:
        """Yield the following states that no earlier search has completed."""
        for step in self.network.steps(state):
            if step.following is not None and step.following not in self._found:
                yield step.following

    def _close(self, members: frozenset[State]) -> None:
        """Complete a component; all states that follow it are already complete."""
        state = next(iter(members))
        circle = members if len(members) > 1 or state in self._following(state) else NONE
        outside = max(self._beyond(member, members) for member in members)
        place = Position(circle, len(circle) + outside)
        self._found.update(dict.fromkeys(members, place))

    def _beyond(self, state: State, members: frozenset[State]) -> int:
        heights = [
            step.forwards + (0 if step.following is None else self._found[step.following].height)
            for step in self.network.steps(state)
            if step.following not in members
        ]
        return max(heights, default=0)


def _pop(stack: list[State], open_: set[State], state: State) -> frozenset[State]:
    members = set()
    while state not in members:
        members.add(stack.pop())
    open_ -= members
    return frozenset(members)
