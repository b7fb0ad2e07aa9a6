"""Is the sender able to send? Its database, its dialog, the routes it decides by, its keys."""

from __future__ import annotations

from collections.abc import Callable

from streams.analysis.diagnose.case import Case, placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.meanings import meaning
from streams.errors import Number
from streams.routing import parse_address
from streams.topology import Route
from streams.topology.snapshot import DialogState


def said(numbers: tuple[int, ...]) -> Callable[[Case], Evidence | None]:
    """Return a test that goes by transmission_status alone."""
    return lambda case: status_of(case, numbers)


def status_of(case: Case, numbers: tuple[int, ...]) -> Evidence | None:
    """Return what the status says, if its number is one of these."""
    if case.status.number not in numbers:
        return None
    number = case.status.number
    return (f"transmission_status says {number}: {meaning(number)}", f'"{case.status.text}"')


# --- The database and the dialog -----------------------------------------------------------------


def _delivery_off(case: Case) -> Evidence | None:
    if not case.database.enabled:
        return (placed(f"is_broker_enabled is 0 for {case.at}", case.database.source),)
    return status_of(case, (9791,)) if "databases" in case.live.missing else None


def _closed(case: Case) -> Evidence | None:
    why = case.live.closed.get(case.database.name)
    if why is not None:
        return (placed(f"{case.at} is {why}", case.database.source),)
    return status_of(case, (9771, 28075))


def _ended(case: Case) -> Evidence | None:
    return _in_state(case, DialogState.DISCONNECTED_INBOUND) or status_of(case, (9779,))


def _erred(case: Case) -> Evidence | None:
    return _in_state(case, DialogState.ERROR) or status_of(case, (9784,))


def _in_state(case: Case, state: DialogState) -> Evidence | None:
    endpoint = case.endpoint
    if endpoint is None or endpoint.state is not state:
        return None
    return (placed(f"the dialog's state at {case.at} is {state.value}", endpoint.source),)


def _expired(case: Case) -> Evidence | None:
    endpoint = case.endpoint
    taken = case.live.taken_at
    if endpoint is None or endpoint.expires is None or taken is None or endpoint.expires > taken:
        return None
    return (placed("the dialog's lifetime was over when the snapshot was taken", endpoint.source),)


# --- Classification ------------------------------------------------------------------------------


def _decided(case: Case, error: Number, numbers: tuple[int, ...]) -> Evidence | None:
    """Return the decision with this error; without routes, what the status says."""
    if not case.routes_known:
        return status_of(case, numbers)
    decision = case.explanation.decision
    if decision.error is not error:
        return None
    tried = next((step for step in reversed(case.explanation.trace)), None)
    return (case.decided,) if tried is None else (case.decided, f"{tried.rule}: {tried.why}")


def _expired_route(case: Case) -> Evidence | None:
    if case.explanation.decision.error is not Number.NO_ROUTE:
        return None
    late = [route for route in case.database.routes if _would_match(case, route)]
    if not late:
        return None
    return tuple(placed(f"route {r.name} would match and has expired", r.source) for r in late)


def _would_match(case: Case, route: Route) -> bool:
    expired = route.expires is not None and route.expires <= case.estate.now
    broker = route.broker is None or case.broker is None or route.broker == case.broker
    return expired and broker and route.service in (None, case.message.to_service)


def _no_route(case: Case) -> Evidence | None:
    found = _decided(case, Number.NO_ROUTE, (9750, 9793))
    if found is None:
        return None
    near = _near_name(case)
    return found if near is None else (*found, near)


def _near_name(case: Case) -> str | None:
    wanted = case.message.to_service
    for route in case.database.routes:
        name = route.service
        if name is not None and name != wanted and name.strip().casefold() == wanted.casefold():
            return placed(f"route {route.name} names '{name}': names match exactly", route.source)
    return None


def _service_not_here(case: Case) -> Evidence | None:
    return _decided(case, Number.SERVICE_NOT_HERE, (9796,))


def _broker_not_here(case: Case) -> Evidence | None:
    found = _decided(case, Number.BROKER_NOT_HERE, (9795,))
    if found is None or case.broker is None:
        return found
    return (*found, where_is(case, case.broker))


def where_is(case: Case, broker: str) -> str:
    """Say who has a broker id."""
    return f"broker id {broker} is {case.host_of(broker) or 'nowhere in the snapshot'}"


def _address(case: Case) -> Evidence | None:
    bad = [
        placed(f"route {r.name}: '{r.address}' is no address", r.source)
        for r in case.database.routes
        if r.name in case.explanation.decision.routes and parse_address(r.address) is None
    ]
    found = _decided(case, Number.ADDRESS_UNUSABLE, (9785,)) or status_of(case, (9783, 9785))
    return (*bad, *(found or ())) or None


def _asked(case: Case) -> Evidence | None:
    found = _decided(case, Number.WAITING_FOR_CONFIGURATION, (9770,))
    return found or status_of(case, (9770,))


