"""Summarize many paths in a few lines, by tiers and ends.

Steps from one place are similar if they have the same broker id and lead to the same kinds of
problems, or to none. Only the first of similar steps is followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from streams.analysis.paths.network import Disposition, Ending, Step
from streams.analysis.paths.path_graph import Key, MessagePath, Move, PathGraph
from streams.analysis.paths.returns import Returns
from streams.errors import Number

Trouble = frozenset[tuple[Disposition, Number | None]]
"""The kinds of ends of failing paths, or of deliveries that are not acknowledged."""
LINES = 60
"""The number of branches after which the search stops."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Similar steps, with their share of all messages and the continuation of the first step.

    ``more``: the continuation is already drawn elsewhere, or is too large.
    """

    steps: tuple[Step, ...]
    share: Fraction
    ending: Ending | None
    back: MessagePath | None
    below: tuple[Branch, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """All paths that end in one place: their number, lengths and share."""

    ending: Ending
    path_count: int
    share: Fraction
    hops: tuple[int, int]
    back: MessagePath | None


@dataclass(frozen=True, slots=True)
class Outline:
    """The tree of tiers, and all ends: ends with problems first, then by share and name."""

    branches: tuple[Branch, ...]
    ends: tuple[End, ...]


def outline(graph: PathGraph, returns: Returns) -> Outline:
    """Return the outline of any number of paths."""
    drawing = _Drawing(graph, returns)
    return Outline(tuple(drawing.below(graph.first, Fraction(1))), tuple(_ends(graph, returns)))


def _ends(graph: PathGraph, returns: Returns) -> Iterator[End]:
    found: dict[object, End] = {}
    for kind, total in graph.totals().items():
        end, hops = kind.ending, kind.hops
        place = (end.disposition, end.at, end.error)
        old = found.get(place) or End(end, 0, Fraction(0), (hops, hops), returns.path(end))
        between = (min(hops, old.hops[0]), max(hops, old.hops[1]))
        found[place] = End(
            end, old.path_count + total.path_count, old.share + total.share, between, old.back
        )

    def order(end: End) -> tuple[object, ...]:
        return (returns.arrives(end.ending), -end.share, end.ending.at)

    return iter(sorted(found.values(), key=order))


class _Drawing:
    def __init__(self, graph: PathGraph, returns: Returns) -> None:
        self._graph, self._returns = graph, returns
        self._drawn: set[Key] = set()
        self._left = LINES
        self._trouble: dict[Key, Trouble] = {}
        for key in reversed(graph.reached()):
            self._trouble[key] = frozenset().union(*map(self._after, graph.moves(key)))

    def below(self, key: Key, share: Fraction) -> Iterator[Branch]:
        """Yield the branches at a key, one for all similar moves."""
        self._drawn.add(key)
        alike: dict[object, list[Move]] = {}
        for move in self._graph.moves(key):
            alike.setdefault(self._kind(move), []).append(move)
        self._left -= len(alike)
        for moves in alike.values():
            yield self._branch(moves, share)

    def _branch(self, moves: list[Move], share: Fraction) -> Branch:
        steps, first = tuple(move.step for move in moves), moves[0]
        part = sum((share * step.share for step in steps), Fraction(0))
        if first.following is None:
            back = None if first.ending is None else self._returns.path(first.ending)
            return Branch(steps, part, first.ending, back)
        if first.following in self._drawn or self._left <= 0:
            return Branch(steps, part, None, None, more=True)
        return Branch(steps, part, None, None, tuple(self.below(first.following, part)))

    def _kind(self, move: Move) -> object:
        decision = move.step.decision
        return (decision.broker, decision.step, move.following is None, self._after(move))

    def _after(self, move: Move) -> Trouble:
        if move.following is not None:
            return self._trouble[move.following]
        assert move.ending is not None, "a move leads on or ends"
        end = move.ending
        return frozenset(() if self._returns.arrives(end) else {(end.disposition, end.error)})
