"""Messages that cannot be forwarded: TA-07 and TA-08 (endpoints), TA-10 and TA-11 (hops)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streams.analysis.check.proof import (
    evidence,
    flows_in,
    lives,
    named,
    place_of,
    routes_on,
    shown,
    table_of,
    where,
    written,
)
from streams.analysis.check.registry import Check
from streams.analysis.check.trouble import Cause, Phase, Trouble, at_fault, caused_by, circle
from streams.analysis.estate import Estate
from streams.prose import counted
from streams.topology import Finding, Severity, finding_at

_E, _W = Severity.ERROR, Severity.WARNING


# --- TA-07, TA-08: the next hop cannot -----------------------------------------------------------


def not_started(estate: Estate) -> Iterable[Finding]:
    """Find instances that need a started endpoint to send or receive messages, but have none."""
    groups: dict[str, list[Trouble]] = {}
    for trouble in caused_by(estate, Cause.NOT_STARTED):
        groups.setdefault(at_fault(estate, trouble).name, []).append(trouble)
    for name, troubles in groups.items():
        instance = estate.topology.instances[name]
        state = instance.endpoint.state.value
        yield finding_at(
            "TA-07", _E,
            f"the endpoint of {name} is {state}, but {_counted(troubles)} must pass through it",
            f"Start it: ALTER ENDPOINT ... STATE = STARTED at {name}, or route around it.",
            name, written(instance.endpoint.source, instance.source),
            _together(estate, troubles),
        )  # fmt: skip


def not_forwarding(estate: Estate) -> Iterable[Finding]:
    """Find instances that must forward messages but are not allowed to do so (R8.2)."""
    groups: dict[str, list[Trouble]] = {}
    for trouble in caused_by(estate, Cause.NOT_FORWARDING):
        groups.setdefault(trouble.instance, []).append(trouble)
    for name, troubles in groups.items():
        instance = estate.topology.instances[name]
        yield finding_at(
            "TA-08", _E,
            f"{name} would have to forward {_counted(troubles)}, but MESSAGE_FORWARDING is "
            "disabled",
            f"Enable it: ALTER ENDPOINT ... FOR SERVICE_BROKER (MESSAGE_FORWARDING = ENABLED) at "
            f"{name}, or send directly.",
            name, written(instance.endpoint.source, instance.source),
            _together(estate, troubles),
        )  # fmt: skip


def _counted(troubles: Iterable[Trouble]) -> str:
    """Name the first affected flow and the number of others; replies are marked."""
    flows = {str(t.answers[0].flow): t.phase for t in troubles}
    count = len({str(answer.flow) for t in troubles for answer in t.answers})
    first, phase = next(iter(flows.items()))
    of = "acknowledgements of " if phase is Phase.BACK else ""
    more = f" and {counted(count - 1, 'more flow')}" if count > 1 else ""
    return f"{of}{first}{more}"


def _together(estate: Estate, troubles: list[Trouble]) -> dict[str, Any]:
    routes = [at for t in troubles for at in routes_on(estate, t.failure.hops)]
    return shown(
        routes, troubles[0].failure.instances, **flows_in(a for t in troubles for a in t.answers)
    )  # fmt: skip


# --- TA-10, TA-11: too many hops -----------------------------------------------------------------


def loops(estate: Estate) -> Iterable[Finding]:
    """Find forwarders that send a message back to an instance that it has already visited (5.1)."""
    for trouble in caused_by(estate, Cause.LOOP):
        around = circle(trouble.failure)
        hops = trouble.failure.hops[len(trouble.failure.hops) - len(around) :]
        routes = routes_on(estate, hops)
        at = routes[-1] if routes else None
        home = table_of(estate, trouble)
        turn = " -> ".join((*around, around[0]))
        yield finding_at(
            "TA-10", _E,
            f"messages for {named(trouble)} loop ({turn}) until their hop count is exhausted "
            f"(11285)",
            f"Correct the route on one of these instances: "
            f"{lives(estate, trouble.service)}.",
            str(home) if at is None else place_of(at.instance, at.database),
            where(at) if at is not None else written(home.database.source, home.instance.source),
            shown(
                routes, (*trouble.failure.instances, around[0]), service=trouble.service,
                broker=trouble.failure.ending.broker, **flows_in(trouble.answers),
            ),
        )  # fmt: skip


def too_far(estate: Estate) -> Iterable[Finding]:
    """Find paths with more forwarders than the hop count of a message allows (U-34)."""
    for trouble in caused_by(estate, Cause.HOPS):
        home = table_of(estate, trouble)
        routes = routes_on(estate, trouble.failure.hops)
        at = routes[0] if routes else None
        yield finding_at(
            "TA-11", _W,
            f"messages for {named(trouble)} need too many hops: {trouble.instance} drops them "
            f"after {counted(len(trouble.failure.hops) - 1, 'instance')} (11285)",
            "Route around some of the forwarders.",
            str(home) if at is None else place_of(at.instance, at.database),
            where(at) if at is not None else written(home.database.source, home.instance.source),
            evidence(estate, trouble),
        )  # fmt: skip


CHECKS = (
    Check(
        "TA-07",
        "An endpoint on the path is not started",
        (_E,),
        "reference 4.6",
        "Without a started Service Broker endpoint, no message leaves or enters an instance over "
        "the network. Messages wait at the sender until the dialog's lifetime ends.",
        "Start the endpoint, or route around the instance.",
        not_started,
    ),
    Check(
        "TA-08",
        "Forwarding is disabled on an instance on the path",
        (_E,),
        "reference 2.2, R8.2",
        "An instance needs MESSAGE_FORWARDING to forward messages from other instances, and it is "
        "disabled by default. The instance drops the message (9792), and the sender retries.",
        "Enable forwarding on the endpoint of the instance, or route around the instance.",
        not_forwarding,
    ),
    Check(
        "TA-10",
        "A forwarding loop",
        (_E,),
        "reference 5.1",
        "Forwarders send a message in a circle. Each copy and each retry circulates until its hop "
        "count is exhausted and is then dropped (11285). No message is acknowledged.",
        "Correct the route on one of the forwarders so that it leads to the service.",
        loops,
    ),
    Check(
        "TA-11",
        "A path with too many hops",
        (_W,),
        "reference 5.1, U-34",
        "A message can be forwarded 16 times; the next forwarder drops it (11285).",
        "Route around some of the forwarders.",
        too_far,
    ),
)
