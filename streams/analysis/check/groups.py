"""Related dialogs that may reach different databases (TA-37, TA-44)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import finding, live_routes, user_databases
from streams.analysis.paths.network import Ending, State
from streams.analysis.paths.path_graph import PathGraph
from streams.prose import listed
from streams.routing import broker_key
from streams.topology import BeginDialog, Finding, Procedure, Severity

# --- TA-37 ---------------------------------------------------------------------------------------


def spread(estate: Estate) -> Iterator[Finding]:
    """Find services in the same databases that are balanced separately (3.1)."""
    for at in user_databases(estate):
        together: dict[frozenset[str], list[str]] = {}
        for service, brokers in _balanced(estate, at).items():
            together.setdefault(frozenset(map(broker_key, brokers)), []).append(service)
        for services in together.values():
            if len(services) > 1:
                yield _spread(estate, at, sorted(services))


def _balanced(estate: Estate, at: Home) -> dict[str, list[str]]:
    """Return the services of a table for which the dialog's id selects among broker ids (M3)."""
    routes = live_routes(estate, at.database)
    shadowed = {route.service for route in routes if route.broker is None}
    found: dict[str, list[str]] = {}
    for route in routes:
        if route.service is not None and route.broker is not None:
            found.setdefault(route.service, []).append(route.broker)
    return {
        service: brokers
        for service, brokers in found.items()
        if service not in shadowed and len(set(map(broker_key, brokers))) > 1
    }


def _spread(estate: Estate, at: Home, services: list[str]) -> Finding:
    routes = [r for r in live_routes(estate, at.database) if r.service in services]
    brokers = list(dict.fromkeys(r.broker for r in routes if r.broker is not None))
    severity = Severity.WARNING if _relates(at, services) else Severity.INFO
    return finding(
        "TA-37", severity, at, routes[0].source,
        f"dialogs with {listed(services)} are balanced over {listed(brokers)} separately: dialogs "
        "of one conversation group can end up in different databases",
        "If they need the same data, use the broker id of the first dialog, once it is known, "
        "for the others.",
        services=services, brokers=brokers, routes=[route.name for route in routes],
    )  # fmt: skip


def _relates(at: Home, services: list[str]) -> bool:
    """Return whether code in the database relates dialogs with one of the services to others."""
    begins = (b for p in at.database.procedures.values() for b in p.begins)
    return any(begin.related and begin.to in (None, *services) for begin in begins)


# --- TA-44 ---------------------------------------------------------------------------------------


def related(estate: Estate) -> Iterator[Finding]:
    """Find BEGIN DIALOG statements that relate a dialog but leave its target database open."""
    for at in user_databases(estate):
        for procedure in at.database.procedures.values():
            for begin in procedure.begins:
                if begin.related and begin.to is not None and _names_no_broker(begin):
                    yield from _related(estate, at, procedure, begin, begin.to)


def _names_no_broker(begin: BeginDialog) -> bool:
    return begin.broker is None and not begin.unknown_broker


def _related(
    estate: Estate, at: Home, procedure: Procedure, begin: BeginDialog, to: str
) -> Iterator[Finding]:
    graph = PathGraph(estate.network(to), State(at.instance.name, at.database.name, None))
    ends = {broker_key(e.broker): _place(e) for e in graph.endings() if e.broker is not None}
    if len(ends) > 1:
        yield finding(
            "TA-44", Severity.WARNING, at, begin.source,
            f"{procedure.name} begins a dialog with {to} in a conversation group without a broker "
            f"id: it can go to any of {listed(sorted(ends.values()))}, regardless of the "
            "database of the group's other dialogs",
            "Name the broker id of the database that has the group's data, as shown by RECEIVE or "
            "sys.conversation_endpoints (far_broker_instance).",
            procedure=procedure.name, service=to, databases=sorted(ends.values()),
        )  # fmt: skip


def _place(ending: Ending) -> str:
    return ending.at if ending.delivered else f"broker id {ending.broker}"


CHECKS = (
    Check(
        "TA-37",
        "Services of the same databases are balanced separately",
        (Severity.WARNING, Severity.INFO),
        "reference 2.1, 3.1",
        "The id of each dialog selects its database; the conversation group is not considered and "
        "never transmitted. If two services are in the same databases and both are balanced, "
        "dialogs of one group can end up in different databases. The finding is a warning if code "
        "in the database relates dialogs with one of these services. Otherwise, it is reported as "
        "info.",
        "If such dialogs need the same data, name the broker id in BEGIN DIALOG of the second "
        "dialog; it is known once the first dialog is acknowledged. If not, suppress the finding.",
        spread,
    ),
    Check(
        "TA-44",
        "A related dialog without a broker id",
        (Severity.WARNING,),
        "reference 2.1, 3.1",
        "A procedure relates a dialog to a conversation or a group, and the routes balance its "
        "target service over several databases. The conversation group exists only at the "
        "initiator, so the new dialog can go to any of these databases.",
        "Name the broker id in BEGIN DIALOG if the dialogs need the same database.",
        related,
    ),
)
