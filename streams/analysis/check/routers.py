"""Data-dependent routers that cannot serve one of their targets (TA-41)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streams import routing
from streams.analysis.check.code_names import name_key
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.hazards.contracts import type_of
from streams.analysis.known import Home
from streams.analysis.objects import finding, live_routes, targets, user_databases
from streams.prose import listed
from streams.routing import Decision, Origin, Query, Verdict
from streams.topology import Database, Finding, Service, Severity, Source, contract_of

ROUTER = "DataDependentRouting"
"""The name of the routing service in the SQL Server documentation (U-40)."""


@dataclass(slots=True)
class _Routers:
    """All copies of a routing service, and the services to which any copy passes dialogs."""

    copies: list[Home] = field(default_factory=list)
    to: dict[str, Source] = field(default_factory=dict)


def routers(estate: Estate) -> Iterator[Finding]:
    """Find the path, contract or message type that a router lacks for a target (section 6)."""
    homes = _homes(estate)
    for name, router in _routers(estate).items():
        for at in router.copies:
            for target in sorted(router.to):
                if target in homes and target != name:
                    yield from _lacks(estate, at, at.database.services[name], target, homes[target])


def _homes(estate: Estate) -> dict[str, list[Home]]:
    homes: dict[str, list[Home]] = {}
    for here in targets(estate).values():
        for service, places in here.items():
            homes.setdefault(service, []).extend(places)
    return homes


def _routers(estate: Estate) -> dict[str, _Routers]:
    found: dict[str, _Routers] = {}
    for at in user_databases(estate):
        for service in at.database.services.values():
            if service.contracts and _is_router(at.database, service):
                router = found.setdefault(service.name, _Routers())
                router.copies.append(at)
                router.to.update(_passed_on(estate, at, service))
    return found


def _is_router(database: Database, service: Service) -> bool:
    """Return whether a service passes dialogs on, judging by its name or by the code of its reader.

    Such code begins, from its own service, a dialog that is related to the received dialog. Only
    the message names the target of the new dialog.
    """
    if service.name == ROUTER:
        return True
    queue = name_key(service.queue)
    return any(
        begin.service == service.name and begin.related and begin.to is None
        for procedure in database.procedures.values()
        if queue in map(name_key, procedure.receives)
        for begin in procedure.begins
    )


def _passed_on(estate: Estate, at: Home, service: Service) -> dict[str, Source]:
    """Return the services to which a router may pass dialogs, each with a place that names it.

    No list of these services exists. So the result contains the services that the router's routes
    name, and the services with which its procedures begin dialogs.
    """
    found = {r.service: r.source for r in live_routes(estate, at.database) if r.service is not None}
    for procedure in at.database.procedures.values():
        for begin in procedure.begins:
            if begin.service == service.name and begin.to is not None:
                found[begin.to] = begin.source
    return found


# --- What is missing -----------------------------------------------------------------------------


def _lacks(
    estate: Estate, at: Home, router: Service, target: str, homes: list[Home]
) -> Iterator[Finding]:
    if not _has_route(estate, at, target):
        yield _finding(
            at, router, target, Severity.ERROR, "a route to it",
            f"Create a route to {target}, as on the other routers.",
        )  # fmt: skip
    contracts = {c: home for home in homes for c in home.database.services[target].contracts}
    missing = [
        c for c in contracts if c not in router.contracts or contract_of(at.database, c) is None
    ]
    if missing:
        severity = Severity.ERROR if len(missing) == len(contracts) else Severity.WARNING
        yield _finding(
            at, router, target, severity, f"its contract {listed(missing)}",
            "Create it in the router's database, and add it to the routing service's contracts.",
            contracts=missing,
        )  # fmt: skip
    types = [
        word
        for name, home in contracts.items()
        if name not in missing and (contract := contract_of(home.database, name)) is not None
        for word in contract.messages
        if type_of(at.database, word) is None
    ]
    if types:
        yield _finding(
            at, router, target, Severity.ERROR, f"its message type {listed(types)}",
            "Create it in the router's database too, because a router sends the messages that it "
            "receives.",
            types=types,
        )  # fmt: skip


def _has_route(estate: Estate, at: Home, target: str) -> bool:
    query = Query(target, Origin.INSIDE, None, at.database.name)
    plan = routing.plan(estate.instances[at.instance.name], query, estate.now)
    return any(
        not isinstance(one, Decision) or one.verdict is not Verdict.DELAY for one in plan.decisions
    )


def _finding(
    at: Home, router: Service, target: str, severity: Severity, what: str, remedy: str,
    **evidence: object,
) -> Finding:  # fmt: skip
    return finding(
        "TA-41", severity, at, router.source,
        f"the router {router.name} forwards dialogs to {target} but lacks {what}", remedy,
        router=router.name, target=target, **evidence,
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-41",
        "A data-dependent router that cannot serve a target",
        (Severity.ERROR, Severity.WARNING),
        "reference 6",
        "A router receives a dialog and reads the intended service from the first message. It "
        "forwards all messages in a new dialog with the same contract. So the router's database "
        "needs the contracts and message types of all targets, its service must accept these "
        "contracts, and each copy of the router needs a route to each target. A service counts as "
        "a router if its name is DataDependentRouting, or if code that reads its queue begins "
        "related dialogs with a service given by a variable. Its targets are the services that "
        "the routes and the code of its copies name. The finding is a warning if only some of a "
        "target's contracts are missing.",
        "Create the missing objects in the router's database.",
        routers,
    ),
)
