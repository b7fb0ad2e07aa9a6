"""What becomes of one flow: where it arrives, by how many ways, and whether its answers return."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from streams.analysis.estate import Estate
from streams.analysis.flows import Flow, flows_of
from streams.analysis.hazards import Split, several_targets
from streams.analysis.network import Disposition, Ending, State, Step
from streams.analysis.path import PathVerdict
from streams.analysis.redundancy import Graph, Redundancy
from streams.analysis.route_index import RouteIndex
from streams.analysis.ways import Key, Ways
from streams.errors import text_of
from streams.routing import broker_key

Hops = tuple[tuple[State, Step], ...]


@dataclass(frozen=True, slots=True)
class Reached:
    """A database that takes dialogs of a flow, and its share of them."""

    at: str
    broker: str
    share: Fraction


@dataclass(frozen=True, slots=True)
class Failure:
    """An end that delivers nothing: how, where and why, with the first way that proves it."""

    ending: Ending
    share: Fraction
    hops: Hops

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the instances that decide on the way, in order."""
        return tuple(state.instance for state, _ in self.hops)

    def to_json(self) -> dict[str, Any]:
        """Return the failure for scripts."""
        error = self.ending.error
        return {
            "disposition": self.ending.disposition.value,
            "at": self.ending.at,
            "broker": self.ending.broker,
            "error": None if error is None else int(error),
            "reason": None if error is None else text_of(error),
            "share": float(self.share),
            "hops": list(self.instances),
        }


@dataclass(frozen=True, slots=True)
class Back:
    """How acknowledgements come back from a target: the shortest way that arrives, if any does.

    ``failures`` are the ends of ways that do not arrive at the initiator's database, ``between``
    the instances between the two on all ways that do.
    """

    place: Ending
    ways: Ways = field(repr=False, compare=False)
    hops: Hops
    arrives: bool
    failures: tuple[Failure, ...] = ()
    between: frozenset[str] = frozenset()

    @property
    def at(self) -> str:
        """Return the database from which they come, ``instance/database``."""
        return self.place.at

    @property
    def instances(self) -> tuple[str, ...]:
        """Return the instances that decide on the way, in order, from the target."""
        return tuple(state.instance for state, _ in self.hops)


@dataclass(frozen=True, slots=True)
class Forth:
    """The way there, which is the same for every service of the sender's database."""

    ways: Ways
    count: int
    reached: tuple[Reached, ...]
    places: tuple[Ending, ...]
    redundancy: Mapping[str, Redundancy]
    failures: tuple[Failure, ...]
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """What becomes of a flow. ``redundancy``: by broker id, how many ways share no instance.

    ``single_points``: instances, and routes as ``Instance/Database/Route``, that every way to some
    reached broker id uses. ``backs``: how acknowledgements come back
    from each reached database.
    """

    flow: Flow
    verdict: PathVerdict
    reached: tuple[Reached, ...]
    ways: int
    redundancy: Mapping[str, int]
    single_points: tuple[str, ...]
    failures: tuple[Failure, ...]
    backs: tuple[Back, ...]
    forth: Forth = field(repr=False, compare=False)

    @property
    def returns(self) -> bool:
        """Tell whether something is reached, and an acknowledgement comes back from all of it."""
        return bool(self.backs) and all(back.arrives for back in self.backs)

    @property
    def loops(self) -> tuple[Failure, ...]:
        """Return the ways that come back to where they were."""
        return tuple(f for f in self.failures if f.ending.disposition is Disposition.LOOP)

    def to_json(self) -> dict[str, Any]:
        """Return the answer for scripts."""
        return {
            **self.flow.to_json(),
            "verdict": self.verdict.value,
            "ways": self.ways,
            "reached": [
                {"at": r.at, "broker": r.broker, "share": float(r.share),
                 "redundancy": self.redundancy.get(broker_key(r.broker), 0)}
                for r in self.reached
            ],
            "single_points": list(self.single_points),
            "failures": [failure.to_json() for failure in self.failures],
            "returns": self.returns,
            "back": [
                {"from": b.at, "arrives": b.arrives, "hops": list(b.instances)} for b in self.backs
            ],
        }  # fmt: skip


def answer_flow(estate: Estate, flow: Flow) -> FlowAnswer:
    """Follow a flow by every way, there and back; what flows have in common is computed once."""
    forth = _forth(estate, flow)
    backs = tuple(way_back(estate, flow, place) for place in forth.places)
    if forth.failures or not all(back.arrives for back in backs):
        verdict = PathVerdict.BROKEN
    else:
        verdict = PathVerdict.HAZARD if forth.splits else PathVerdict.OK
    points = {p: None for r in forth.redundancy.values() for p in (*r.instances, *r.routes)}
    return FlowAnswer(
        flow, verdict, forth.reached, forth.count,
        {broker: r.ways for broker, r in forth.redundancy.items()},
        tuple(points), forth.failures, backs, forth,
    )  # fmt: skip


def answers_of(estate: Estate) -> tuple[FlowAnswer, ...]:
    """Return the answers of all flows that an estate means to have, in their order."""
    return estate.once(_answers)


def _answers(estate: Estate) -> tuple[FlowAnswer, ...]:
    return tuple(answer_flow(estate, flow) for flow in flows_of(estate))


def ways_there(estate: Estate) -> tuple[tuple[Forth, tuple[FlowAnswer, ...]], ...]:
    """Return every way there once, with the answers of all flows that take it."""
    return estate.once(_by_forth)


