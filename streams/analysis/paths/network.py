"""The graph of a message: one state per decision, one step per outcome.

A state is an instance, the deciding table and the broker id on the wire; values that are constant
on the whole path (service, direction, conversation) belong to the :class:`Network`. All decisions
come from :mod:`streams.routing`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

from streams import routing
from streams.analysis.paths.likeness import Likeness, MessageClass
from streams.analysis.paths.step import Disposition, Ending, Pick, State, Step
from streams.errors import Number
from streams.routing import Address, Decision, Origin, Plan, Query, Verdict, broker_key
from streams.topology import Role, Topology, directory, routing_instances
from streams.topology.compile import found_at

__all__ = ["Common", "Disposition", "Ending", "Network", "Pick", "State", "Step"]


@dataclass(slots=True)
class Common:
    """The data that all networks of a topology share: steps by class, see :mod:`.likeness`."""

    topology: Topology
    instances: Mapping[str, routing.Instance]
    leads: Mapping[tuple[str, int], str]
    likeness: Likeness
    steps: dict[MessageClass, tuple[Step, ...]] = field(default_factory=dict)

    @staticmethod
    def of(topology: Topology) -> Common:
        """Compile a topology."""
        instances = routing_instances(topology)
        return Common(topology, instances, dict(directory(topology)), Likeness(instances))


@dataclass(slots=True)
class Network:
    """The graph of one message in a topology; :meth:`steps` is computed once per state."""

    common: Common
    service: str
    from_initiator: bool
    conversation: uuid.UUID | None
    now: float
    _steps: dict[State, tuple[Step, ...]] = field(default_factory=dict)

    def backwards(self, service: str) -> Network:
        """Return the same network for messages from the target to the initiator's service."""
        return Network(self.common, service, False, self.conversation, self.now)

    def steps(self, state: State) -> tuple[Step, ...]:
        """Return all steps from a state, sorted by name."""
        found = self._steps.get(state)
        if found is None:
            found = self._steps[state] = self._decided(state)
        return found

    def _decided(self, state: State) -> tuple[Step, ...]:
        """Return the cached steps of a message that is routed in the same way, or compute them."""
        table = (state.instance, state.database)
        kind = self.common.likeness.kind(table, self.service, state.broker, self.from_initiator)
        if kind is None:
            return self._planned(state)
        found = self.common.steps.get(kind)
        if found is not None:
            return _with_broker(found, state.broker)
        found = self._planned(state)
        # Names at the other end decide which half of a mirrored pair accepts a message.
        if found[0].decision.verdict is not Verdict.PROBE:
            self.common.steps[kind] = found
        return found

    def _planned(self, state: State) -> tuple[Step, ...]:
        plan = routing.plan(self.common.instances[state.instance], self._query(state), self.now)
        return tuple(sorted(self._follow(state, plan), key=lambda step: step.order))

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
            broker = self.common.instances[state.instance].databases[name].broker_id
            picks = {(f"database of {state.instance}", 0, name)} if len(taken) > 1 else set()
            ending = Ending(Disposition.DELIVERED, state.instance, name, broker)
            yield ending, frozenset(picks)

    def _arrival(
        self, state: State, decision: Decision, address: Address
    ) -> tuple[State | None, Ending | None]:
        """Return the next state, or the end if no started instance has the address."""
        name = self._leads_to(state.instance, address)
        if name is None:
            unknown = Ending(Disposition.UNKNOWN, state.instance, broker=decision.broker)
            return None, unknown
        if self.common.instances[name].started:
            return State(name, None, decision.broker), None
        # The instance is not started: a local message waits, a forwarder's copy expires.
        if state.database is None:
            number, end = Number.NOT_DELIVERABLE_IN_TIME, Disposition.DROPPED
        else:
            number, end = Number.TARGET_UNREACHABLE, Disposition.DELAYED
        return None, Ending(end, state.instance, broker=decision.broker, error=number)

    def _leads_to(self, instance: str, address: Address) -> str | None:
        if self.common.instances[instance].is_here(address):
            return instance
        own = self.common.instances[instance].address
        name = found_at(self.common.leads, address, own)
        return None if frozenset((instance, name)) in self.common.topology.cuts else name

    def _addresses(self, state: State, decision: Decision) -> tuple[Address, ...]:
        """Return the message's possible addresses; for a mirrored pair, only the principal's."""
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
            for d in self.common.topology.instances[name].databases.values()
            if self.service in d.services
            and (decision.broker is None or broker_key(decision.broker) == broker_key(d.broker_id))
        )


def _with_broker(steps: tuple[Step, ...], broker: str | None) -> tuple[Step, ...]:
    """Return the steps after one decision, for a message with another broker id."""
    if steps[0].decision.broker == broker:
        return steps
    decision = replace(steps[0].decision, broker=broker)
    return tuple(_carrying(step, decision, broker) for step in steps)


def _carrying(step: Step, decision: Decision, broker: str | None) -> Step:
    on, end = step.following, step.ending
    return Step(
        step.share, decision, step.alternatives, step.picks, step.address,
        None if on is None else State(on.instance, None, broker),
        None if end is None else end._replace(broker=broker), step.forwards,
    )  # fmt: skip


def _forwards(state: State, decision: Decision) -> bool:
    # A message that loops back (R9) is forwarded by the instance from which it was sent.
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
    """Yield each decision, the alternative broker ids, the choices, and the number of decisions."""
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
