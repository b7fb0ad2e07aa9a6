"""Routes that no message takes: TA-24."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.check.proof import place_of, shown, where
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.unused_routes import unused_routes
from streams.topology import Finding, Severity, finding_at


def dead_routes(estate: Estate) -> Iterable[Finding]:
    """Find routes that are not on any path of any flow, in either direction."""
    for at in unused_routes(estate):
        place = place_of(at.instance, at.database)
        what = at.route.service or "any service"
        yield finding_at(
            "TA-24", Severity.INFO,
            f"no known flow uses route {at.route.name} for {what} to {at.route.address} in "
            f"either direction",
            "Drop the route, or add the flow that needs it under expect.",
            place, where(at),
            shown((at,), (at.instance.name,), service=at.route.service, broker=at.route.broker),
        )  # fmt: skip


CHECKS = (
    Check(
        "TA-24",
        "A route that no known flow uses",
        (Severity.INFO,),
        "reference 2.2, R4 and R5",
        "No message or acknowledgement of a known flow uses the route: another route matches "
        "first, an equal route exists, or no dialog needs it. Flows are inferred from the "
        "topology, so some may be unknown. An error on a path also makes later routes look "
        "unused, so correct errors first.",
        "Drop the route, or add the flow that needs it under expect.",
        dead_routes,
    ),
)
