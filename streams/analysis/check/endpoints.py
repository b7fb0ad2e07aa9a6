"""Endpoints that cannot connect to each other (TA-39)."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.endpoints import endpoints
from streams.topology import Finding, Severity


def closed(estate: Estate) -> Iterable[Finding]:
    """Find the connections of all flows that endpoints forbid."""
    return endpoints(estate, passages(estate))


CHECKS = (
    Check(
        "TA-39",
        "Endpoints that cannot connect to each other",
        (Severity.ERROR, Severity.WARNING),
        "reference 1.1 (endpoint), 8.2",
        "Two endpoints connect only if their settings agree: ENCRYPTION REQUIRED does not go with "
        "DISABLED, encrypted connections need an algorithm in common, and each must accept the "
        "kind of authentication that the other one offers. The login that connects needs CONNECT "
        "on the endpoint. A warning: an endpoint for which no CONNECT is known, while there is for "
        "others. It is told of connections that some flow uses.",
        "Make the settings agree; grant CONNECT to the logins of the neighbours.",
        closed,
    ),
)
