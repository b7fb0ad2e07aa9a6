"""Acknowledgements that do not return, or return by other paths: TA-09, TA-36 and TA-38."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.check.certain import answered_otherwise, return_unsure, wrong_port
from streams.analysis.check.proof import (
    flows_in,
    place_of,
    routes_on,
    shown,
    where,
    written,
)
from streams.analysis.check.registry import Check
from streams.analysis.check.trouble import Phase, at_fault, cause_of, troubles_of
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answers_of
from streams.analysis.flows.flow_values import Back, Failure, FlowAnswer
from streams.analysis.known import Home
from streams.analysis.paths.network import Disposition
from streams.errors import text_of
from streams.prose import listed
from streams.routing import broker_key
from streams.topology import Finding, Severity, finding_at

_E, _W = Severity.ERROR, Severity.WARNING
_Between = frozenset[str]


# --- TA-09: acknowledgements do not come back ----------------------------------------------------


def no_return(estate: Estate) -> Iterable[Finding]:
    """Find targets from which acknowledgements have no return path to the initiator (4.5)."""
    groups: dict[tuple[str, str, str], list[tuple[FlowAnswer, Back]]] = {}
    for answer in answers_of(estate):
        if answered_otherwise(estate, answer.flow):
            continue
        for back in answer.backs if answer.flow.can_begin else ():
            if not back.arrives and not all(wrong_port(estate, f) for f in back.failures):
                service = answer.flow.sender.service
                route = _first_route(estate, back)
                groups.setdefault((back.at, service, route), []).append((answer, back))
    for group in groups.values():
        yield _no_return(estate, group)


def _first_route(estate: Estate, back: Back) -> str:
    routes = routes_on(estate, back.hops)
    return str(routes[0]) if routes else ""


def _no_return(estate: Estate, group: list[tuple[FlowAnswer, Back]]) -> Finding:
    answer, back = group[0]
    sender = answer.flow.sender
    target = _home_of(estate, back)
    routes = routes_on(estate, back.hops)
    unsure = all(return_unsure(back, answer.flow) for answer, back in group)
    places = tuple(answer.flow.sender for answer, _ in group)
    homes = tuple(dict.fromkeys(place_of(place.instance, place.database) for place in places))
    broker = sender.database.broker_id
    return finding_at(
        "TA-09", _W if unsure else _E,
        f"acknowledgements from {answer.flow.to} in {target} do not reach {sender.service} in "
        f"{listed(homes)}: {_why(back)}",
        f"Create a route in {target.database.name} for {sender.service} with broker id {broker}, "
        f"to {sender.instance.address} or to a forwarder that has a route there.",
        str(target),
        written(*(where(at) for at in routes[:1]), target.database.source, target.instance.source),
        shown(
            routes, back.instances, service=sender.service, broker=broker,
            initiators=list(homes), **flows_in(a for a, _ in group),
        ),
    )  # fmt: skip


def _home_of(estate: Estate, back: Back) -> Home:
    instance = estate.topology.instances[back.place.instance]
    return Home(instance, instance.database(back.place.database or "") or instance.msdb)


def _why(back: Back) -> str:
    return why_not(back.failures[0]) if back.failures else "no route leads there"


def why_not(failure: Failure) -> str:
    """Return why an acknowledgement does not arrive, in a few words."""
    end, last = failure.ending, failure.hops[-1][1]
    if end.delivered:
        return f"they are delivered to {end.at}"
    if end.disposition is Disposition.UNKNOWN:
        return f"{last.address} is not an instance of this topology"
    number = "" if end.error is None else f" ({int(end.error)}, {text_of(end.error)})"
    return f"{end.disposition.value} at {end.at}{number}"


# --- TA-36, TA-38: acknowledgements that do come back --------------------------------------------


def asymmetric(estate: Estate) -> Iterable[Finding]:
    """Find flows whose acknowledgements and messages pass through different forwarders (5.1)."""
    groups: dict[tuple[str, str, _Between, _Between], list[tuple[FlowAnswer, Back]]] = {}
    for answer in answers_of(estate):
        first: dict[str, Back] = {}
        for back in answer.backs:
            first.setdefault(back.at, back)
            broker = broker_key(back.place.broker or "")
            there = answer.forth.redundancy[broker].between
            if back.arrives and back.between != there:
                key = (_start(answer), back.at, there, back.between)
                groups.setdefault(key, []).append((answer, first[back.at]))
    for (start, _, there, between), found in groups.items():
        back, answers = found[0][1], [answer for answer, _ in found]
        yield _asymmetric(estate, start, back, there, between, answers)


def _start(answer: FlowAnswer) -> str:
    return place_of(answer.flow.sender.instance, answer.flow.sender.database)


def _asymmetric(
    estate: Estate,
    start: str,
    back: Back,
    there: _Between,
    between: _Between,
    answers: list[FlowAnswer],
) -> Finding:
    target = _home_of(estate, back)
    routes = routes_on(estate, back.hops)
    return finding_at(
        "TA-36", _W,
        f"messages from {start} reach {back.at} {_over(there)}, acknowledgements return "
        f"{_over(between)}",
        "Route both directions over the same instances, or make sure that firewalls allow both.",
        start,
        written(*(where(r) for r in routes[:1]), target.database.source, target.instance.source),
        shown(
            routes, back.instances, there=sorted(there), back=sorted(between), **flows_in(answers)
        ),
    )  # fmt: skip


def _over(names: frozenset[str]) -> str:
    return f"over {listed(sorted(names))}" if names else "directly"


def stale_returns(estate: Estate) -> Iterable[Finding]:
    """Find return routes that lead nowhere while other routes return acknowledgements (EX-62)."""
    groups: dict[tuple[str, str], list[tuple[FlowAnswer, Back, Failure]]] = {}
    reported = {(t.cause, at_fault(estate, t).name) for t in troubles_of(estate)}
    for answer in answers_of(estate):
        for back in answer.backs:
            for failure in back.failures if back.arrives else ():
                routes = routes_on(estate, failure.hops)
                trouble = cause_of(estate, Phase.BACK, failure, answer.flow.sender.service)
                if routes and (trouble.cause, at_fault(estate, trouble).name) not in reported:
                    key = (back.at, str(routes[0]))
                    groups.setdefault(key, []).append((answer, back, failure))
    for group in groups.values():
        yield _stale(estate, group)


def _stale(estate: Estate, group: list[tuple[FlowAnswer, Back, Failure]]) -> Finding:
    answer, _, failure = group[0]
    routes = routes_on(estate, failure.hops)
    at, sender = routes[0], answer.flow.sender
    return finding_at(
        "TA-38", _W,
        f"route {at.route.name}, one of several for acknowledgements to {sender.service} (broker "
        f"id {sender.database.broker_id}), leads nowhere: {why_not(failure)}",
        "Drop or correct the route. Until then, acknowledgements are late and messages are "
        "retried.",
        place_of(at.instance, at.database), where(at),
        shown(routes, failure.instances, service=sender.service,
              broker=sender.database.broker_id, **flows_in(a for a, _, _ in group)),
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-09",
        "Acknowledgements have no return path",
        (_E, _W),
        "reference 4.5",
        "The target's database routes acknowledgements and replies to the initiator's service and "
        "broker id. If that path fails, the message is delivered but sent again and again, and "
        "the sender's transmission queue never empties. The finding is a warning if the return "
        "path leads out of the topology, or if the initiator's broker id is unknown because its "
        "database is known only from scripts.",
        "Create the return route in the target's database, with the initiator's broker id.",
        no_return,
    ),
    Check(
        "TA-36",
        "Messages and acknowledgements take different paths",
        (_W,),
        "reference 5.1",
        "Each direction is routed separately. Different paths are not an error, but firewalls "
        "must allow both, and losing either path stops the flow.",
        "Route both directions over the same instances, or open the firewalls for both paths.",
        asymmetric,
    ),
    Check(
        "TA-38",
        "A stale return route next to a working one",
        (_W,),
        "reference 9.4, EX-62",
        "Several routes match the initiator's service and broker id, and some of them no longer "
        "lead to the service, often because a server was renamed. Acknowledgements on those "
        "routes are lost. No dialog fails, but the target receives duplicates (11218) and the "
        "dialog is slow.",
        "Drop the stale route.",
        stale_returns,
    ),
)