CAUSES: tuple[Cause[Case], ...] = (
    Cause(
        "delivery-off", Stage.SENDER, "Message delivery is off in the sender's database",
        (9791,), "reference 1.5, 4.6",
        "ALTER DATABASE ... SET ENABLE_BROKER; it needs the database to itself, so plan for it. "
        "After a restore or an attach delivery is off on purpose: look first whether another copy "
        "with the same broker id is active.",
        _delivery_off,
    ),
    Cause(
        "database-closed", Stage.SENDER, "The sender's database cannot take part in dialogs",
        (9771, 28075), "reference 1.5",
        "Bring it online, READ_WRITE and MULTI_USER; of a mirrored pair or an availability group "
        "only the principal sends.",
        _closed,
    ),
    Cause(
        "manager-not-ready", Stage.SENDER, "The broker of the instance is starting or stopping",
        (9780, 9781, 9794, 9797), "reference 4.6",
        "Wait a minute and look again. If it stays, read the server's error log.",
        said((9780, 9781, 9794, 9797)),
    ),
    Cause(
        "engine-trouble", Stage.SENDER, "The transmitter of the sender's instance failed",
        (9642, 9736, 9756, 9782, 28072, 28073, 28090), "reference 4.6",
        "Read the server's error log around the enqueue time: memory, locks on the transmission "
        "queue, or a database that went away. It resumes by itself.",
        said((9642, 9736, 9756, 9782, 28072, 28073, 28090)),
    ),
    Cause(
        "peer-ended", Stage.DIALOG, "The other side has ended the dialog",
        (9779,), "reference 4.7, 4.8",
        "The message will never be sent. Let the application RECEIVE the EndDialog message and END "
        "CONVERSATION; that removes the rows. Agree who ends first: the one who sends last.",
        _ended,
    ),
    Cause(
        "dialog-in-error", Stage.DIALOG, "The dialog has an error",
        (9784,), "reference 4.7, 4.8",
        "The message will never be sent. RECEIVE the Error message: its Code (negative: the "
        "broker's own number) says why; then END CONVERSATION.",
        _erred,
    ),
    Cause(
        "lifetime-over", Stage.DIALOG, "The dialog's lifetime is over",
        (), "reference 4.8 (8489)",
        "END CONVERSATION on both sides; begin with a longer LIFETIME, or with none.",
        _expired,
    ),
    Cause(
        "route-expired", Stage.CLASSIFICATION, "The route has expired",
        (), "reference 1.4, 2.2 R4",
        "ALTER ROUTE with a new LIFETIME, or drop it and create it without one.",
        _expired_route,
    ),
    Cause(
        "no-route", Stage.CLASSIFICATION, "No route matches the service",
        (9750, 9793), "reference 2.2 R4, step 7",
        "CREATE ROUTE in the sending database (not in msdb) with the service's exact name, case "
        "and blanks included, and the address of the instance that hosts it.",
        _no_route,
    ),
    Cause(
        "service-not-here", Stage.CLASSIFICATION, "A LOCAL route, and no such service here",
        (9796,), "reference 2.2 R5.5",
        "If the service is elsewhere, CREATE ROUTE to it: AutoCreatedLocal matches every name for "
        "which there is nothing better. If it should be here, create it or switch on delivery in "
        "its database.",
        _service_not_here,
    ),
    Cause(
        "broker-not-here", Stage.CLASSIFICATION, "A LOCAL route, and the broker id is not here",
        (9795,), "reference 2.2 R7.1",
        "The dialog names a database that is not in this instance. Route the service with that "
        "broker id to where it is, or begin the dialog anew without the id.",
        _broker_not_here,
    ),
    Cause(
        "asked-for-a-route", Stage.CLASSIFICATION, "The configuration service was asked",
        (9770,), "reference 2.5",
        "Look after SQL/ServiceBroker/BrokerConfiguration: its service must answer MissingRoute. "
        "While that route exists, routes that name no service are not used.",
        _asked,
    ),
    Cause(
        "address-unusable", Stage.CLASSIFICATION, "The route's address cannot be used",
        (9783, 9785), "reference 1.3",
        "ALTER ROUTE with TCP://host:port whose host the server's DNS knows (nslookup on the "
        "server itself).",
        _address,
    ),
    Cause(
        "no-binding", Stage.SECURITY, "Encryption is on, and nothing says with whose certificate",
        (9727,), "reference 4.14, 8.2",
        "CREATE REMOTE SERVICE BINDING for the target service, or BEGIN DIALOG ... WITH ENCRYPTION "
        "= OFF; the default is ON. The rows of dialogs begun so far keep their setting.",
        said((9727,)),
    ),
    Cause(
        "certificate", Stage.SECURITY, "A certificate of the dialog is missing or not valid",
        (9728, 9730, 9731, 9733, 9734, 9735, 9737, 9767, 9768, 28011, 28024, 28025),
        "reference 4.14",
        "Compare the certificates of the two users on both sides: dates, private key at its owner "
        "encrypted by the master key, ACTIVE FOR BEGIN_DIALOG, same serial number.",
        said((9728, 9730, 9731, 9733, 9734, 9735, 9737, 9767, 9768, 28011, 28024, 28025)),
    ),
    Cause(
        "master-key", Stage.SECURITY, "The database master key is missing or cannot be opened",
        (28050, 28051, 28054), "reference 4.14",
        "CREATE MASTER KEY in the database; after a restore on another server: OPEN MASTER KEY and "
        "ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY.",
        said((28050, 28051, 28054)),
    ),
)  # fmt: skip
