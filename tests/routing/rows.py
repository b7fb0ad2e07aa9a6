"""What a row of the conformance table is, and how it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streams.routing import Decision, Instance, Query, explain, plan
from streams.routing.rules import RULES, Rules

from .build import NOW


class Basis(Enum):
    """Whether a source states the outcome, or it follows from rules that it states."""

    DOC = "stated"
    DRV = "derived"


DOC = Basis.DOC
DRV = Basis.DRV


@dataclass(frozen=True, slots=True)
class RoutingExample:
    """One example: asked this, in this instance, the answer is that.

    ``shows`` names the rulings (see ``rulings.py``) of which the row is evidence.
    """

    id: str
    kind: Basis
    source: str
    says: str
    at: Instance
    asks: Query
    expects: Decision
    shows: str
    now: float = NOW
    strict_local_tier: bool = False

    def planned(self, rules: Rules = RULES) -> Decision:
        """Return what :func:`plan` answers."""
        strict = self.strict_local_tier
        made = plan(self.at, self.asks, self.now, rules=rules, strict_local_tier=strict)
        return made.decision(self.asks.conversation)

    def explained(self, rules: Rules = RULES) -> Decision:
        """Return what :func:`explain` answers."""
        strict = self.strict_local_tier
        return explain(self.at, self.asks, self.now, rules=rules, strict_local_tier=strict).decision

    def is_red(self, rules: Rules) -> bool:
        """Tell whether the row notices that these are not the rules."""
        try:
            return self.planned(rules) != self.expects
        except AssertionError:
            return True
