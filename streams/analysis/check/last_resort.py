"""Routes without a service name: AutoCreatedLocal and other catch-alls (TA-21, TA-22, TA-30)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import (
    every_database,
    finding,
    live_routes,
    targets,
    user_databases,
)
from streams.prose import listed
from streams.routing import AUTO_CREATED_LOCAL, CONFIGURATION_SERVICE, AddressKind, parse_address
from streams.topology import Finding, Route, Severity


def _last_resorts(routes: tuple[Route, ...]) -> list[Route]:
    return [route for route in routes if route.service is None and route.broker is None]


def _is_local(route: Route) -> bool:
    address = parse_address(route.address)
    return address is not None and address.kind is AddressKind.LOCAL


def _unnamed(estate: Estate, at: Home) -> list[str]:
    """Return the targets of the instance that no route of a table names."""
    named = {route.service for route in live_routes(estate, at.database)}
    return sorted(set(targets(estate)[at.instance.name]) - named)


def _neighbours(estate: Estate, at: Home) -> list[str]:
    """Return the targets in other databases that no route of a table names."""
    return [service for service in _unnamed(estate, at) if service not in at.database.services]


# --- TA-21 ---------------------------------------------------------------------------------------


def auto_created_local(estate: Estate) -> Iterator[Finding]:
    """Find databases where AutoCreatedLocal is missing, or exposes too many services (1.1, MR)."""
    for at in user_databases(estate):
        yield from _missed(estate, at)
    for instance in estate.topology.instances.values():
        yield from _open(estate, Home(instance, instance.msdb))


def _missed(estate: Estate, at: Home) -> Iterator[Finding]:
    routes = live_routes(estate, at.database)
    asks = any(route.service == CONFIGURATION_SERVICE for route in routes)
    begins = [name for name, s in at.database.services.items() if not s.contracts]
    lost = _neighbours(estate, at)
    if begins and lost and not asks and not _last_resorts(routes):
        yield finding(
            "TA-21", Severity.WARNING, at, at.source,
            f"AutoCreatedLocal is dropped, and no route leads to {listed(lost)} of the same "
            "instance",
            "For each service that is needed, create a route with that SERVICE_NAME and the "
            "address LOCAL.",
            services=lost, initiators=sorted(begins),
        )  # fmt: skip


def _open(estate: Estate, at: Home) -> Iterator[Finding]:
    own = next((r for r in live_routes(estate, at.database) if r.name == AUTO_CREATED_LOCAL), None)
    exposed = _unnamed(estate, at)
    if own is not None and at.instance.endpoint.forwarding and exposed:
        yield finding(
            "TA-21", Severity.WARNING, at, own.source,
            f"{at.instance.name} forwards messages, and AutoCreatedLocal in its msdb exposes "
            f"{listed(exposed)} to every sender that can reach it",
            "Drop AutoCreatedLocal from msdb, and create a route there for each service that "
            "should be reachable.",
            route=own.name, services=exposed,
        )  # fmt: skip


# --- TA-22 ---------------------------------------------------------------------------------------


def local_copy(estate: Estate) -> Iterator[Finding]:
    """Find services whose dialogs match a LOCAL catch-all before a network catch-all (EX-11)."""
    for at in user_databases(estate):
        resorts = _last_resorts(live_routes(estate, at.database))
        local = [route for route in resorts if _is_local(route)]
        network = [route for route in resorts if not _is_local(route)]
        if local and network:
            yield from _captured(estate, at, local[0], network)


def _captured(estate: Estate, at: Home, local: Route, network: list[Route]) -> Iterator[Finding]:
    everywhere = targets(estate)
    for service in _unnamed(estate, at):
        others = [name for name in everywhere if service in everywhere[name]]
        others.remove(at.instance.name)
        if others:
            names = [route.name for route in network]
            yield finding(
                "TA-22", Severity.WARNING, at, network[0].source,
                f"{service} is at {listed(others)}, but also at {at.instance.name}: route "
                f"{local.name} takes every dialog; no dialog uses {listed(names)}",
                "Create a route that names the service, with the intended address.",
                service=service, local=local.name, routes=names, elsewhere=others,
            )  # fmt: skip


# --- TA-30 ---------------------------------------------------------------------------------------


def never_asked(estate: Estate) -> Iterator[Finding]:
    """Find catch-alls that are unused because databases request routes instead (2.5)."""
    for at in every_database(estate):
        routes = live_routes(estate, at.database)
        if any(route.service == CONFIGURATION_SERVICE for route in routes):
            for route in _last_resorts(routes):
                yield from _unused(estate, at, route)


def _unused(estate: Estate, at: Home, route: Route) -> Iterator[Finding]:
    lost = _neighbours(estate, at) if _is_local(route) else []
    # Every database has AutoCreatedLocal; report only routes that would have found a service.
    if lost or not _is_local(route):
        missed = f"; {listed(lost)} of this instance needs a route of its own" if lost else ""
        yield finding(
            "TA-30", Severity.WARNING, at, route.source,
            f"{route.name} has no service name, and is unused: for services that no route names, "
            f"the configuration service is asked{missed}",
            "Create routes that name the services, or let the configuration service create them.",
            route=route.name, address=route.address, services=lost,
        )  # fmt: skip


CHECKS = (
    Check(
        "TA-21",
        "AutoCreatedLocal is missing, or exposes too much",
        (Severity.WARNING,),
        "reference 1.1",
        "AutoCreatedLocal lets a database find the services of its own instance. Without it and "
        "without another catch-all route, a dialog with another database of the instance waits for "
        "a route. In msdb of an instance that forwards, AutoCreatedLocal exposes the services of "
        "that instance to every sender that can reach the forwarder.",
        "In a user database: create LOCAL routes that name the services of the instance. In msdb "
        "of a forwarder: drop AutoCreatedLocal and create routes for the services that should be "
        "reachable.",
        auto_created_local,
    ),
    Check(
        "TA-22",
        "A LOCAL catch-all route takes dialogs meant for the network",
        (Severity.WARNING,),
        "reference 2.2 R5, EX-11",
        "Two routes have no service name: one is LOCAL, the other leads to the network. The LOCAL "
        "route wins wherever the instance has the service. So a copy of the service in the same "
        "instance silently receives every dialog.",
        "Create a route that names the service, with the intended address.",
        local_copy,
    ),
    Check(
        "TA-30",
        "A catch-all route that is never used",
        (Severity.WARNING,),
        "reference 2.2 R4, 2.5",
        "If a table has a route to SQL/ServiceBroker/BrokerConfiguration, messages for services "
        "that no route names wait until the configuration service creates a route. Routes without "
        "a service name are ignored, AutoCreatedLocal included. The finding is reported only if "
        "the route leads to the network, or would have found a service of the instance.",
        "Create a route for each service that the catch-all route was meant for.",
        never_asked,
    ),
)
