"""The possible moves at each point of a path, including loops and exhausted hop counts.

A path that returns to a state is a loop. Within a cycle of at most ``circle`` states, every path is
followed exactly; in a larger cycle, the first step inside it already counts as a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from streams.analysis.paths.circles import Circles
from streams.analysis.paths.network import Disposition, Ending, Network, State, Step
from streams.errors import Number
from streams.protocol import Limits

HOPS = Limits().hops
"""The maximum number of times that a message may be forwarded (U-34)."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """A state on a path, with the visited part of its cycle, and the number of earlier forwards.

    ``forwards`` is also 0 if no path from the state can exhaust the hop count, because earlier
    forwards do not matter then. :class:`Moves` creates one key of each kind, so keys are compared
    by identity.
    """

    state: State
    visited: frozenset[State]
    forwards: int


class Move(NamedTuple):
    """A step of a path: to the next key, or to an end."""

    step: Step
    following: Key | None
    ending: Ending | None


@dataclass(slots=True)
class Moves:
    """The moves of a network, computed once per key."""

    network: Network
    circle: int
    circles: Circles
    _moves: dict[Key, tuple[Move, ...]] = field(default_factory=dict)
    _keys: dict[tuple[State, frozenset[State], int], Key] = field(default_factory=dict)

    def first(self, start: State) -> Key:
        """Return the start of every path from a state."""
        return self._enter(start, frozenset(), 0)

    def at(self, key: Key) -> tuple[Move, ...]:
        """Return the moves at a key, sorted by name."""
        found = self._moves.get(key)
        if found is None:
            steps = self.network.steps(key.state)
            found = self._moves[key] = tuple(self._move(key, step) for step in steps)
        return found

    def _move(self, key: Key, step: Step) -> Move:
        here, target = key.state.instance, step.following
        if step.forwards and key.forwards >= HOPS:
            return Move(step, None, _used_up(Disposition.DROPPED, here, step))
        if target is None:
            return Move(step, None, step.ending)
        if target in key.visited:
            return Move(step, None, _used_up(Disposition.LOOP, here, step))
        return Move(step, self._enter(target, key.visited, key.forwards + step.forwards), None)

    def _enter(self, state: State, before: frozenset[State], forwards: int) -> Key:
        position = self.circles.at(state)
        visited = circle = position.circle
        if 0 < len(circle) <= self.circle:
            visited = (before & circle) | {state}
        if forwards + position.height <= HOPS:
            forwards = 0
        found = self._keys.get((state, visited, forwards))
        if found is None:
            found = Key(state, visited, forwards)
            self._keys[state, visited, forwards] = found
        return found


def _used_up(disposition: Disposition, instance: str, step: Step) -> Ending:
    return Ending(disposition, instance, broker=step.decision.broker, error=Number.HOPS_EXHAUSTED)
