"""Several targets: when a tier's addresses lead one dialog to different databases (3.4, TA-12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd

from streams.analysis.network import Pick, State
from streams.analysis.ways import Move, Ways
from streams.routing import Address, Decision, broker_key
from streams.topology import Finding, Severity, Source, Topology

Reach = frozenset[tuple[str, frozenset[Pick]]]
"""The broker ids that are reached, each with the choices that lead there."""


@dataclass(frozen=True, slots=True)
class Split:
    """A decision whose addresses lead to different broker ids."""

    state: State
    decision: Decision
    brokers: tuple[str, ...]


def several_targets(ways: Ways) -> tuple[Split, ...]:
    """Return every tier of routes without broker id that can make two targets of one dialog."""
    found: dict[tuple[State, Decision], Split] = {}
    for key in ways.reached():
        for decision, moves in _tiers(ways.moves(key)).items():
            reach = {address: _reach(ways, moves[address]) for address in moves}
            brokers = _conflict(list(reach.values()))
            if brokers:
                found[key.state, decision] = Split(key.state, decision, brokers)
    return tuple(sorted(found.values(), key=lambda s: (s.state.instance, s.decision.routes)))


def _tiers(moves: Iterable[Move]) -> Mapping[Decision, Mapping[Address, Move]]:
    """Return the decisions that hand several addresses to the transport and no broker id."""
    tiers: dict[Decision, dict[Address, Move]] = {}
    for move in moves:
        step = move.step
        if step.decision.broker is None and step.address is not None:
            tiers.setdefault(step.decision, {})[step.address] = move
    return {decision: tier for decision, tier in tiers.items() if len(tier) > 1}


def _reach(ways: Ways, move: Move) -> Reach:
    return frozenset(
        (kind.ending.broker, kind.picks)
        for kind in ways.after(move)
        if kind.ending.delivered and kind.ending.broker is not None
    )


def _conflict(reaches: list[Reach]) -> tuple[str, ...]:
    """Return two broker ids that one dialog can reach by two addresses."""
    for number, one in enumerate(reaches):
        for other in reaches[number + 1 :]:
            for broker, picks in sorted(one, key=lambda row: row[0]):
                for second, more in sorted(other, key=lambda row: row[0]):
                    if broker_key(broker) != broker_key(second) and together(picks, more):
                        return (broker, second)
    return ()


def together(picks: frozenset[Pick], more: frozenset[Pick]) -> bool:
    """Tell whether one dialog's hash can take all of these choices."""
    return all(_agree(one, other) for one in picks for other in more)


def _agree(one: Pick, other: Pick) -> bool:
    (kind, count, which), (other_kind, other_count, other_which) = one, other
    if kind != other_kind:
        return True
    if isinstance(which, int) and isinstance(other_which, int):
        # h mod m and h mod n go together exactly if they agree modulo gcd(m, n).
        common = gcd(count, other_count)
        return which % common == other_which % common
    return which == other_which


def split_finding(topology: Topology, split: Split, service: str) -> Finding:
    """Return TA-12 for a split, at the place of its first route."""
    instance = topology.instances[split.state.instance]
    database = instance.msdb
    if split.state.database is not None:
        database = instance.database(split.state.database) or instance.msdb
    names = set(split.decision.routes)
    source = next((r.source for r in database.routes if r.name in names), Source())
    routes = ", ".join(split.decision.routes)
    return Finding(
        "TA-12", Severity.ERROR,
        f"routes {routes} name no broker id and lead one dialog with {service} to different "
        f"databases: broker ids {' and '.join(split.brokers)}",
        "Name the broker id in each of these routes; then the dialog's id chooses one of them.",
        f"{instance.name}/{database.name}", source.file, source.line, source.column,
        {"service": service, "routes": list(split.decision.routes), "brokers": list(split.brokers)},
    )  # fmt: skip
