"""Causes at the sender: no usable route for the message."""

from __future__ import annotations

from streams.analysis.diagnose.brokers import elsewhere, hides, last_resort
from streams.analysis.diagnose.case import Case, placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.sender import status_of
from streams.errors import Number
from streams.prose import listed
from streams.routing import broker_key, parse_address
from streams.system_names import NOTIFYING_SERVICES
from streams.topology import Route


def _decided(case: Case, error: Number, numbers: tuple[int, ...]) -> Evidence | None:
    """Return the decision if it has this error; with unknown routes, a status that reports it."""
    if not case.routes_known:
        return status_of(case, numbers)
    decision = case.explanation.decision
    if decision.error is not error:
        return None
    tried = next((step for step in reversed(case.explanation.trace)), None)
    return (case.decided,) if tried is None else (case.decided, f"{tried.rule}: {tried.why}")


def _expired_route(case: Case) -> Evidence | None:
    unrouted = case.explanation.decision.error is Number.NO_ROUTE
    late = [
        route
        for route in case.database.routes
        if _would_match(case, route) and (unrouted or (route.service and last_resort(case)))
    ]
    if not late:
        return None
    return tuple(placed(f"route {r.name} would match, but has expired", r.source) for r in late)


def _would_match(case: Case, route: Route) -> bool:
    expired = route.expires is not None and route.expires <= case.estate.now
    broker = route.broker is None or case.broker is None or route.broker == case.broker
    return expired and broker and route.service in (None, case.message.to_service)


def _name_differs(case: Case) -> Evidence | None:
    wanted = case.message.to_service
    if not last_resort(case):
        return None
    near = tuple(
        placed(
            f"route {route.name} names '{route.service}': names must match exactly", route.source
        )
        for route in case.database.routes
        if route.service is not None and nearly(route.service, wanted)
    )
    return (*near, case.decided) if near else None


def nearly(one: str, other: str) -> bool:
    """Return whether two names differ, but only in case or in blanks around them."""
    return one != other and one.strip().casefold() == other.strip().casefold()


def _broker_differs(case: Case) -> Evidence | None:
    if case.broker is None or not last_resort(case):
        return None
    others = tuple(
        placed(f"route {route.name} names the broker id {route.broker}", route.source)
        for route in case.database.routes
        if route.service == case.message.to_service
        and route.broker is not None
        and broker_key(route.broker) != broker_key(case.broker)
    )
    if not others:
        return None
    return (*others, f"the dialog's {where_is(case, case.broker)}", case.decided)


def _no_route(case: Case) -> Evidence | None:
    return _decided(case, Number.NO_ROUTE, (9750, 9793))


def _notification(case: Case) -> Evidence | None:
    notifies = case.message.from_service in NOTIFYING_SERVICES
    if not (notifies and case.routes_known and last_resort(case)) or hides(case):
        return None
    named = () if case.broker is None else (where_is(case, case.broker),)
    return (f"no database here has the service {case.message.to_service}", case.decided, *named)


def _service_not_here(case: Case) -> Evidence | None:
    if hides(case):
        return None
    found = _decided(case, Number.SERVICE_NOT_HERE, (9796,))
    found = found or _decided(case, Number.REMOTE_SERVICE_MISSING, ())  # the broker id is here
    others = elsewhere(case)
    if found is None or not others:
        return found
    return (*found, f"the service is also in {listed(map(str, others))}")


def _broker_not_here(case: Case) -> Evidence | None:
    found = None if hides(case) else _decided(case, Number.BROKER_NOT_HERE, (9795,))
    if found is None or case.broker is None:
        return found
    return (*found, where_is(case, case.broker))


def where_is(case: Case, broker: str) -> str:
    """Return a sentence that names the databases with the given broker id."""
    hosts = listed([str(home) for home in case.hosts_of(broker)])
    return f"broker id {broker_key(broker)} is {hosts or 'not in the snapshot'}"


