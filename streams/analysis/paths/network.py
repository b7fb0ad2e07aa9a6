"""The graph in which a message travels: one state per decision, one step per thing that follows.

A state is an instance, the table that decides there and the broker id on the wire; what stays the
same on the whole way (service, direction, conversation) belongs to the :class:`Network`. Decisions
come from :mod:`streams.routing` and from nowhere else.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cache

from streams import routing
from streams.errors import Number
from streams.routing import Address, Decision, Origin, Plan, Query, Verdict, broker_key
from streams.topology import Role, Topology, directory, instance_at, routing_instances
from streams.topology.compile import LOOPBACK

Pick = tuple[str, int, int | str]
"""What a choice depends on: (kind, among how many, which). Two choices of one dialog are linked."""


class Disposition(Enum):
    """How a way ends; the values are the contract's words."""

    DELIVERED = "delivered"
    DELAYED = "delayed"
    DROPPED = "dropped"
    LOOP = "loop"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class State:
    """Where a message is decided upon; ``database`` is its home, ``None`` for one from outside."""

    instance: str
    database: str | None
    broker: str | None


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a way: in a database where it was delivered, else where it was left."""

    disposition: Disposition
    instance: str
    database: str | None = None
    broker: str | None = None
    error: Number | None = None

    @property
    def at(self) -> str:
        """Return ``instance/database`` where delivered, else the instance."""
        return self.instance if self.database is None else f"{self.instance}/{self.database}"

    @property
    def delivered(self) -> bool:
        """Tell whether a database took the message."""
        return self.disposition is Disposition.DELIVERED


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can follow from a state, with its share of the state's messages.

    ``forwards`` tells whether it uses a hop: what an instance sends of its own does not.
    """

    share: Fraction
    decision: Decision
    alternatives: tuple[str, ...]
    picks: frozenset[Pick]
    address: Address | None = None
    following: State | None = None
    ending: Ending | None = None
    forwards: bool = False

    @property
    def order(self) -> tuple[str, ...]:
        """Return the names by which ways are ordered."""
        end = self.ending.at if self.ending else self.following.instance if self.following else ""
        return (end, str(self.address or ""), self.decision.broker or "")


