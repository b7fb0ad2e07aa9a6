"""One routing decision as an answer: the outcome, the routes, and every rule."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streams import routing
from streams.analysis.answers import database_of, decision_json
from streams.errors import UsageError
from streams.routing import Decision, Explanation, Origin, Query, Verdict
from streams.topology import MSDB, Database, Instance, Topology, routing_instance_of

_BAD = frozenset({Verdict.DELAY, Verdict.DROP})


@dataclass(frozen=True, slots=True)
class Question:
    """The question of where a message goes next.

    ``database`` is the sender's database if the message was sent from ``instance``.
    """

    instance: Instance
    database: Database | None
    service: str
    broker: str | None = None
    conversation: uuid.UUID | None = None
    outside: bool = False
    from_target: bool = False


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    """The question with its decision and the rules that were tried."""

    question: Question
    explanation: Explanation

    @property
    def decision(self) -> Decision:
        """Return the decision."""
        return self.explanation.decision

    @property
    def good(self) -> bool:
        """Return whether the message is neither delayed nor dropped."""
        return self.decision.verdict not in _BAD

    @property
    def table(self) -> str:
        """Return the database whose routes decide."""
        q = self.question
        return MSDB if q.outside or q.database is None else q.database.name

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a dictionary with the keys of the JSON output."""
        q = self.question
        return {
            "at": {"instance": q.instance.name, "table": self.table},
            "query": {
                "service": q.service,
                "broker": q.broker,
                "origin": _origin(q).value,
                "from": "target" if q.from_target else "initiator",
                "conversation": None if q.conversation is None else str(q.conversation),
            },
            **decision_json(q.instance.name, self.decision, q.conversation),
            "alternatives": list(self.explanation.alternatives),
            "trace": [
                {"rule": step.rule, "kept": list(step.kept), "why": step.why}
                for step in self.explanation.trace
            ],
        }

    @property
    def deliver_to(self) -> str | None:
        """Return the database to which the message is delivered, if any."""
        return database_of(self.decision, self.question.conversation)


def explain_decision(topology: Topology, question: Question, now: float) -> DecisionAnswer:
    """Answer a question; ``now`` (epoch seconds) determines which routes have expired."""
    name = question.instance.name
    return answer_question(question, now, lambda: routing_instance_of(topology, name))


def answer_question(
    question: Question, now: float, compiled: Callable[[], routing.Instance]
) -> DecisionAnswer:
    """Answer a question at an instance, which is compiled on demand."""
    if question.database is None and not question.outside:
        raise UsageError(
            f"'{question.instance.name}' does not name a database.",
            "Give INSTANCE/DATABASE, or --outside for a message from the network (msdb).",
        )
    home = None if question.outside or question.database is None else question.database.name
    query = Query(
        question.service,
        _origin(question),
        question.broker,
        home,
        from_initiator=not question.from_target,
        conversation=question.conversation,
    )
    return DecisionAnswer(question, routing.explain(compiled(), query, now))


def _origin(question: Question) -> Origin:
    return Origin.OUTSIDE if question.outside else Origin.INSIDE
