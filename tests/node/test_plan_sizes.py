"""What the forwarder's cache of plans counts."""

from __future__ import annotations

from streams.node.forwarder.plan_cache import DECISION_BYTES, CachedPlan, _size
from streams.protocol import Parties
from streams.routing import Decision, Origin, Plan, Verdict

PARTIES = Parties("Target", None, "Initiator", "A", "DEFAULT", True)
DECISION = Decision(Verdict.DELAY, "M7")


def test_each_decision_of_a_plan_is_counted() -> None:
    """A service that is balanced over many broker ids has a decision for each of them."""
    single = Plan((DECISION,))
    several = Plan((DECISION, Plan((DECISION, DECISION))), ("A", "B"))
    assert (single.count, several.count) == (1, 3)
    one, three = (CachedPlan(0, 1.0, plan, PARTIES) for plan in (single, several))
    key = (Origin.OUTSIDE, b"route")
    assert _size(key, three) == _size(key, one) + 2 * DECISION_BYTES
