"""Find the databases that one direction of a dialog reaches, and whether acknowledgements return.

A database counts as *reached* if a path delivers there and a return path brings the acknowledgement
to the sender. Without an acknowledgement, messages are retried until the dialog ends, and then they
are lost. It does not matter whether an address is tried first, on a retry, or always (U-19),
because one working address is enough.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from streams.analysis.diff.reach import Arrival, Choices, Direction, Edge, Loss, Reach, Target
from streams.analysis.estate import Estate
from streams.analysis.paths.network import Ending, Network, State
from streams.analysis.paths.path_graph import Key, PathClass, PathGraph
from streams.analysis.paths.picks import PicksIndex
from streams.analysis.paths.splits import several_targets
from streams.routing import broker_key
from streams.system_names import SYSTEM_SERVICES, is_current_database
from streams.topology import Database, Instance


@dataclass(slots=True)
class Course:
    """All paths of a direction, of every dialog or of one ``conversation``."""

    estate: Estate
    direction: Direction
    conversation: uuid.UUID | None = None
    missing: str | None = field(init=False, default=None)
    _home: tuple[str, str] = field(init=False, default=("", ""))
    _there: PathGraph | None = field(init=False, default=None)
    _back: dict[tuple[str, str], PathGraph] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        found = self._sender()
        if isinstance(found, str):
            self.missing = found
            return
        instance, database = found
        self._home = (instance.name, database.name)
        d, broker = self.direction, self.direction.broker
        if is_current_database(broker):
            broker = database.broker_id
        self._there = PathGraph(self._network(d.to, d.from_initiator), State(*self._home, broker))
        back = self._network(d.service, not d.from_initiator)
        for ending in self._there.endings():
            if ending.delivered and ending.database is not None:
                at = (ending.instance, ending.database)
                self._back[at] = PathGraph(back, State(*at, database.broker_id))

    def reach(self) -> Reach:
        """Return the databases that this direction reaches, or why no dialog begins."""
        if self._there is None:
            return Reach(missing=self.missing)
        arrivals = {target: self._arrival(kinds) for target, kinds in self._good().items()}
        edges = frozenset((*_edges("there", self._there, self._arrives), *self._edges_back()))
        return Reach(arrivals, edges, self._unreachable())

    def losses(self) -> tuple[Loss, ...]:
        """Return every step that loses messages, then every step that loses acknowledgements."""
        return tuple(dict.fromkeys(loss for leg in self._legs() for loss in _losses(*leg)))

    def splits(self) -> bool:
        """Return whether one dialog can reach several databases with different broker ids."""
        return self._there is not None and bool(several_targets(self._there))

    def taken(self) -> frozenset[Edge]:
        """Return every step that any message or acknowledgement takes, wherever its path ends."""
        return frozenset(edge for leg in self._legs() for edge in _edges(*leg, lambda _: True))

    def choices(self) -> Choices:
        """Return the selections that the dialog's id makes on any of these paths."""
        steps = tuple(
            step
            for _, graph in self._legs()
            for key in graph.reached()
            for step in graph.network.steps(key.state)
        )
        picks = (pick for step in steps for pick in step.picks)
        return Choices(
            frozenset(count for kind, count, _ in picks if kind == "hash"),
            frozenset(c for c in (step.decision.candidates for step in steps) if len(c) > 1),
        )

    def _legs(self) -> Iterator[tuple[str, PathGraph]]:
        if self._there is not None:
            yield "there", self._there
        for _, graph in sorted(self._back.items()):
            yield "back", graph

    def _sender(self) -> tuple[Instance, Database] | str:
        d = self.direction
        instance = self.estate.topology.instance(d.instance)
        if instance is None:
            return f"there is no instance {d.instance}"
        database = instance.database(d.database)
        if database is None:
            return f"{instance.name} has no database {d.database}"
        if d.service not in SYSTEM_SERVICES.union(database.services):
            return f"{instance.name}/{database.name} has no service {d.service}"
        return instance, database

    def _network(self, service: str, from_initiator: bool) -> Network:
        return self.estate.network(
            service, from_initiator=from_initiator, conversation=self.conversation
        )

    def _good(self) -> dict[Target, list[PathClass]]:
        """Return the kinds of paths that arrive and are acknowledged, by target."""
        assert self._there is not None, "only called if there is a sender"
        found: dict[Target, list[PathClass]] = {}
        for kind in self._there.totals():
            if self._arrives(kind.ending):
                target = Target(kind.ending.at, broker_key(kind.ending.broker or ""))
                found.setdefault(target, []).append(kind)
        return dict(sorted(found.items(), key=lambda item: (item[0].at, item[0].broker)))

    def _arrival(self, kinds: list[PathClass]) -> Arrival:
        assert self._there is not None, "only called if there is a sender"
        totals, ending = self._there.totals(), kinds[0].ending
        return Arrival(
            ending.broker or "",
            sum((totals[kind].share for kind in kinds), Fraction(0)),
            sum(totals[kind].path_count for kind in kinds),
            self._returns((ending.instance, ending.database or "")),
            frozenset(kind.picks for kind in kinds),
        )

    def _arrives(self, ending: Ending) -> bool:
        at = (ending.instance, ending.database or "")
        return ending.delivered and self._returns(at) > 0

    def _returns(self, at: tuple[str, str]) -> int:
        totals = self._back[at].totals()
        return sum(total.path_count for kind, total in totals.items() if self._is_home(kind.ending))

    def _is_home(self, ending: Ending) -> bool:
        return ending.is_home(self._home)

    def _edges_back(self) -> Iterator[Edge]:
        for graph in self._back.values():
            yield from _edges("back", graph, self._is_home)

    def _unreachable(self) -> Fraction:
        """Return the share of messages whose dialogs reach no database on any path."""
        assert self._there is not None, "only called if there is a sender"
        totals = self._there.totals()
        good = {kind.picks for kind in totals if self._arrives(kind.ending)}
        index = PicksIndex(("", picks) for picks in good)
        lost = (
            total.share
            for kind, total in totals.items()
            if kind.picks not in good and not any(index.agreeing(kind.picks))
        )
        return sum(lost, Fraction(0))


def _edges(leg: str, graph: PathGraph, good: Callable[[Ending], bool]) -> Iterator[Edge]:
    """Yield the edges of all successful paths."""
    for key in _walked(graph, partial(_leads_to, graph, good)):
        for move in graph.moves(key):
            if move.following is not None and _leads_to(graph, good, move.following):
                yield leg, key.state.instance, move.following.state.instance
            elif move.ending is not None and good(move.ending):
                yield leg, key.state.instance, move.ending.at


def _losses(leg: str, graph: PathGraph) -> Iterator[Loss]:
    for key in _walked(graph, lambda _: True):
        for move in graph.moves(key):
            if move.ending is not None and not move.ending.delivered:
                yield Loss(leg, key.state, move.step, move.ending)


def _walked(graph: PathGraph, into: Callable[[Key], bool]) -> Iterator[Key]:
    """Yield the first key, and every key reachable from it through keys that satisfy ``into``.

    Each key is yielded once.
    """
    seen, waiting = {graph.first}, [graph.first]
    while waiting:
        key = waiting.pop()
        yield key
        for move in graph.moves(key):
            if move.following is not None and move.following not in seen and into(move.following):
                seen.add(move.following)
                waiting.append(move.following)


def _leads_to(graph: PathGraph, good: Callable[[Ending], bool], key: Key) -> bool:
    return any(map(good, graph.ends_at(key)))
