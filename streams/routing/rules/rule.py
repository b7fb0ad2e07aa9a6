"""A rule and its context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streams.errors.numbers import Number
from streams.routing.address import Address
from streams.routing.decision import FOREVER, Decision, TraceStep, Verdict
from streams.routing.model import Instance, Origin, Query, Route, RoutingTable

Routes = tuple[Route, ...]
Found = Routes | Decision


@dataclass(slots=True)
class Context:
    """The input of the rules.

    ``broker`` is the conversation's broker id; after the choice of a route, the route's broker id.
    """

    instance: Instance
    query: Query
    table: RoutingTable
    now: float
    broker: str | None
    strict_local_tier: bool = False
    step: str = ""
    valid_until: float = FOREVER
    trace: list[TraceStep] | None = None
    addresses: tuple[Address, ...] = field(default=())

    @property
    def inside(self) -> bool:
        """Return whether the message was sent from this instance."""
        return self.query.origin is Origin.INSIDE

    def live(self, routes: Routes) -> Routes:
        """Return the unexpired routes (R3.1) and remember when the first of them expires."""
        kept = routes
        if any(r.expires is not None for r in routes):
            kept = tuple(r for r in routes if r.expires is None or r.expires > self.now)
            ends = [r.expires for r in kept if r.expires is not None]
            self.valid_until = min([self.valid_until, *ends])
        return kept

    def unusable(self, otherwise: Number) -> Number:
        """Return the error for dropping a copy: 28018 if its broker id belongs to a mirror."""
        database = None if self.broker is None else self.instance.with_broker_id(self.broker)
        here = database is not None and database.is_mirror
        return Number.TARGET_IS_MIRROR if here else otherwise

    def refuse(self, routes: Routes, inside: Number, outside: Number) -> Decision:
        """Delay a local message, or drop a message from another instance (outcome table of 2.2)."""
        verdict, number = (Verdict.DELAY, inside) if self.inside else (Verdict.DROP, outside)
        return self.decide(verdict, routes, error=number)

    def decide(
        self,
        verdict: Verdict,
        routes: Routes = (),
        *,
        addresses: tuple[Address, ...] = (),
        candidates: tuple[str, ...] = (),
        error: Number | None = None,
    ) -> Decision:
        """Build a decision in this context."""
        names = tuple(r.name for r in routes if r.name)
        return Decision(
            verdict,
            self.step,
            names,
            self.broker,
            addresses,
            candidates,
            error,
            self.query.looped_back,
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name in the reference, its effect, and its description.

    ``miss`` returns why the rule did not answer for these routes, or nothing if the rule does not
    concern the message.
    """

    name: str
    apply: Callable[[Context, Routes], Found | None]
    hit: str
    miss: Callable[[Context, Routes], str]


def always(text: str) -> Callable[[Context, Routes], str]:
    """Return a ``miss`` with a constant text."""
    return lambda _, __: text
