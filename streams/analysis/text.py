"""Answers as text for people: a decision with its rules, a path as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from streams.analysis.answers import decided
from streams.analysis.explain import Answer
from streams.analysis.network import Disposition, Ending, Step
from streams.analysis.path import Outcome, Paths
from streams.errors import text_of
from streams.routing import Verdict

_VERDICTS = {
    Verdict.DELIVER: "delivered to {to}",
    Verdict.SEND: "sent to {hops}",
    Verdict.FORWARD: "forwarded to {hops}",
    Verdict.PROBE: "mirrored: {hops} are asked which of them is the principal",
    Verdict.ASK: "delayed, and the configuration service is asked for a route",
    Verdict.DELAY: "delayed: stays in the transmission queue",
    Verdict.DROP: "dropped: the sender keeps the message and retries",
}


# --- explain -------------------------------------------------------------------------------------


def explain_text(answer: Answer) -> str:
    """Return a decision for people."""
    return "\n".join(_explain_lines(answer)) + "\n"


def _explain_lines(answer: Answer) -> Iterator[str]:
    q, d = answer.question, answer.decision
    origin = "from outside" if q.outside or q.database is None else "begun here"
    side = "the target" if q.from_target else "the initiator"
    broker = f"broker id {q.broker}" if q.broker is not None else "no broker id"
    yield f"At {q.instance.name}, by the routes of {answer.table}, for {q.service}"
    yield f"({origin}, sent by {side}, {broker}):"
    yield ""
    to = f"{q.instance.name}/{answer.deliver_to}"
    hops = " and ".join(str(address) for address in d.addresses)
    yield "  " + _VERDICTS[d.verdict].format(to=to, hops=hops)
    if d.error is not None:
        yield f"  {int(d.error)}: {text_of(d.error)}"
    if d.routes:
        yield f"  by {', '.join(d.routes)}"
    if d.broker is not None:
        yield f"  with broker id {d.broker}"
    if answer.explanation.alternatives:
        chosen = "by the conversation's id" if q.conversation else "shown for the first"
        yield f"  of {', '.join(answer.explanation.alternatives)} ({chosen})"
    if len(d.candidates) > 1:
        yield f"  of the databases {', '.join(d.candidates)}"
    yield ""
    width = max((len(step.rule) for step in answer.explanation.trace), default=0)
    for step in answer.explanation.trace:
        kept = f" [{', '.join(step.kept)}]" if step.kept else ""
        yield f"  {step.rule:<{width}}  {step.why}{kept}"


# --- path ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    label: str
    share: Fraction = Fraction(0)
    below: dict[tuple[str, str, str], _Node] = field(default_factory=dict)


def path_text(paths: Paths) -> str:
    """Return a path as a tree: an instance a line, what begins alike drawn once."""
    tree = _tree(paths)
    lines = [_head(paths), "", tree.label, *_drawn(tree, "")]
    if paths.truncated:
        lines += ["", f"{len(paths.outcomes)} of {paths.ways} ways are shown; see --limit."]
    for finding in paths.hazards:
        lines += ["", f"{finding.code}: {finding.message}.", f"  {finding.remedy}"]
    return "\n".join(lines) + "\n"


def _head(paths: Paths) -> str:
    ways = "1 way" if paths.ways == 1 else f"{paths.ways} ways"
    return f"{paths.sender} -> {paths.to}: {paths.verdict.value}, {ways}"


def _tree(paths: Paths) -> _Node:
    root = _Node(f"{paths.sender.instance.name} ({paths.sender.database.name})")
    for outcome in paths.outcomes:
        node, way = root, outcome.way
        node.share += way.share
        for number, (_, step) in enumerate(way.hops):
            last = number == len(way.hops) - 1
            name = _end(outcome, step) if last else way.hops[number + 1][0].instance
            label = name if last else f"{name} {_by(step)}"
            key = (label, str(step.address), step.decision.broker or "")
            node = node.below.setdefault(key, _Node(label))
            node.share += way.share
    return root


def _drawn(node: _Node, indent: str) -> Iterator[str]:
    below = list(node.below.values())
    for number, child in enumerate(below):
        last = number == len(below) - 1
        share = f"{_percent(child.share)}  " if len(below) > 1 else ""
        yield f"{indent}{'└─' if last else '├─'} {share}{child.label}"
        yield from _drawn(child, indent + ("   " if last else "│  "))


def _percent(share: Fraction) -> str:
    return f"{float(share) * 100:.3g} %"


def _by(step: Step) -> str:
    broker = f", broker id {step.decision.broker}" if step.decision.broker is not None else ""
    return f"({decided(step) or step.decision.step}{broker})"


def _end(outcome: Outcome, step: Step) -> str:
    ending = outcome.way.ending
    if not ending.delivered:
        return failure_text(ending, step)
    return f"delivered to {ending.at}; {_back(outcome)}"


def failure_text(ending: Ending, step: Step) -> str:
    """Say how and where a way ended that delivers nothing."""
    error = f": {int(ending.error)}, {text_of(ending.error)}" if ending.error is not None else ""
    match ending.disposition:
        case Disposition.UNKNOWN:
            return f"UNKNOWN: no instance listens at {step.address} ({decided(step)})"
        case Disposition.LOOP:
            back = step.following.instance if step.following else ""
            return f"LOOP: back to {back} {_by(step)}{error}"
        case other:
            return f"{other.value.upper()} at {ending.at}{error}"


def _back(outcome: Outcome) -> str:
    back = outcome.back
    if back is None or not back.ending.delivered:
        where = "" if back is None else f": {failure_text(back.ending, back.hops[-1][1])}"
        return f"NOT ACKNOWLEDGED{where}"
    between = [state.instance for state, _ in back.hops[1:-1]]
    if len(back.hops) == 1:
        return "acknowledged within the instance"
    return f"acknowledged by {', '.join(between)}" if between else "acknowledged directly"
