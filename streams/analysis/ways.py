"""Count and list the ways through a network without ever enumerating them all.

Counting is dynamic programming over (state, what was visited, hops used): its cost grows with the
graph and not with the number of ways. A way that comes back to a state is a loop. Within a circle
of at most ``CIRCLE`` states every way is followed exactly; in a larger one, the first step inside
it counts as the loop that it can become.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from streams.analysis.circles import circles
from streams.analysis.network import Disposition, Ending, Network, Pick, State, Step
from streams.errors import Number

HOPS = 16
"""How often a message may be forwarded (U-34)."""
CIRCLE = 7
"""The largest circle whose ways are followed exactly: their number grows like its factorial."""


@dataclass(frozen=True, slots=True)
class Key:
    """A state on a way: what was visited of its circle, and how often it was forwarded before."""

    state: State
    visited: frozenset[State] = frozenset()
    forwards: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """A step as a way takes it: on to the next key, or to an end."""

    step: Step
    following: Key | None
    ending: Ending | None


@dataclass(frozen=True, slots=True)
class Kind:
    """What ways have in common that are counted together."""

    ending: Ending
    hops: int
    picks: frozenset[Pick]


@dataclass(frozen=True, slots=True)
class Total:
    """How many ways there are of a kind, and their share of all messages."""

    ways: int = 0
    share: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Way:
    """One way: a step for each instance that decides, and its end."""

    hops: tuple[tuple[State, Step], ...]
    ending: Ending
    share: Fraction


@dataclass(slots=True)
class Ways:
    """All ways from one state."""

    network: Network
    start: State
    _circles: Mapping[State, frozenset[State]] = field(default_factory=dict)
    _totals: dict[Key, Mapping[Kind, Total]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._circles = circles(self.network, self.start)

    @property
    def first(self) -> Key:
        """Return where every way begins."""
        return self._enter(self.start, Key(self.start), 0)

    def totals(self) -> Mapping[Kind, Total]:
        """Return how many ways there are of each kind."""
        return self.totals_at(self.first)

    def reached(self) -> frozenset[Key]:
        """Return every state on every way."""
        self.totals()
        return frozenset(self._totals)

    def endings(self) -> frozenset[Ending]:
        """Return every end that some way has."""
        return frozenset(kind.ending for kind in self.totals())

    def count(self) -> int:
        """Return the number of ways."""
        return sum(total.ways for total in self.totals().values())

    def listed(self) -> Iterator[Way]:
        """Yield the ways one by one, by the number of their hops, then by names."""
        for hops in sorted({kind.hops for kind in self.totals()}):
            yield from self._of_length(self.first, hops, (), Fraction(1))

    def moves(self, key: Key) -> tuple[Move, ...]:
        """Return what can follow at a key: loops are closed and used-up hops are counted here."""
        return tuple(self._move(key, step) for step in self.network.steps(key.state))

    def totals_at(self, key: Key) -> Mapping[Kind, Total]:
        """Return the kinds of ways that lead on from a key."""
        found = self._totals.get(key)
        if found is None:
            found = self._totals[key] = self._sum(key)
        return found

    def _sum(self, key: Key) -> Mapping[Kind, Total]:
        sums: dict[Kind, Total] = {}
        for move in self.moves(key):
            for kind, total in self.after(move).items():
                old = sums.get(kind, Total())
                share = old.share + move.step.share * total.share
                sums[kind] = Total(old.ways + total.ways, share)
        return sums

    def after(self, move: Move) -> Mapping[Kind, Total]:
        """Return the kinds of ways that begin with a move; shares are of what takes the move."""
        picks = move.step.picks
        if move.following is None:
            assert move.ending is not None, "a move leads on or ends"
            return {Kind(move.ending, 1, picks): Total(1, Fraction(1))}
        sums: dict[Kind, Total] = {}
        for kind, total in self.totals_at(move.following).items():
            longer = Kind(kind.ending, kind.hops + 1, kind.picks | picks)
            old = sums.get(longer, Total())
            sums[longer] = Total(old.ways + total.ways, old.share + total.share)
        return sums

    def _move(self, key: Key, step: Step) -> Move:
        here, target = key.state.instance, step.following
        if step.forwards and key.forwards >= HOPS:
            return Move(step, None, _used_up(Disposition.DROPPED, here, step))
        if target is None:
            return Move(step, None, step.ending)
        if target in key.visited:
            return Move(step, None, _used_up(Disposition.LOOP, here, step))
        return Move(step, self._enter(target, key, key.forwards + step.forwards), None)

    def _enter(self, state: State, before: Key, forwards: int) -> Key:
        circle = self._circles.get(state, frozenset())
        if len(circle) > CIRCLE:
            return Key(state, circle, forwards)
        visited = before.visited & circle
        return Key(state, visited | {state} if circle else visited, forwards)

    def _of_length(
        self, key: Key, hops: int, before: tuple[tuple[State, Step], ...], share: Fraction
    ) -> Iterator[Way]:
        for move in self.moves(key):
            here = (*before, (key.state, move.step))
            part = share * move.step.share
            if move.ending is not None:
                if hops == 1:
                    yield Way(here, move.ending, part)
            elif move.following is not None and any(
                kind.hops == hops - 1 for kind in self.totals_at(move.following)
            ):
                yield from self._of_length(move.following, hops - 1, here, part)


def _used_up(disposition: Disposition, instance: str, step: Step) -> Ending:
    return Ending(disposition, instance, broker=step.decision.broker, error=Number.HOPS_EXHAUSTED)
