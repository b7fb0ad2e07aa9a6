"""Whether a topology proves that a flow fails, or may only lack a part of the estate.

The checks report a failure as an error only if it is certain, and ``flows`` uses the same decision
for its exit code, so both commands agree (decision 53).
"""

from __future__ import annotations

from streams.analysis.check.trouble import Cause, Phase, cause_of
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import answers_of, routes_of
from streams.analysis.flows.flow_values import Back, Failure, FlowAnswer
from streams.analysis.flows.flows import Flow
from streams.analysis.flows.route_index import At
from streams.analysis.known import Home, id_unstated, known
from streams.analysis.paths.network import Disposition
from streams.analysis.paths.verdict import PathVerdict
from streams.analysis.security.values import in_script
from streams.errors import Number
from streams.routing import Address
from streams.topology.compile import is_loopback

_ADDRESSES = (Number.ADDRESS_UNUSABLE, Number.ROUTE_INVALID)
_ON_ANY_PATH = (Cause.NOT_STARTED, Cause.NOT_FORWARDING, Cause.LOOP)
"""Causes that have a finding of their own if only acknowledgements are affected."""


def fails_for_certain(estate: Estate, answer: FlowAnswer) -> bool:
    """Return whether a flow is broken or a hazard for a reason that ``check`` reports as an error.

    Hazards are errors by definition.
    """
    if answer.verdict is PathVerdict.OK:
        return False
    flow = answer.flow
    if any((answer.hazards, *(is_certain(estate, failure, flow) for failure in answer.failures))):
        return True
    if not flow.can_begin:
        return services_shown(estate, Home(flow.sender.instance, flow.sender.database))
    return any(_unanswered(estate, answer, back) for back in answer.backs if not back.arrives)


def is_certain(estate: Estate, failure: Failure, flow: Flow) -> bool:
    """Return whether the topology proves a failure on the path to a flow's target."""
    if failure.ending.disposition is Disposition.UNKNOWN:
        return _certainly_wrong_port(estate, failure)
    cause = cause_of(estate, Phase.FIRST, failure, flow.to).cause
    if cause is Cause.STALE_BROKER:
        return is_stale(estate, flow.to)
    if cause in (Cause.NO_ROUTE, Cause.NOT_HERE):
        return flow.can_begin  # otherwise BEGIN DIALOG fails (TA-50), and nothing is sent
    if cause is Cause.OTHER:  # for example, a request to the configuration service
        return failure.ending.error in _ADDRESSES
    return cause is not Cause.HOPS  # the number of hops is not documented (U-34)


def wrong_port(estate: Estate, failure: Failure) -> bool:
    """Return whether only the port of an address is wrong, which TA-06 reports at the route."""
    address = failure.hops[-1][1].address
    if failure.ending.disposition is not Disposition.UNKNOWN or address is None:
        return False
    host = address.host.casefold()
    return is_loopback(address) or host in estate.once(_hosts)


def _certainly_wrong_port(estate: Estate, failure: Failure) -> bool:
    state, step = failure.hops[-1]
    at = routes_of(estate).behind(state, step)
    return wrong_port(estate, failure) and not (
        at is not None and step.address is not None and may_be_beside(estate, at, step.address)
    )


def may_be_beside(estate: Estate, at: At, address: Address) -> bool:
    """Return whether an address may be another instance on the machine of the route's instance.

    The scripts of an estate are often those of one instance (decision 54).
    """
    own = Address(address.kind, address.host, at.instance.address.port)
    here = estate.leads_to(at.instance.name, own) == at.instance.name
    return here and in_script(at.route.source)


def _hosts(estate: Estate) -> frozenset[str]:
    return frozenset(host for host, _ in estate.leads)


def is_stale(estate: Estate, service: str) -> bool:
    """Return whether a broker id that no database has is certainly not that of the service.

    A database that is not in the topology, or whose id is not in its scripts, may have the id.
    """
    return service in known(estate).services and not homes_without_id(estate, service)


def homes_without_id(estate: Estate, service: str) -> tuple[Home, ...]:
    """Return the databases with a service whose broker ids are unknown, as scripts have none."""
    homes = known(estate).services.get(service, ())
    return tuple(home for home in homes if id_unstated(home.instance, home.database))


# --- Acknowledgements ----------------------------------------------------------------------------


def _unanswered(estate: Estate, answer: FlowAnswer, back: Back) -> bool:
    flow, service = answer.flow, answer.flow.sender.service
    if any(
        cause_of(estate, Phase.BACK, failure, service).cause in _ON_ANY_PATH
        for failure in back.failures
    ):
        return True
    if all(wrong_port(estate, failure) for failure in back.failures):
        return any(_certainly_wrong_port(estate, failure) for failure in back.failures)
    return not answered_otherwise(estate, flow) and not return_unsure(back, flow)


def return_unsure(back: Back, flow: Flow) -> bool:
    """Return whether a return path leaves the topology, or the initiator's broker id is unknown."""
    outside = all(f.ending.disposition is Disposition.UNKNOWN for f in back.failures)
    return outside or id_unstated(flow.sender.instance, flow.sender.database)


def answered_otherwise(estate: Estate, flow: Flow) -> bool:
    """Return whether the initiator is a guess, and acknowledgements return with another guess."""
    return not flow.stated and _pair(flow) in estate.once(_answered)


def _answered(estate: Estate) -> frozenset[tuple[str, str, str]]:
    return frozenset(_pair(answer.flow) for answer in answers_of(estate) if answer.returns)


def _pair(flow: Flow) -> tuple[str, str, str]:
    place = flow.sender
    return (place.instance.name, place.database.name, flow.to)


def services_shown(estate: Estate, at: Home) -> bool:
    """Return whether the topology has all services of a database, as far as it can tell.

    A script may show only the code, or may create services in statements that are unknown.
    """
    unknown = estate.once(_unknown_statements)
    return bool(at.database.services) and at.instance.name not in unknown


def _unknown_statements(estate: Estate) -> frozenset[str | None]:
    return frozenset(skipped.instance for skipped in estate.topology.skipped if skipped.why)
