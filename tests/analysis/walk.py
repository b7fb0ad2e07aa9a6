"""Every path, walked one by one: what :mod:`streams.analysis.paths.path_graph` must agree with.

It knows the rules of a path (loops, hops, who listens where) from the reference and asks only
:func:`streams.routing.plan` where a message goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from streams import routing
from streams.routing import Decision, Origin, Plan, Query, Verdict
from streams.topology import Topology, instance_at, routing_instances

FORWARDS = 16


@dataclass(frozen=True)
class Walked:
    """One path: where it was decided, how it ended, and its share."""

    instances: tuple[str, ...]
    disposition: str
    at: str
    broker: str | None
    error: int | None
    share: Fraction

    @property
    def delivered(self) -> bool:
        return self.disposition == "delivered"


@dataclass(frozen=True)
class Walk:
    """A message's service and direction in a topology; conversations are all meant at once."""

    topology: Topology
    service: str
    from_initiator: bool
    now: float

    def walks(self, instance: str, database: str, broker: str | None) -> list[Walked]:
        """Return every path from a database."""
        return list(self._from(instance, database, broker, (), 0, Fraction(1)))

    def _from(
        self,
        instance: str,
        database: str | None,
        broker: str | None,
        before: tuple[tuple[str, str | None, str | None], ...],
        forwards: int,
        share: Fraction,
    ) -> Iterator[Walked]:
        here = (*before, (instance, database, broker))
        names = tuple(name for name, _, _ in here)
        origin = Origin.OUTSIDE if database is None else Origin.INSIDE
        query = Query(self.service, origin, broker, database, self.from_initiator)
        at = routing_instances(self.topology)[instance]

        def end(disposition: str, place: str, of: str | None, error: int | None, part: Fraction
                ) -> Walked:  # fmt: skip
            return Walked(names, disposition, place, of, error, part)

        for decision, part in _leaves(routing.plan(at, query, self.now), share):
            number = None if decision.error is None else int(decision.error)
            if decision.verdict is Verdict.DELIVER:
                for name in decision.candidates:
                    where = f"{instance}/{name}"
                    broker_id = at.databases[name].broker_id
                    portion = part / len(decision.candidates)
                    yield end("delivered", where, broker_id, None, portion)
                continue
            if not decision.addresses:
                asks = decision.verdict is Verdict.ASK and database is not None
                stays = decision.verdict is Verdict.DELAY or asks
                disposition = "delayed" if stays else "dropped"
                yield end(disposition, instance, decision.broker, number, part)
                continue
            for address in decision.addresses:
                portion = part / len(decision.addresses)
                counts = decision.verdict is Verdict.FORWARD
                if counts and forwards >= FORWARDS:
                    yield end("dropped", instance, decision.broker, 11285, portion)
                    continue
                next_ = instance_at(self.topology, address, instance)
                if next_ is None:
                    yield end("unknown", instance, decision.broker, None, portion)
                elif not self.topology.instances[next_].started:
                    kind, error = ("dropped", 11290) if database is None else ("delayed", 9753)
                    yield end(kind, instance, decision.broker, error, portion)
                elif (next_, None, decision.broker) in here:
                    yield end("loop", instance, decision.broker, 11285, portion)
                else:
                    yield from self._from(
                        next_, None, decision.broker, here, forwards + counts, portion
                    )


def _leaves(plan: Plan, share: Fraction) -> Iterator[tuple[Decision, Fraction]]:
    part = share / len(plan.decisions)
    for inner in plan.decisions:
        if isinstance(inner, Plan):
            yield from _leaves(inner, part)
        else:
            yield inner, part


def dialog(
    topology: Topology, sender: tuple[str, str, str], to: str, now: float
) -> tuple[list[Walked], bool]:
    """Return all paths of a dialog's messages, and whether all arrive and are acknowledged."""
    instance, database, service = sender
    walks = Walk(topology, to, True, now).walks(instance, database, None)
    home = topology.instances[instance].databases[database].broker_id
    back = Walk(topology, service, False, now)
    fine = all(
        walk.delivered
        and any(
            answer.delivered and answer.at == f"{instance}/{database}"
            for answer in back.walks(*_place(walk.at), home)
        )
        for walk in walks
    )
    return walks, fine


def _place(at: str) -> tuple[str, str]:
    instance, _, database = at.partition("/")
    return instance, database
