"""Answers as text: a decision with its rules, and the end of a path."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.answers import decided
from streams.analysis.explain import DecisionAnswer
from streams.analysis.paths.network import Disposition, Ending, Step
from streams.errors import Number, text_of
from streams.routing import Verdict
from streams.topology import Transport

_VERDICTS = {
    Verdict.DELIVER: "delivered to {to}",
    Verdict.SEND: "sent to {hops}",
    Verdict.FORWARD: "forwarded to {hops}",
    Verdict.PROBE: "mirrored: {hops} are asked which of them is the principal",
    Verdict.ASK: "delayed, and the configuration service is asked for a route",
    Verdict.DELAY: "delayed: stays in the transmission queue",
    Verdict.DROP: "dropped: the sender keeps the message and retries",
}
_ANSWERED = "refused: {by} answers with an Error, which ends a dialog whose BEGIN names its id"
_LABELS = {"STOPPED": "R8.6"}
"""Rules that text shows by another name: "STOPPED  the endpoint is started" would mislead."""


def explain_text(answer: DecisionAnswer) -> str:
    """Return a decision as human-readable text."""
    return "\n".join(_explain_lines(answer)) + "\n"


def _explain_lines(answer: DecisionAnswer) -> Iterator[str]:
    q, d = answer.question, answer.decision
    side = "the target" if q.from_target else "the initiator"
    origin = f"sent from this instance by {side}"
    if q.outside or q.database is None:
        origin = f"received from another instance, from {side}'s side"
    broker = f"broker id {q.broker}" if q.broker is not None else "no broker id"
    yield f"At {q.instance.name}, by the routes of {answer.table}, for {q.service}"
    yield f"({origin}, {broker}):"
    yield ""
    to = f"{q.instance.name}/{answer.deliver_to}"
    hops = " and ".join(str(address) for address in d.addresses)
    if len(d.addresses) > 1 and d.verdict is not Verdict.PROBE:
        every = q.instance.endpoint.transport is Transport.ALL
        hops = f"{'each' if every else 'one'} of {', '.join(map(str, d.addresses))}"
    answered = d.error is Number.REMOTE_SERVICE_MISSING
    outcome = _ANSWERED if answered else _VERDICTS[d.verdict]
    yield "  " + outcome.format(to=to, hops=hops, by=f"{q.instance.name}/{', '.join(d.candidates)}")
    if d.error is not None:
        yield f"  {int(d.error)}: {text_of(d.error)}"
    if d.routes:
        yield f"  by {', '.join(d.routes)}"
    if d.broker is not None:
        yield f"  with broker id {d.broker}"
    if len(answer.explanation.alternatives) > 1:
        yield f"  one of {', '.join(answer.explanation.alternatives)}, by the conversation id"
        if not q.conversation:
            yield f"  (the output assumes {d.broker}; see --conversation)"
    if len(d.candidates) > 1:
        yield f"  of the databases {', '.join(d.candidates)}"
    yield ""
    width = max((len(rule_label(step.rule)) for step in answer.explanation.trace), default=0)
    for step in answer.explanation.trace:
        kept = f" [{', '.join(step.kept)}]" if step.kept else ""
        yield f"  {rule_label(step.rule):<{width}}  {step.why}{kept}"


def rule_label(rule: str) -> str:
    """Return the name of a rule in text."""
    return _LABELS.get(rule, rule)


def failure_text(ending: Ending, step: Step) -> str:
    """Return where and how a path ends without a delivery."""
    error = f": {int(ending.error)}, {text_of(ending.error)}" if ending.error is not None else ""
    match ending.disposition:
        case Disposition.UNKNOWN:
            return f"UNKNOWN: no instance listens at {step.address} ({decided(step)})"
        case Disposition.LOOP:
            back = step.following.instance if step.following else ""
            return f"LOOP: back to {back} ({step.decision.step} {decided(step)}){error}"
        case other:
            return f"{other.value.upper()} at {ending.at}{error}"
