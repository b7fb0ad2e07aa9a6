"""Describe a dialog's history in text: parties, steps, decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streams.analysis.explain_text import rule_label
from streams.errors import text_of
from streams.live.life import Decided, Life, MessageLife, Step
from streams.routing import TraceStep, Verdict

_OUTCOMES = {
    Verdict.DELIVER: "delivered to {to}",
    Verdict.SEND: "sent to {hops}",
    Verdict.FORWARD: "forwarded to {hops}",
    Verdict.PROBE: "for the principal of a mirrored pair: {hops}",
    Verdict.ASK: "delayed: a route was requested",
    Verdict.DELAY: "delayed ({number})",
    Verdict.DROP: "dropped ({number})",
}


@dataclass(frozen=True, slots=True)
class DecisionWords:
    """A decision for display; ``otherwise`` is the result with the current routes, if different."""

    instance: str
    at: int
    outcome: str
    rule: str
    table: str
    rules: tuple[TraceStep, ...]
    agrees: bool
    otherwise: str


def decision_words(decided: Decided) -> DecisionWords:
    """Return a decision as text: the result, and the rules that led to it."""
    outcome = _outcome(decided)
    done = outcome
    if not decided.agrees:
        done = f"sent to {decided.went_to}" if decided.went_to else "not forwarded"
    return DecisionWords(
        decided.instance,
        decided.at,
        done[0].upper() + done[1:],
        decided.rule if decided.agrees else "",
        decided.answer.table,
        tuple(replace(s, rule=rule_label(s.rule)) for s in decided.answer.explanation.trace),
        decided.agrees,
        outcome,
    )


def _outcome(decided: Decided) -> str:
    decision = decided.answer.decision
    number = f"{int(decision.error)}: {text_of(decision.error)}" if decision.error else ""
    hops = " or ".join(str(address) for address in decision.addresses)
    if len(decision.addresses) > 1 and decided.agrees:
        hops = f"{decided.went_to}, of {hops}"
    to = f"{decided.instance}/{decided.answer.deliver_to}"
    text = _OUTCOMES[decision.verdict].format(to=to, hops=hops, number=number)
    return text + (f", broker id {decision.broker}" if decision.broker else "")


def parties_of(life: Life) -> tuple[str, str]:
    """Return the parties, with their places if known."""
    names = []
    for is_initiator, service in ((True, life.from_service), (False, life.to_service)):
        places = [e for e in life.endpoints if e.is_initiator is is_initiator]
        at = f"{places[0].instance}/{places[0].database}/" if len(places) == 1 else ""
        names.append(f"{at}{service or '?'}")
    return names[0], names[1]


def title_of(step: Step) -> str:
    """Return the description of a step, with its instances."""
    sight = step.sight
    number = f" {sight.number}" if sight.number is not None else ""
    text = f"{sight.verb}{number}{sight.aside}{sight.rest}"
    names = [end[-1] for end in sight.ends]
    if not names:
        return text
    return f"{' → '.join(names) if sight.shape.is_arrow else ', '.join(names)}: {text}"


def refused_of(message: MessageLife) -> str:
    """Return the error numbers of rejected copies of a message, with their counts."""
    return ", ".join(
        f"{number} {text_of(number)}" + (f" ({count} times)" if count > 1 else "")
        for number, count in sorted(message.refused.items())
    )
