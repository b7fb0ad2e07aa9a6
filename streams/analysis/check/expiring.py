"""Routes (TA-19) and certificates (TA-42) that have expired or will soon expire."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import day, every_database, finding
from streams.routing import CONFIGURATION_SERVICE
from streams.topology import Certificate, Finding, Route, Severity


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
    for at in every_database(estate):
        for one in at.database.certificates.values():
            used = _use(at, one)
            severity = Severity.ERROR if used else Severity.WARNING
            if one.expires is not None and one.expires <= estate.now:
                yield _certificate(at, one, severity, used, f"expired on {day(one.expires)}")
            elif one.starts is not None and one.starts > estate.now:
                what = f"is not valid before {day(one.starts)}"
                yield _certificate(at, one, severity, used, what)
            elif one.expires is not None and one.expires <= estate.now + estate.soon:
                what = f"expires on {day(one.expires)}"
                yield _certificate(at, one, Severity.WARNING, used, what)


def _use(at: Home, one: Certificate) -> str:
    """Describe the known use of a certificate: by a binding of its owner, or by the endpoint."""
    for binding in at.database.bindings:
        if one.user is not None and binding.user.casefold() == one.user.casefold():
            return f"binding {binding.name} uses it for dialogs with {binding.service}"
    words = (word.casefold().strip('[]"') for word in at.instance.endpoint.authentication)
    return "the endpoint authenticates with it" if one.name.casefold() in words else ""


def _certificate(at: Home, one: Certificate, severity: Severity, used: str, what: str) -> Finding:
    use = f"; {used}" if used else ""
    return finding(
        "TA-42", severity, at, one.source,
        f"certificate {one.name} {what}{use}",
        "Create a new one, install its public part on the other side, and use it in bindings and "
        "endpoints.",
        certificate=one.name, user=one.user, starts=one.starts, expires=one.expires,
    )  # fmt: skip


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
        "then stay in the transmission queue. The finding is an error if a remote service binding "
        "or the endpoint is known to use the invalid certificate; otherwise, it is a warning.",
        "Create a new certificate before the old one expires and install its public part on the "
        "other side. Make the user of the binding its owner, or let the endpoint use it.",
        certificates,
    ),
)
