"""Find the paths on which a flow's messages or acknowledgements do not arrive, and the causes.

Each failure has one cause, and one cause often breaks many flows. This module assigns each failure
the code of its cause, and groups failures with the same cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answers_of, locked, routes_of
from streams.analysis.flows.flow_values import Failure, FlowAnswer
from streams.analysis.flows.route_index import At
from streams.analysis.known import known
from streams.analysis.paths.network import Disposition
from streams.errors import Number
from streams.routing import broker_key
from streams.topology import Instance


class Phase(Enum):
    """The messages of a dialog that do not arrive."""

    FIRST = "the first message"
    LOCKED = "every message after the first acknowledgement"
    BACK = "acknowledgements"


class Cause(Enum):
    """Why a message does not arrive; the value is the code of its finding."""

    NO_ROUTE = "TA-01"
    NOT_HERE = "TA-02"
    NEAR_NAME = "TA-03"
    STALE_BROKER = "TA-04"
    WRONG_HOP = "TA-05"
    NOT_STARTED = "TA-07"
    NOT_FORWARDING = "TA-08"
    LOOP = "TA-10"
    HOPS = "TA-11"
    OTHER = ""


_BY_NUMBER = {
    Number.TARGET_UNREACHABLE: Cause.NOT_STARTED,
    Number.NOT_DELIVERABLE_IN_TIME: Cause.NOT_STARTED,
    Number.TRANSPORT_DISABLED: Cause.NOT_STARTED,
    Number.TRANSPORT_STOPPED: Cause.NOT_STARTED,
    Number.FORWARDING_DISABLED: Cause.NOT_FORWARDING,
    Number.HOPS_EXHAUSTED: Cause.HOPS,
    # Three kinds of ends have their own checks, or are not mistakes: a TRANSPORT route for a name
    # without an address, a request to the configuration service, and a sender whose delivery is
    # off.
    Number.ADDRESS_UNUSABLE: Cause.OTHER,
    Number.ROUTE_INVALID: Cause.OTHER,
    Number.WAITING_FOR_CONFIGURATION: Cause.OTHER,
    Number.SENDER_BROKER_OFF: Cause.OTHER,
}
_AT_THE_SENDER = {Number.NO_ROUTE: Cause.NO_ROUTE, Number.SERVICE_NOT_HERE: Cause.NOT_HERE}


@dataclass(slots=True)
class Trouble:
    """A failure with its cause and all affected flows; ``route`` is the route that causes it."""

    cause: Cause
    phase: Phase
    failure: Failure
    service: str
    route: At | None
    answers: list[FlowAnswer] = field(default_factory=list)

    @property
    def instance(self) -> str:
        """Return the instance at which the failing path ends."""
        return self.failure.ending.instance

    @property
    def inside(self) -> bool:
        """Return whether the failing path ends in the database in which it begins."""
        state, step = self.failure.hops[-1]
        return state.database is not None and not step.decision.looped_back


def troubles_of(estate: Estate) -> tuple[Trouble, ...]:
    """Return all failures, grouped by cause; they are computed once."""
    return estate.once(_collect)


def _collect(estate: Estate) -> tuple[Trouble, ...]:
    found: dict[tuple[object, ...], Trouble] = {}
    for answer, phase, failure, service in _failures(estate):
        trouble = cause_of(estate, phase, failure, service)
        found.setdefault(_key(trouble), trouble).answers.append(answer)
    return tuple(found.values())


def _key(trouble: Trouble) -> tuple[object, ...]:
    """Return the key that failures with the same cause share."""
    end, hops = trouble.failure.ending, trouble.failure.hops
    if trouble.cause is Cause.LOOP:
        return (trouble.cause, trouble.service, frozenset(circle(trouble.failure)))
    sender = (hops[0][0].instance, hops[0][0].database) if len(hops) == 1 else None
    at = (trouble.instance, str(trouble.route), sender, end.disposition, end.error)
    return (trouble.cause, trouble.phase is Phase.BACK, trouble.service, *at)


def _failures(
    estate: Estate,
) -> Iterator[tuple[FlowAnswer, Phase, Failure, str]]:
    for answer in answers_of(estate):
        flow = answer.flow
        for failure in answer.failures:
            yield answer, Phase.FIRST, failure, flow.to
        # If a dialog has several targets, the rejected ones drop its messages. TA-12 reports this.
        for later in () if answer.forth.splits else locked(estate, answer):
            for failure in later.failures:
                yield answer, Phase.LOCKED, failure, flow.to
        for back in answer.backs:
            if not back.arrives and flow.can_begin:
                for failure in back.failures:
                    yield answer, Phase.BACK, failure, flow.sender.service


def cause_of(estate: Estate, phase: Phase, failure: Failure, service: str) -> Trouble:
    """Describe the cause of a failure."""
    trouble = Trouble(Cause.OTHER, phase, failure, service, _responsible(estate, failure, service))
    number, broker = failure.ending.error, failure.ending.broker
    if failure.ending.disposition is Disposition.LOOP:
        trouble.cause = Cause.LOOP
    elif number in _BY_NUMBER:
        trouble.cause = _BY_NUMBER[number]
    elif known(estate).meant(service) is not None:
        trouble.cause = Cause.NEAR_NAME
    elif broker is not None and broker_key(broker) not in known(estate).brokers:
        trouble.cause = Cause.STALE_BROKER
    elif trouble.inside:
        trouble.cause = _AT_THE_SENDER.get(number, Cause.NOT_HERE) if number else Cause.WRONG_HOP
    else:
        trouble.cause = Cause.WRONG_HOP
    return trouble


def _responsible(estate: Estate, failure: Failure, service: str) -> At | None:
    """Return the route that led to the end of the path; at the sender, return the matching one."""
    state, step = failure.hops[-1]
    if len(failure.hops) == 1 and step.decision.looped_back:
        here = estate.instances[state.instance]
        return next(iter(routes_of(estate).looped(here, state, service)), None)
    ended_here = step.address is None
    at = -2 if ended_here and len(failure.hops) > 1 else -1
    return routes_of(estate).behind(*failure.hops[at])


def at_fault(estate: Estate, trouble: Trouble) -> Instance:
    """Return the instance at fault: the last one, or the next hop if it does not answer."""
    here = estate.topology.instances[trouble.instance]
    address = trouble.failure.hops[-1][1].address
    if trouble.cause is not Cause.NOT_STARTED or address is None or not here.started:
        return here
    name = estate.leads_to(here.name, address)
    return here if name is None else estate.topology.instances[name]


def circle(failure: Failure) -> tuple[str, ...]:
    """Return the instances of a loop, starting with the instance to which the path returns."""
    back = failure.hops[-1][1].following
    instances = failure.instances
    if back is None or back.instance not in instances:
        return instances
    return instances[instances.index(back.instance) :]


def caused_by(estate: Estate, cause: Cause) -> Iterator[Trouble]:
    """Yield the failures that have the given cause."""
    return (trouble for trouble in troubles_of(estate) if trouble.cause is cause)
