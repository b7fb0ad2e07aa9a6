"""Count and list the paths through a network without enumerating them all.

Counting is dynamic programming over keys (a state, the visited part of its cycle, hops used). Each
key is processed before its successors. So the cost grows with the size of the graph, not with the
number of paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeVar

from streams.analysis.paths.circles import Circles
from streams.analysis.paths.moves import HOPS, Key, Move, Moves
from streams.analysis.paths.network import Ending, Network, Pick, State, Step

__all__ = [
    "CIRCLES",
    "HOPS",
    "KEYS",
    "Key",
    "MessagePath",
    "Move",
    "PathClass",
    "PathGraph",
    "Total",
]

T = TypeVar("T")
_NO_PICKS: frozenset[Pick] = frozenset()
_ALL = Fraction(1)

CIRCLES = (7, 4, 0)
"""The largest cycles whose paths are followed exactly; the number of paths grows factorially."""
KEYS = 10_000
"""Maximum number of keys that cycles add to the states; above it, only smaller cycles are exact."""


class PathClass(NamedTuple):
    """The key of paths that are counted together."""

    ending: Ending
    hops: int
    picks: frozenset[Pick]


@dataclass(frozen=True, slots=True)
class Total:
    """The number of paths of a kind, and their share of all messages."""

    path_count: int = 0
    share: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class MessagePath:
    """One path: a step for each instance that decides, and its end."""

    hops: tuple[tuple[State, Step], ...]
    ending: Ending
    share: Fraction


@dataclass(slots=True)
class PathGraph:
    """All paths from one state; ``circles`` are the cycles of the network, if known."""

    network: Network
    start: State
    circles: Circles | None = field(default=None, repr=False)
    _moves: Moves = field(init=False)
    _keys: tuple[Key, ...] = field(init=False)
    _totals: dict[PathClass, Total] = field(default_factory=dict)
    _lengths: dict[Key, int] = field(default_factory=dict)
    _ends: dict[Key, frozenset[Ending]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        circles = self.circles or Circles(self.network)
        for largest in CIRCLES:
            self._moves = Moves(self.network, largest, circles)
            first = self._moves.first(self.start)
            found = _in_order(self._moves, first, KEYS + len(circles) if largest else None)
            if found is not None:
                self._keys = found
                break

    @property
    def first(self) -> Key:
        """Return the start of every path."""
        return self._keys[0]

    def reached(self) -> tuple[Key, ...]:
        """Return every key on some path, each before its successors."""
        return self._keys

    def moves(self, key: Key) -> tuple[Move, ...]:
        """Return the moves at a key, sorted by name."""
        return self._moves.at(key)

    def totals(self) -> Mapping[PathClass, Total]:
        """Return the totals of each kind of path."""
        if not self._totals:
            self._count()
        return self._totals

    def endings(self) -> frozenset[Ending]:
        """Return all ends."""
        return frozenset(kind.ending for kind in self.totals())

    def count(self) -> int:
        """Return the number of paths."""
        return sum(total.path_count for total in self.totals().values())

    def listed(self) -> Iterator[MessagePath]:
        """Yield the paths one by one, ordered by number of hops, then by name."""
        self._measure()
        for hops in _bits(self._lengths[self.first]):
            yield from self._of_length(self.first, hops, (), Fraction(1))

    def ends_at(self, key: Key) -> frozenset[Ending]:
        """Return all ends of the paths from a key."""
        if not self._ends:
            for one in reversed(self._keys):
                after = (self._ends_after(move) for move in self.moves(one))
                self._ends[one] = frozenset().union(*after)
        return self._ends[key]

    def _ends_after(self, move: Move) -> frozenset[Ending]:
        if move.following is not None:
            return self._ends[move.following]
        assert move.ending is not None, "a move leads on or ends"
        return frozenset({move.ending})

    def _count(self) -> None:
        """Propagate to each key the number of paths, by length and choices, and their share."""
        begin = {(1, _NO_PICKS): Total(1, Fraction(1))}
        arrived: dict[Key, dict[tuple[int, frozenset[Pick]], Total]] = {self.first: begin}
        for key in self._keys:
            here = arrived.pop(key)
            moves = self.moves(key)
            for (hops, picks), total in here.items():
                of, part = _ALL, total  # moves from one place mostly have equal shares
                for move in moves:
                    step = move.step
                    if step.share is not of:
                        of, part = step.share, Total(total.path_count, total.share * step.share)
                    every = picks | step.picks if step.picks else picks
                    if move.ending is not None:
                        _add(self._totals, PathClass(move.ending, hops, every), part)
                    elif move.following is not None:
                        _add(arrived.setdefault(move.following, {}), (hops + 1, every), part)

    def _measure(self) -> None:
        """Compute the path lengths from each key: bit n is set if a path has n hops."""
        if self._lengths:
            return
        for key in reversed(self._keys):
            lengths = 0
            for move in self.moves(key):
                lengths |= 1 << 1 if move.following is None else self._lengths[move.following] << 1
            self._lengths[key] = lengths

    def _of_length(
        self, key: Key, hops: int, before: tuple[tuple[State, Step], ...], share: Fraction
    ) -> Iterator[MessagePath]:
        for move in self.moves(key):
            here = (*before, (key.state, move.step))
            part = share * move.step.share
            if move.ending is not None:
                if hops == 1:
                    yield MessagePath(here, move.ending, part)
            elif move.following is not None and self._lengths[move.following] >> (hops - 1) & 1:
                yield from self._of_length(move.following, hops - 1, here, part)


def _in_order(moves: Moves, first: Key, most: int | None) -> tuple[Key, ...] | None:
    """Return every key before its successors, or ``None`` if there are too many."""
    done: dict[Key, None] = {}
    entered: set[Key] = set()
    work: list[tuple[Key, Iterator[Move]]] = []

    def enter(key: Key) -> None:
        entered.add(key)
        work.append((key, iter(moves.at(key))))

    enter(first)
    while work:
        key, rest = work[-1]
        move = next(rest, None)
        if move is None:
            work.pop()
            done[key] = None
        elif move.following is not None and move.following not in entered:
            enter(move.following)
        if most is not None and len(entered) > most:
            return None
    return tuple(reversed(done))


def _add(sums: dict[T, Total], key: T, more: Total) -> None:
    old = sums.get(key)
    sums[key] = (
        more if old is None else Total(old.path_count + more.path_count, old.share + more.share)
    )


def _bits(mask: int) -> Iterator[int]:
    return (n for n in range(mask.bit_length()) if mask >> n & 1)
