"""Endpoints that cannot connect to each other (TA-39)."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.endpoints import endpoints
from streams.topology import Finding, Severity


def closed(estate: Estate) -> Iterable[Finding]:
    """Find connections that flows need but that the endpoints do not allow."""
    return endpoints(estate, passages(estate))


CHECKS = (
    Check(
        "TA-39",
        "Endpoints that cannot connect to each other",
        (Severity.ERROR, Severity.WARNING),
        "reference 1.1 (endpoint), 8.2",
        "Two endpoints connect only if their settings agree. ENCRYPTION REQUIRED is incompatible "
        "with DISABLED, encrypted connections need a common algorithm, and each side must accept "
        "the authentication that the other one offers. The connecting login needs CONNECT on the "
        "endpoint. The finding is a warning if the topology has grants of CONNECT for other "
        "endpoints but not for this one, or if an instance's scripts create no endpoint, but those "
        "of the other instance do. Only connections of known flows are checked.",
        "Make the settings agree. Grant CONNECT to the logins of the neighbour instances.",
        closed,
    ),
)
