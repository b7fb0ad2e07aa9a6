"""The number of failures that a flow survives: TA-15."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.check.proof import (
    flows_in,
    place_of,
    routes_on,
    shown,
    where,
    written,
)
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import outbound_answers
from streams.analysis.flows.flow_values import FlowAnswer, Forth
from streams.analysis.flows.journey import shortest_path_to
from streams.analysis.flows.redundancy import Redundancy
from streams.analysis.known import known
from streams.prose import counted, listed
from streams.routing import Verdict, broker_key
from streams.topology import Finding, Severity, finding_at

_W, _I = Severity.WARNING, Severity.INFO


def degrees(estate: Estate) -> Iterable[Finding]:
    """Report the number of paths through forwarders to each broker id, and misleading routes."""
    for forth, answers in outbound_answers(estate):
        if any(r.disjoint > 1 or r.instances for r in forth.redundancy.values()):
            yield _degree(estate, forth, answers)


def _degree(estate: Estate, forth: Forth, answers: tuple[FlowAnswer, ...]) -> Finding:
    place, service = answers[0].flow.sender, answers[0].flow.to
    single = any(found.instances for found in forth.redundancy.values())
    deceptive = single and not forth.failures and _several_addresses(forth)
    routes = routes_on(estate, shortest_path_to(forth.graph, forth.graph.start))
    reach = listed([_reach_text(estate, key, found) for key, found in forth.redundancy.items()])
    although = ", despite several routes" if deceptive else ""
    return finding_at(
        "TA-15", _W if deceptive else _I,
        f"{place.database.name} reaches {service} {reach}{although}",
        _remedy(single=single, deceptive=deceptive),
        place_of(place.instance, place.database),
        written(*(where(at) for at in routes[:1]), place.database.source, place.instance.source),
        shown(
            routes, sorted({name for r in forth.redundancy.values() for name in r.between}),
            service=service, redundancy={key: r.disjoint for key, r in forth.redundancy.items()},
            single_points=sorted({n for r in forth.redundancy.values() for n in r.instances}),
            **flows_in(answers),
        ),
    )  # fmt: skip


def _remedy(*, single: bool, deceptive: bool) -> str:
    if deceptive:
        return "Send the routes over different instances, so that one of them can fail."
    if single:
        return "Add a route over another forwarder if the flow must survive the loss of this one."
    return "No action needed: any single instance on the path may fail."


def _reach_text(estate: Estate, key: str, found: Redundancy) -> str:
    homes = known(estate).brokers.get(broker_key(key), ())
    target = f"in {listed([str(home) for home in homes])}" if homes else f"with broker id {key}"
    if found.instances:
        return f"{target} only over {listed(found.instances)}"
    return f"{target} by {counted(found.disjoint, 'independent path')}"


def _several_addresses(forth: Forth) -> bool:
    """Return whether the transport can choose among several addresses at some step."""
    graph = forth.graph
    return any(
        len(step.decision.addresses) > 1 and step.decision.verdict is not Verdict.PROBE
        for state in {key.state for key in graph.reached()}
        for step in graph.network.steps(state)
    )


CHECKS = (
    Check(
        "TA-15",
        "Number of independent paths to a target",
        (_W, _I),
        "reference 3.2",
        "All routes with the same broker id are passed to the transport, which tries another "
        "address when one fails. A finding of severity info reports how many paths share no "
        "instance, or which instances all paths share. Flows without a forwarder are not reported. "
        "A warning reports several routes whose paths all pass through the same instance.",
        "Route through different forwarders.",
        degrees,
    ),
)
