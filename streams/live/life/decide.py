"""Reconstruct each forwarder's decision about a copy, and the rule behind it, from the catalog.

A forwarder records the destination of a copy, but not the reason. Here, the same routing code
determines the reason from the catalog's current routes. If these routes would send the copy to
another place, the routes have changed since then, and the result reports the difference.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from streams import routing
from streams.analysis import DecisionAnswer, Question, explain_text
from streams.analysis.explain import answer_question
from streams.errors import UsageError
from streams.protocol import Parties
from streams.routing import Address, Verdict
from streams.topology import Topology, directory, routing_instance_of

_ONWARD = (Verdict.SEND, Verdict.FORWARD, Verdict.PROBE)


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision at an instance; ``at`` is in epoch milliseconds.

    ``went_to`` is the instance to which the copy was sent, or ``None``; ``route`` is the route,
    among several, that leads to it. ``agrees``: the current catalog gives the same result.
    """

    instance: str
    at: int
    answer: DecisionAnswer
    went_to: str | None
    agrees: bool
    route: str = ""

    @property
    def rule(self) -> str:
        """Return the rule and the route, such as ``M3 TargetRouteA``."""
        decision = self.answer.decision
        return f"{decision.step} {self.route or ', '.join(decision.routes)}".strip()

    @property
    def text(self) -> str:
        """Return the decision as human-readable text, with every rule that was tried."""
        return explain_text(self.answer)


class Decider:
    """Explain the decisions about one conversation with one topology."""

    def __init__(self, topology: Topology, conversation: uuid.UUID) -> None:
        self._topology, self._conversation = topology, conversation
        self._leads: Mapping[tuple[str, int], str] = directory(topology)
        self._compiled: dict[str, routing.Instance] = {}
        self._expiring: dict[tuple[str, str], bool] = {}
        self._answers: dict[tuple[object, ...], DecisionAnswer | None] = {}

    @property
    def instances(self) -> Collection[str]:
        """Return the names of all instances in the catalog."""
        return self._topology.instances

    def decide(
        self, instance: str, parties: Parties, at: int, *, inside: bool, went_to: str | None
    ) -> Decided | None:
        """Return the decision; ``None`` if the place is no longer in the catalog."""
        answer = self._answer(instance, parties, at, inside=inside)
        if answer is None:
            return None
        agrees = self._agrees(instance, answer, went_to)
        return Decided(instance, at, answer, went_to, agrees, self._route(answer, went_to))

    def _route(self, answer: DecisionAnswer, went_to: str | None) -> str:
        routes, addresses = answer.decision.routes, answer.decision.addresses
        if len(routes) != len(addresses):  # identical routes count once
            return ""
        pairs = zip(routes, addresses, strict=True)
        return next((r for r, address in pairs if self._leads.get(_key(address)) == went_to), "")

    def _agrees(self, instance: str, answer: DecisionAnswer, went_to: str | None) -> bool:
        decision = answer.decision
        if decision.verdict in _ONWARD:
            return went_to in {self._leads.get(_key(a)) for a in decision.addresses}
        return went_to == (instance if decision.candidates else None)

    def _answer(
        self, instance: str, parties: Parties, at: int, *, inside: bool
    ) -> DecisionAnswer | None:
        known = self._topology.instances.get(instance)
        if known is None:
            return None
        if instance not in self._compiled:
            self._compiled[instance] = routing_instance_of(self._topology, instance)
        home = self._compiled[instance].with_broker_id(parties.from_broker) if inside else None
        if inside and home is None:
            return None
        table = home.name if home is not None else ""
        key = (instance, table, parties, at if self._expires(instance, table) else 0)
        if key not in self._answers:
            question = Question(
                known,
                known.database(table) if table else None,
                parties.to_service,
                parties.to_broker,
                self._conversation,
                outside=not inside,
                from_target=not parties.from_initiator,
            )
            self._answers[key] = self._asked(question, at)
        return self._answers[key]

    def _asked(self, question: Question, at: int) -> DecisionAnswer | None:
        try:
            compiled = self._compiled[question.instance.name]
            return answer_question(question, at / 1000, lambda: compiled)
        except UsageError:
            return None

    def _expires(self, instance: str, table: str) -> bool:
        """Return whether the result depends on the current time."""
        key = (instance, table)
        if key not in self._expiring:
            compiled = self._compiled[instance]
            routes = compiled.databases[table].routes if table else compiled.msdb
            self._expiring[key] = any(r.expires is not None for r in routes.routes)
        return self._expiring[key]


def _key(address: Address) -> tuple[str, int]:
    return address.host.casefold(), address.port
