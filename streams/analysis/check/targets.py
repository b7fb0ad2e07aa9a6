"""The database that a dialog reaches: TA-12, TA-13, TA-14 and TA-18."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from streams.analysis.check.proof import (
    flows_in,
    routes_on,
    shown,
    where,
    written,
)
from streams.analysis.check.registry import Check
from streams.analysis.check.stops import Stop, named_routes, routes_with_ids, stops_of
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import outbound_answers
from streams.analysis.flows.journey import shortest_path_to
from streams.analysis.flows.route_index import At
from streams.analysis.paths.splits import split_finding
from streams.prose import listed
from streams.routing import Route, broker_key
from streams.topology import Finding, Severity, finding_at

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO


# --- TA-12 ---------------------------------------------------------------------------------------


def several_targets(estate: Estate) -> Iterable[Finding]:
    """Find name-only routes that can send the same dialog to different databases (3.4)."""
    for forth, answers in outbound_answers(estate):
        for split in forth.splits:
            found = split_finding(estate.topology, split, forth.graph.network.service)
            hops = shortest_path_to(forth.graph, split.state)
            more = {
                "places": [found.subject] * len(split.decision.routes),
                "path": [state.instance for state, _ in hops],
                "targets": sorted(
                    reached.at
                    for reached in forth.reached
                    if broker_key(reached.broker) in {broker_key(b) for b in split.brokers}
                ),
                **flows_in(answers),
            }
            yield replace(found, evidence={**found.evidence, **more})


# --- TA-13 ---------------------------------------------------------------------------------------


def shadowed(estate: Estate) -> Iterable[Finding]:
    """Find load-balancing routes that a route without a broker id disables (3.1)."""
    for stop in stops_of(estate):
        if stop.step.decision.step != "M2":
            continue
        full = routes_with_ids(estate, stop)
        if len({broker_key(r.broker or "") for r in full}) > 1:
            by = named_routes(estate, stop, stop.step.decision.routes)
            others = named_routes(estate, stop, (r.name for r in full))
            yield _shadow(stop, by, others)


def _shadow(stop: Stop, by: Sequence[At], others: Sequence[At]) -> Finding:
    source = where(by[0]) if by else written(stop.home.database.source)
    return finding_at(
        "TA-13", _W,
        f"route {listed([at.route.name for at in by])} names {stop.service} without a broker id: "
        f"new dialogs take it, not one of {listed([at.route.name for at in others])}",
        "Drop the route without a broker id, or add a broker id to it.",
        str(stop.home), source,
        shown((*by, *others), stop.path(), service=stop.service, **flows_in(stop.answers)),
    )  # fmt: skip


# --- TA-14 ---------------------------------------------------------------------------------------


def balanced(estate: Estate) -> Iterable[Finding]:
    """Report the shares of load balancing, and equal routes that look like weights (3.1)."""
    for stop in stops_of(estate):
        full = routes_with_ids(estate, stop)
        repeated = tuple(_repeated(full)) if stop.step.decision.step == "M3" else ()
        count = len(stop.step.alternatives)
        if count < 2 and not repeated:
            continue
        shares = dict.fromkeys(stop.step.alternatives, 1 / count) if count else {}
        routes = named_routes(estate, stop, (r.name for r in full))
        yield finding_at(
            "TA-14", _W if repeated else _I,
            _shares(stop, repeated),
            "Drop duplicate routes: broker ids are balanced, not routes."
            if repeated
            else "No action needed if these shares are intended.",
            str(stop.home),
            where(routes[0]) if routes else written(stop.home.database.source),
            shown(routes, stop.path(), service=stop.service, shares=shares,
                  repeated=list(repeated), **flows_in(stop.answers)),
        )  # fmt: skip


def _shares(stop: Stop, repeated: Sequence[str]) -> str:
    ids = stop.step.alternatives
    even = f"{100 / max(len(ids), 1):.3g} % to {'each of ' if len(ids) > 1 else ''}{listed(ids)}"
    weights = f"; repeated routes get no larger share: {listed(repeated)}" if repeated else ""
    return f"dialogs with {stop.service} are balanced by their id, {even}{weights}"


def _repeated(routes: Iterable[Route]) -> Iterator[str]:
    seen: set[tuple[object, ...]] = set()
    for route in routes:
        mirror = route.mirror and route.mirror.key
        key = (broker_key(route.broker or ""), route.address.key, mirror)
        if key in seen:
            yield route.name
        seen.add(key)


# --- TA-18 ---------------------------------------------------------------------------------------


def arbitrary(estate: Estate) -> Iterable[Finding]:
    """Find instances in which any of several databases may accept a message (R7.2)."""
    for stop in stops_of(estate):
        names = stop.step.decision.candidates
        instance = stop.home.instance
        if len(names) < 2:
            continue
        places = [f"{instance.name}/{name}" for name in names]
        second = instance.databases[names[1]]
        path = stop.path()
        service = second.services.get(stop.service)  # no database declares a system service
        yield finding_at(
            "TA-18", _W,
            f"{listed(places)} have the service {stop.service}: a message without a broker id may "
            f"be delivered to any of them",
            "Name the broker id of the intended database in the route or in BEGIN DIALOG.",
            places[1],
            written(service.source if service else second.source, second.source, instance.source),
            shown(
                routes_on(estate, shortest_path_to(stop.graph, stop.state)), path,
                service=stop.service, targets=places, **flows_in(stop.answers),
            ),
        )  # fmt: skip


CHECKS = (
    Check(
        "TA-12",
        "Several targets for one dialog",
        (_E,),
        "reference 3.4",
        "Several routes name a service but do not specify a broker id, and lead to different "
        "copies of it. The transport can use all of these routes. Then two databases create a "
        "target endpoint for the same dialog, and both acknowledge it. The initiator rejects the "
        "later acknowledgement, but both databases have done the work of the dialog.",
        "Specify the broker id in each route. The dialog's id then selects one of them.",
        several_targets,
    ),
    Check(
        "TA-13",
        "A route without a broker id disables load balancing",
        (_W,),
        "reference 2.2, R4 step 2, and 3.1",
        "Routes with broker ids balance new dialogs only if no route names the service without a "
        "broker id. Such a route matches first.",
        "Drop the route without a broker id, or add a broker id to it.",
        shadowed,
    ),
    Check(
        "TA-14",
        "Shares of load balancing",
        (_W, _I),
        "reference 3.1",
        "The dialog's id selects evenly among the broker ids that routes name. A finding of "
        "severity info reports the shares. A warning reports that several equal routes name one "
        "broker id, as if to give it more weight. The additional routes have no effect, because "
        "broker ids are balanced, not routes.",
        "Drop duplicate routes. For uneven shares, name the broker id in BEGIN DIALOG.",
        balanced,
    ),
    Check(
        "TA-18",
        "Several databases of one instance have the service",
        (_W,),
        "reference 2.2, R7.2",
        "A message without a broker id reaches an instance in which several active databases have "
        "the service. It is not specified which of these databases receives the dialog, and the "
        "choice may change.",
        "Name the broker id of the intended database, or keep the service in one database.",
        arbitrary,
    ),
)