@dataclass(slots=True)
class Network:
    """A topology as one message sees it; :meth:`steps` is computed once per state."""

    topology: Topology
    service: str
    from_initiator: bool
    conversation: uuid.UUID | None
    now: float
    _steps: dict[State, tuple[Step, ...]] = field(default_factory=dict)
    _instances: dict[str, routing.Instance] = field(default_factory=dict)
    _leads: dict[tuple[str, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self._instances:
            self._instances = routing_instances(self.topology)
            self._leads = dict(directory(self.topology))

    def backwards(self, service: str) -> Network:
        """Return the same network for what the target sends to the initiator's service."""
        return Network(
            self.topology, service, False, self.conversation, self.now,
            _instances=self._instances, _leads=self._leads,
        )  # fmt: skip

    def steps(self, state: State) -> tuple[Step, ...]:
        """Return everything that can follow from a state, in the order of names."""
        found = self._steps.get(state)
        if found is None:
            plan = routing.plan(self._instances[state.instance], self._query(state), self.now)
            found = tuple(sorted(self._follow(state, plan), key=lambda step: step.order))
            self._steps[state] = found
        return found

    def _query(self, state: State) -> Query:
        origin = Origin.OUTSIDE if state.database is None else Origin.INSIDE
        return Query(
            self.service, origin, state.broker, state.database, self.from_initiator,
            self.conversation,
        )  # fmt: skip

    def _follow(self, state: State, plan: Plan) -> Iterator[Step]:
        for decision, alternatives, picks, count in _decisions(plan, self.conversation):
            made = list(self._outcomes(state, decision))
            share, forwards = _one_of(count * len(made)), _forwards(state, decision)
            for outcome, more in made:
                yield Step(share, decision, alternatives, picks | more, *outcome, forwards=forwards)

    def _outcomes(
        self, state: State, decision: Decision
    ) -> Iterator[tuple[tuple[Address | None, State | None, Ending | None], frozenset[Pick]]]:
        nothing: frozenset[Pick] = frozenset()
        if decision.verdict is Verdict.DELIVER:
            for delivered, picks in self._deliveries(state, decision):
                yield (None, None, delivered), picks
        elif decision.addresses:
            for address in self._addresses(state, decision):
                following, ending = self._arrival(state, decision, address)
                yield (address, following, ending), nothing
        else:
            yield (None, None, _left(state, decision)), nothing

    def _deliveries(
        self, state: State, decision: Decision
    ) -> Iterator[tuple[Ending, frozenset[Pick]]]:
        ordered = routing.order_databases(decision.candidates, self.conversation)
        taken = ordered if self.conversation is None else ordered[:1]
        for name in taken:
            broker = self._instances[state.instance].databases[name].broker_id
            picks = {(f"database of {state.instance}", 0, name)} if len(taken) > 1 else set()
            ending = Ending(Disposition.DELIVERED, state.instance, name, broker)
            yield ending, frozenset(picks)

    def _arrival(
        self, state: State, decision: Decision, address: Address
    ) -> tuple[State | None, Ending | None]:
        """Return who decides next, or the end where nobody listens at an address."""
        name = self._leads_to(state.instance, address)
        if name is None:
            unknown = Ending(Disposition.UNKNOWN, state.instance, broker=decision.broker)
            return None, unknown
        if self._instances[name].started:
            return State(name, None, decision.broker), None
        # Nobody answers there: what began here stays, a forwarder's copy outlives its time.
        if state.database is None:
            number, end = Number.NOT_DELIVERABLE_IN_TIME, Disposition.DROPPED
        else:
            number, end = Number.TARGET_UNREACHABLE, Disposition.DELAYED
        return None, Ending(end, state.instance, broker=decision.broker, error=number)

    def _leads_to(self, instance: str, address: Address) -> str | None:
        if self._instances[instance].is_here(address):
            return instance
        if address.host.casefold() in LOOPBACK:
            return instance_at(self.topology, address, instance)
        name = self._leads.get((address.host.casefold(), address.port))
        return None if frozenset((instance, name)) in self.topology.cuts else name

    def _addresses(self, state: State, decision: Decision) -> tuple[Address, ...]:
        """Return the addresses that can get the message; of a mirrored pair, the principal's."""
        if decision.verdict is not Verdict.PROBE:
            return decision.addresses
        known = [a for a in decision.addresses if self._plays(state, decision, a, Role.PRINCIPAL)]
        if known:
            return tuple(known[:1])
        other = [a for a in decision.addresses if self._plays(state, decision, a, Role.MIRROR)]
        return tuple(a for a in decision.addresses if a not in other) or decision.addresses

    def _plays(self, state: State, decision: Decision, address: Address, role: Role) -> bool:
        name = self._leads_to(state.instance, address)
        if name is None:
            return False
        return any(
            d.mirror is not None and d.mirror.role is role
            for d in self.topology.instances[name].databases.values()
            if self.service in d.services
            and (decision.broker is None or broker_key(decision.broker) == broker_key(d.broker_id))
        )


def _forwards(state: State, decision: Decision) -> bool:
    # A message that loops back (R9) is forwarded by the instance where it began.
    outside = state.database is None
    return decision.verdict is Verdict.FORWARD or (decision.verdict is Verdict.PROBE and outside)


def _left(state: State, decision: Decision) -> Ending:
    inside = state.database is not None
    delayed = decision.verdict is Verdict.DELAY or (decision.verdict is Verdict.ASK and inside)
    end = Disposition.DELAYED if delayed else Disposition.DROPPED
    return Ending(end, state.instance, broker=decision.broker, error=decision.error)


def _decisions(
    plan: Plan, conversation: uuid.UUID | None
) -> Iterator[tuple[Decision, tuple[str, ...], frozenset[Pick], int]]:
    """Yield a plan's decisions with the broker ids they were chosen among, each one of how many."""
    if conversation is not None:
        yield plan.decision(conversation), plan.alternatives, frozenset(), 1
        return
    count = len(plan.decisions)
    for number, inner in enumerate(plan.decisions):
        pick: frozenset[Pick] = frozenset({("hash", count, number)} if count > 1 else ())
        if isinstance(inner, Decision):
            yield inner, plan.alternatives, pick, count
            continue
        for decision, ids, picks, more in _decisions(inner, None):
            yield decision, plan.alternatives or ids, pick | picks, count * more


@cache
def _one_of(count: int) -> Fraction:
    return Fraction(1, count)
