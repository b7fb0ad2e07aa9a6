"""Compare a topology with the expectations that its author has stated (TA-45)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.analysis.check.proof import routes_on, shown
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answer_flow
from streams.analysis.flows.flow_values import FlowAnswer
from streams.analysis.flows.flows import Clue, Evidence, Flow
from streams.analysis.flows.journey import shortest_path_to
from streams.analysis.places import find_sender
from streams.errors import UsageError
from streams.topology import Expectation, Finding, Severity, finding_at


def broken_expectations(estate: Estate) -> Iterable[Finding]:
    """Find expectations that do not hold, or whose sender does not exist."""
    for expected in estate.topology.expect:
        try:
            sender = find_sender(estate.topology, expected.sender, expected.to)
        except UsageError as error:
            remedy = error.remedy or "Write INSTANCE/DATABASE/SERVICE."
            yield _finding(expected, error.message, remedy, {"routes": [], "path": []})
            continue
        why = (Evidence(Clue.EXPECT, expected.sender, expected.source),)
        flow = Flow(sender, expected.to, expected.broker, None, why)
        answer = answer_flow(estate, flow)
        differing = "; ".join(_differing(expected, answer))
        if differing:
            yield _finding(
                expected, f"{flow}: {differing}",
                "Correct the topology or the expectation; hopline path shows every path.",
                _evidence(estate, answer),
            )  # fmt: skip


def _differing(expected: Expectation, answer: FlowAnswer) -> Iterator[str]:
    verdict = answer.verdict.value
    if expected.verdict is not None and expected.verdict != verdict:
        yield f"expected verdict {expected.verdict}, found {verdict}"
    at = tuple(dict.fromkeys(reached.at for reached in answer.reached))
    if expected.at is not None and set(expected.at) != set(at):
        wanted, found = (", ".join(sorted(names)) or "nothing" for names in (expected.at, at))
        yield f"expected to reach {wanted}, reaches {found}"


def _evidence(estate: Estate, answer: FlowAnswer) -> dict[str, object]:
    hops = answer.failures[0].hops if answer.failures else ()
    if not hops:
        hops = shortest_path_to(answer.forth.graph, answer.forth.graph.start)
    found = answer.to_json()
    return shown(
        routes_on(estate, hops), [state.instance for state, _ in hops],
        verdict=found["verdict"], reached=found["reached"], failures=found["failures"],
    )  # fmt: skip


def _finding(
    expected: Expectation, message: str, remedy: str, evidence: dict[str, object]
) -> Finding:
    subject = "/".join(expected.sender.split("/")[:2])
    return finding_at("TA-45", Severity.ERROR, message, remedy, subject, expected.source, evidence)


CHECKS = (
    Check(
        "TA-45",
        "An expectation does not hold",
        (Severity.ERROR,),
        "expect: in topology.yaml",
        "An entry under expect states the verdict of a flow and the complete set of databases "
        "that it reaches. The check compares it with every path.",
        "Correct the topology or the expectation.",
        broken_expectations,
    ),
)
