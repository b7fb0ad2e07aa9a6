"""Find tiers whose addresses can send the same dialog to different databases (3.4, TA-12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, groupby

from streams.analysis.paths.moves import Key, Move
from streams.analysis.paths.network import State
from streams.analysis.paths.path_graph import PathGraph
from streams.analysis.paths.picks import Picks, PicksIndex
from streams.routing import Address, Decision, broker_key
from streams.topology import Finding, Severity, Source, Topology, finding_at

Reach = frozenset[tuple[str, Picks]]
"""The reached broker ids, each with the choices that lead to it."""
_NO_PICKS: Picks = frozenset()


@dataclass(frozen=True, slots=True)
class Split:
    """A decision whose addresses lead to different broker ids."""

    state: State
    decision: Decision
    brokers: tuple[str, ...]


def several_targets(graph: PathGraph) -> tuple[Split, ...]:
    """Return every tier of routes without a broker id that can lead one dialog to two targets."""
    tiers = {key: _tiers(graph.moves(key)) for key in graph.reached()}
    if not any(tiers.values()):
        return ()
    reach = _Reaches(graph)
    found: dict[tuple[State, Decision], Split] = {}
    for key in graph.reached():
        for decision, moves in tiers[key].items():
            brokers = reach.conflict([reach.after(move) for move in moves.values()])
            if brokers:
                found[key.state, decision] = Split(key.state, decision, brokers)
    return tuple(sorted(found.values(), key=lambda s: (s.state.instance, s.decision.routes)))


def _tiers(moves: Iterable[Move]) -> Mapping[Decision, Mapping[Address, Move]]:
    """Return the decisions with several addresses and no broker id."""
    tiers: dict[Decision, dict[Address, Move]] = {}
    for move in moves:
        step = move.step
        if step.decision.broker is None and step.address is not None:
            tiers.setdefault(step.decision, {})[step.address] = move
    return {decision: tier for decision, tier in tiers.items() if len(tier) > 1}


class _Reaches:
    """The reachable broker ids from each key, cached."""

    def __init__(self, graph: PathGraph) -> None:
        self._from: dict[Key, Reach] = {}
        self._conflicts: dict[tuple[Reach, Reach], tuple[str, ...]] = {}
        for key in reversed(graph.reached()):
            self._from[key] = frozenset().union(*map(self.after, graph.moves(key)))

    def after(self, move: Move) -> Reach:
        """Return the broker ids reached by a move."""
        if move.following is not None:
            beyond = self._from[move.following]
        elif move.ending is not None and move.ending.delivered and move.ending.broker is not None:
            beyond = frozenset({(move.ending.broker, _NO_PICKS)})
        else:
            beyond = frozenset()
        picks = move.step.picks
        return frozenset((broker, more | picks) for broker, more in beyond) if picks else beyond

    def conflict(self, reaches: list[Reach]) -> tuple[str, ...]:
        """Return two broker ids that one dialog can reach over two addresses."""
        for one, other in combinations(reaches, 2):
            if (one, other) not in self._conflicts:
                self._conflicts[one, other] = _conflict(one, other)
            if self._conflicts[one, other]:
                return self._conflicts[one, other]
        return ()


def _conflict(one: Reach, other: Reach) -> tuple[str, ...]:
    """Return the first two different broker ids, one from each reach."""
    index = PicksIndex(sorted(other, key=_broker))
    for broker, rows in groupby(sorted(one, key=_broker), key=_broker):
        key = broker_key(broker)
        others = [
            found
            for _, picks in rows
            for brokers in index.agreeing(picks)
            for found_key, found in brokers.items()
            if found_key != key
        ]
        if others:
            return (broker, min(others))
    return ()


def _broker(row: tuple[str, Picks]) -> str:
    return row[0]


def split_finding(topology: Topology, split: Split, service: str) -> Finding:
    """Return TA-12 for a split, at the place of its first route."""
    instance = topology.instances[split.state.instance]
    database = instance.msdb
    if split.state.database is not None:
        database = instance.database(split.state.database) or instance.msdb
    names = set(split.decision.routes)
    source = next((r.source for r in database.routes if r.name in names), Source())
    routes = ", ".join(split.decision.routes)
    return finding_at(
        "TA-12", Severity.ERROR,
        f"routes {routes} do not specify a broker id and can send the same dialog with {service} "
        f"to different databases: broker ids {' and '.join(split.brokers)}",
        "Specify the broker id in each of these routes; the dialog's id then selects one of them.",
        f"{instance.name}/{database.name}", source,
        {"service": service, "routes": list(split.decision.routes), "brokers": list(split.brokers)},
    )  # fmt: skip