def _address(case: Case) -> Evidence | None:
    bad = [
        placed(f"route {r.name}: '{r.address}' is not an address", r.source)
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
        "route-expired", Stage.CLASSIFICATION, "The route has expired",
        (), "reference 1.4, 2.2 R4",
        "ALTER ROUTE with a new LIFETIME, or drop it and create it without one.",
        _expired_route,
    ),
    Cause(
        "route-name-differs", Stage.CLASSIFICATION,
        "A route's service name differs in case or blanks",
        (), "reference 2.2 R4",
        "ALTER ROUTE ... WITH SERVICE_NAME = the exact name, or correct the name in BEGIN DIALOG. "
        "Names of services are compared byte by byte, whatever the database's collation is.",
        _name_differs, implies=("no-route", "service-not-here", "broker-not-here"),
    ),
    Cause(
        "route-broker-differs", Stage.CLASSIFICATION,
        "The route names another broker id than the dialog",
        (), "reference 2.2 R4, 2.3",
        "A dialog keeps its broker id. If the dialog's id is right, ALTER ROUTE ... WITH "
        "BROKER_INSTANCE = that id, or create the route without it. If the target has the route's "
        "id now (NEW_BROKER, or a new database), END CONVERSATION ... WITH CLEANUP here, and begin "
        "new dialogs with that id or without one.",
        _broker_differs, implies=("no-route", "service-not-here", "broker-not-here"),
    ),
    Cause(
        "no-route", Stage.CLASSIFICATION, "No route matches the service",
        (9750, 9793), "reference 2.2 R4, step 7",
        "CREATE ROUTE in the sending database (not in msdb) with the service's exact name, case "
        "and blanks included, and the address of the instance that hosts it.",
        _no_route,
    ),
    # Sources: the documentation of CREATE EVENT NOTIFICATION; R. Rusanu, "When it rains, it pours".
    Cause(
        "notified-service-gone", Stage.CLASSIFICATION,
        "The service of a notification does not exist",
        (), "reference 2.2 R5.5",
        "Event notifications: create the service again, or DROP EVENT NOTIFICATION "
        "(sys.server_event_notifications, sys.event_notifications). Query notifications: the "
        "application has dropped its service (SqlDependency.Stop); KILL QUERY NOTIFICATION "
        "SUBSCRIPTION removes old subscriptions. Then END CONVERSATION ... WITH CLEANUP, in "
        "batches, for the messages that wait.",
        _notification, implies=("no-route", "service-not-here", "broker-not-here"),
    ),
    Cause(
        "service-not-here", Stage.CLASSIFICATION, "A LOCAL route, but the service is not here",
        (9796,), "reference 2.2 R5.5",
        "If the service is elsewhere, CREATE ROUTE to it, because AutoCreatedLocal matches every "
        "name without a better route. If it should be here, create it or enable delivery in its "
        "database.",
        _service_not_here,
    ),
    Cause(
        "broker-not-here", Stage.CLASSIFICATION, "A LOCAL route, but the broker id is not here",
        (9795,), "reference 2.2 R7.1",
        "The dialog names a database that is not in this instance. CREATE ROUTE with that broker "
        "id to its instance, or begin a new dialog without the id.",
        _broker_not_here,
    ),
    Cause(
        "asked-for-a-route", Stage.CLASSIFICATION,
        "The configuration service was asked for a route",
        (9770,), "reference 2.5",
        "Check the route to SQL/ServiceBroker/BrokerConfiguration: its service must answer "
        "MissingRoute. While this route exists, routes without a service name are not used.",
        _asked,
    ),
    Cause(
        "address-unusable", Stage.CLASSIFICATION, "The route's address cannot be used",
        (9783, 9785), "reference 1.3",
        "ALTER ROUTE with TCP://host:port and a host that resolves in DNS (test with nslookup on "
        "the server itself).",
        _address,
    ),
)  # fmt: skip
