"""Routes (TA-19) and certificates (TA-42) that have expired or will soon expire."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.certificates import certificate_finding, invalidity, use_of
from streams.analysis.hazards.security import security
from streams.analysis.known import Home
from streams.analysis.objects import day, every_database, finding
from streams.routing import CONFIGURATION_SERVICE
from streams.topology import Finding, Route, Severity


def routes(estate: Estate) -> Iterator[Finding]:
    """Find routes that have expired or will soon expire (reference 1.4)."""
    for at in every_database(estate):
        # The configuration service creates short-lived routes, so only its expired routes matter
        # here.
        renewed = any(r.service == CONFIGURATION_SERVICE for r in at.database.routes)
        for route in at.database.routes:
            if route.expires is None:
                continue
            if route.expires <= estate.now:
                yield _route(at, route, route.expires, "expired on {} and is ignored")
            elif route.expires <= estate.now + estate.soon and not renewed:
                yield _route(at, route, route.expires, "expires on {}" + _as_of(route))


def _as_of(route: Route) -> str:
    # A LIFETIME starts when its statement is executed, and this time is unknown.
    return ", if it is created now" if route.source.file.endswith(".sql") else ""


def _route(at: Home, route: Route, expires: float, template: str) -> Finding:
    return finding(
        "TA-19", Severity.WARNING, at, route.source,
        f"route {route.name} {template.format(day(expires))}",
        "Give it a new LIFETIME with ALTER ROUTE, or drop it and create it without one.",
        route=route.name, service=route.service, broker=route.broker, expires=expires,
    )  # fmt: skip


def certificates(estate: Estate) -> Iterator[Finding]:
    """Find certificates that are not valid now or will soon become invalid (8.2, 28011)."""
    needed = {
        (found.subject, found.evidence["certificate"]): found
        for found in security(estate, passages(estate))
        if found.code == "TA-42"
    }
    for at in every_database(estate):
        for one in at.database.certificates.values():
            used, what = use_of(at, one, estate.now), invalidity(one, estate.now)
            if (str(at), one.name) in needed:
                yield needed[str(at), one.name]
            elif what:
                severity = Severity.ERROR if used else Severity.WARNING
                yield certificate_finding(at, one, severity, used, what)
            elif one.expires is not None and one.expires <= estate.now + estate.soon:
                what = f"expires on {day(one.expires)}"
                yield certificate_finding(at, one, Severity.WARNING, used, what)


CHECKS = (
    Check(
        "TA-19",
        "A route that has expired or expires soon",
        (Severity.WARNING,),
        "reference 1.4 (LIFETIME)",
        "A route with a LIFETIME stays in sys.routes after it has expired, but is ignored. SQL "
        "Server then uses the next best route, if any, and reports no error. A route that expires "
        "within a week is reported too; --expires-within sets another period. In a table with a "
        "route to the configuration service, only expired routes are reported, because that "
        "service creates new ones.",
        "Give the route a new LIFETIME with ALTER ROUTE. For a route that never expires, drop it "
        "and create it without LIFETIME: ALTER ROUTE cannot remove a LIFETIME.",
        routes,
    ),
    Check(
        "TA-42",
        "A certificate that is not valid or expires soon",
        (Severity.ERROR, Severity.WARNING),
        "reference 8.2, error 28011",
        "Secured dialogs and endpoints with certificates stop when a certificate expires; messages "
        "then stay in the transmission queue. The finding is an error if a remote service binding, "
        "the endpoint or a flow is known to use the invalid certificate; otherwise, it is a "
        "warning. If its user has another valid certificate, flows use that one.",
        "Create a new certificate before the old one expires and install its public part on the "
        "other side. Make the user of the binding its owner, or let the endpoint use it.",
        certificates,
    ),
)