def _by_forth(estate: Estate) -> tuple[tuple[Forth, tuple[FlowAnswer, ...]], ...]:
    found: dict[int, list[FlowAnswer]] = {}
    for answer in answers_of(estate):
        found.setdefault(id(answer.forth), []).append(answer)
    return tuple((answers[0].forth, tuple(answers)) for answers in found.values())


def locked(estate: Estate, answer: FlowAnswer) -> tuple[FlowAnswer, ...]:
    """Return how a flow goes on once a target has acknowledged: with the broker id of each.

    From then on a dialog names a broker id (reference 2.1), and routes match otherwise.
    """
    if answer.flow.broker is not None:
        return ()
    ids = dict.fromkeys(reached.broker for reached in answer.reached)
    return tuple(answer_flow(estate, replace(answer.flow, broker=broker)) for broker in ids)


def routes_of(estate: Estate) -> RouteIndex:
    """Return the index of an estate's routes."""
    return estate.once(_index)


def _index(estate: Estate) -> RouteIndex:
    return RouteIndex(estate.topology, estate.now)


# --- There ---------------------------------------------------------------------------------------


def _forths(_: Estate) -> dict[tuple[str, str, str, str | None], Forth]:
    return {}


def _forth(estate: Estate, flow: Flow) -> Forth:
    place, known = flow.sender, estate.once(_forths)
    key = (place.instance.name, place.database.name, flow.to, flow.broker)
    if key not in known:
        start = State(place.instance.name, place.database.name, flow.broker)
        known[key] = _follow(Ways(estate.network(flow.to), start), routes_of(estate))
    return known[key]


def _follow(ways: Ways, routes: RouteIndex) -> Forth:
    shares: dict[Ending, Fraction] = {}
    for kind, total in ways.totals().items():
        shares[kind.ending] = shares.get(kind.ending, Fraction(0)) + total.share
    places = tuple(sorted((e for e in shares if e.delivered), key=lambda e: e.at))
    graph = Graph(ways, routes)
    reached = tuple(Reached(e.at, e.broker or "", shares[e]) for e in places)
    return Forth(
        ways, ways.count(), reached, places,
        {key: graph.redundancy(key) for key in _keys(reached)},
        _failures(ways, {e: share for e, share in shares.items() if not e.delivered}),
        several_targets(ways),
    )  # fmt: skip


def _keys(reached: tuple[Reached, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(broker_key(r.broker) for r in reached))


def _failures(ways: Ways, shares: Mapping[Ending, Fraction]) -> tuple[Failure, ...]:
    if not shares:
        return ()
    proofs = _first_ways(ways)
    found = (Failure(ending, share, proofs.get(ending, ())) for ending, share in shares.items())
    return tuple(sorted(found, key=_order))


def _order(failure: Failure) -> tuple[str, ...]:
    end = failure.ending
    return (end.at, end.disposition.value, str(end.error or ""), end.broker or "")


def way_to(ways: Ways, state: State) -> Hops:
    """Return the shortest way to a state, with the step that is taken there first."""
    came: dict[Key, tuple[Key, Step] | None] = {ways.first: None}
    waiting = deque([ways.first])
    while waiting:
        key = waiting.popleft()
        if key.state == state:
            return _hops(came, key, ways.network.steps(state)[0])
        for move in ways.moves(key):
            if move.following is not None and move.following not in came:
                came[move.following] = (key, move.step)
                waiting.append(move.following)
    return ()


def _first_ways(ways: Ways) -> dict[Ending, Hops]:
    """Return one shortest way to every end."""
    came: dict[Key, tuple[Key, Step] | None] = {ways.first: None}
    waiting = deque([ways.first])
    found: dict[Ending, Hops] = {}
    while waiting:
        key = waiting.popleft()
        for move in ways.moves(key):
            if move.following is None:
                if move.ending is not None and move.ending not in found:
                    found[move.ending] = _hops(came, key, move.step)
            elif move.following not in came:
                came[move.following] = (key, move.step)
                waiting.append(move.following)
    return found


def _hops(came: Mapping[Key, tuple[Key, Step] | None], key: Key, step: Step) -> Hops:
    hops = [(key.state, step)]
    before = came[key]
    while before is not None:
        hops.append((before[0].state, before[1]))
        before = came[before[0]]
    return tuple(reversed(hops))


# --- And back ------------------------------------------------------------------------------------


def _backs(_: Estate) -> dict[tuple[str, str | None, str, str, str], Back]:
    return {}


def way_back(estate: Estate, flow: Flow, place: Ending) -> Back:
    """Return how acknowledgements of a flow come back from a database."""
    sender, known = flow.sender, estate.once(_backs)
    home = (sender.instance.name, sender.database.name)
    key = (place.instance, place.database, sender.service, *home)
    if key not in known:
        start = State(place.instance, place.database, sender.database.broker_id)
        ways = Ways(estate.network(sender.service, from_initiator=False), start)
        known[key] = _return(place, ways, home, routes_of(estate))
    return known[key]


def _return(place: Ending, ways: Ways, home: tuple[str, str], routes: RouteIndex) -> Back:
    firsts = _first_ways(ways)
    arriving = [e for e in firsts if e.delivered and (e.instance, e.database) == home]
    missed = (Failure(e, Fraction(0), firsts[e]) for e in firsts if e not in arriving)
    failures = tuple(sorted(missed, key=_order))
    if not arriving:
        return Back(place, ways, failures[0].hops if failures else (), False, failures)
    broker = broker_key(arriving[0].broker or "")
    between = Graph(ways, routes).redundancy(broker).between
    return Back(place, ways, firsts[arriving[0]], True, failures, between)
