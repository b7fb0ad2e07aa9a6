"""Load balancing, high availability and several targets: *Using multiple routes in Service Broker*.

Broker ids equal the database names, as in that article.
"""

from __future__ import annotations

from streams.routing import Instance, Route

from .build import (
    ACL,
    TAKES_FIRST,
    TAKES_SECOND,
    answered_in,
    database,
    delivered,
    dropped,
    forwarded,
    from_outside,
    instance,
    reply_from_outside,
    route,
    sent,
    sent_from,
)
from .rows import DOC, DRV, RoutingExample

POST = "Using multiple routes in Service Broker"
A, B, C = "tcp://ServerA:4022", "tcp://ServerB:4022", "tcp://ServerC:4022"
GATE_A, GATE_B = "tcp://GatewayA:4022", "tcp://GatewayB:4022"
GATE_C, GATE_D = "tcp://GatewayC:4022", "tcp://GatewayD:4022"


def to_target(name: str, broker: str | None, to: str) -> Route:
    """Create a route of the initiator's database."""
    return route(name, "TargetService", broker, to=to)


def server_a(*routes: Route, msdb: tuple[Route, ...] = (ACL,)) -> Instance:
    """Build the initiator's instance."""
    home = database("DatabaseA", *routes, services=["InitiatorService"])
    return instance("ServerA", home, msdb=msdb)


def server(letter: str, *routes: Route, msdb: tuple[Route, ...] = (ACL,)) -> Instance:
    """Build a target's instance."""
    home = database(f"Database{letter}", *routes, services=["TargetService"])
    return instance(f"Server{letter}", home, msdb=msdb)


def gateway(*, on: bool = True) -> Instance:
    """Build a gateway between A and B: routes in both directions, no service."""
    there = to_target("ForwardingRoute", "DatabaseB", B)
    back = route("ForwardingReturnRoute", "InitiatorService", "DatabaseA", to=A)
    return instance("GatewayA", msdb=(there, back), forwarding=on)


BALANCED = (
    to_target("LoadBalancingRoute1", "DatabaseB", B),
    to_target("LoadBalancingRoute2", "DatabaseC", C),
)
UNFAIR = (*BALANCED, to_target("LoadBalancingRoute3", "DatabaseC", C))
RETURN = route("ReturnRoute", "InitiatorService", "DatabaseA", to=A)
TO_B_IS_LOCAL = to_target("LocalRoute", "DatabaseB", "LOCAL")
TO_C_IS_LOCAL = to_target("LocalRoute", "DatabaseC", "LOCAL")
TO_A_IS_LOCAL = route("LocalRoute", "InitiatorService", "DatabaseA", to="LOCAL")
TWO_GATEWAYS = (
    to_target("HighAvailabilityRoute1", "DatabaseB", GATE_A),
    to_target("HighAvailabilityRoute2", "DatabaseB", GATE_B),
)
TWO_GATEWAYS_BACK = (
    route("ReturnRoute1", "InitiatorService", "DatabaseA", to=GATE_A),
    route("ReturnRoute2", "InitiatorService", "DatabaseA", to=GATE_B),
)
COMBINED = (
    to_target("LoadBal1Fwd1", "DatabaseB", GATE_A),
    to_target("LoadBal1Fwd2", "DatabaseB", GATE_B),
    to_target("LoadBal2Fwd1", "DatabaseC", GATE_C),
    to_target("LoadBal2Fwd2", "DatabaseC", GATE_D),
)
SEVERAL_TARGETS = (to_target("R1", None, B), to_target("R2", None, C))

ROWS = (
    RoutingExample(
        "EX-24a", DOC, f"{POST}: load balancing",
        "A dialog without a broker id uses one of the broker ids that the routes name.",
        at=server_a(*BALANCED, ACL),
        asks=sent_from("DatabaseA", to="TargetService", dialog=TAKES_FIRST),
        expects=sent("M3", by="LoadBalancingRoute1", to=B, broker="DatabaseB"),
        shows="R4.3 U-07 U-18 C-14",
    ),
    RoutingExample(
        "EX-24b", DOC, f"{POST}: load balancing",
        "Another dialog uses the other broker id.",
        at=server_a(*BALANCED, ACL),
        asks=sent_from("DatabaseA", to="TargetService", dialog=TAKES_SECOND),
        expects=sent("M3", by="LoadBalancingRoute2", to=C, broker="DatabaseC"),
        shows="R4.3 U-18 C-14",
    ),
    RoutingExample(
        "EX-24c", DOC, f"{POST}: load balancing",
        "At the target's instance, msdb's AutoCreatedLocal and the message's broker id determine "
        "the database that gets the message.",
        at=server("B", RETURN, ACL),
        asks=from_outside(to="TargetService", broker="DatabaseB"),
        expects=delivered("M5", by=ACL.name, to="DatabaseB", broker="DatabaseB"),
        shows="R2.3 R7.1",
    ),
    RoutingExample(
        "EX-24d", DOC, f"{POST}: load balancing",
        "The target's acknowledgement uses the return route of the target's database.",
        at=server("B", RETURN, ACL),
        asks=answered_in("DatabaseB", to="InitiatorService", broker="DatabaseA"),
        expects=sent("M1", by="ReturnRoute", to=A, broker="DatabaseA"),
        shows="R1.3 R4.1",
    ),
    RoutingExample(
        "EX-24e", DOC, f"{POST}: load balancing",
        "At the initiator's instance the reply is recognized by its broker id.",
        at=server_a(*BALANCED, ACL),
        asks=reply_from_outside(to="InitiatorService", broker="DatabaseA"),
        expects=delivered("REPLY", to="DatabaseA", broker="DatabaseA"),
        shows="R2.2",
    ),
    RoutingExample(
        "EX-25", DOC, f"{POST}: load balancing",
        "A broker id in BEGIN DIALOG prevents balancing.",
        at=server_a(*BALANCED, ACL),
        asks=sent_from("DatabaseA", to="TargetService", broker="DatabaseB", dialog=TAKES_SECOND),
        expects=sent("M1", by="LoadBalancingRoute1", to=B, broker="DatabaseB"),
        shows="R4.1",
    ),
    RoutingExample(
        "EX-25b", DOC, f"{POST}: load balancing",
        "A route without a broker id prevents balancing, because it has precedence over routes "
        "with a broker id.",
        at=server_a(*BALANCED, to_target("Plain", None, GATE_A), ACL),
        asks=sent_from("DatabaseA", to="TargetService", dialog=TAKES_SECOND),
        expects=sent("M2", by="Plain", to=GATE_A),
        shows="R4.2",
    ),
    RoutingExample(
        "EX-27", DOC, f"{POST}: unfair load balancing",
        "A duplicate route counts once, so a broker's share does not grow with the number of its "
        "routes.",
        at=server_a(*UNFAIR, ACL),
        asks=sent_from("DatabaseA", to="TargetService", dialog=TAKES_SECOND),
        expects=sent("M3", by="LoadBalancingRoute2", to=C, broker="DatabaseC"),
        shows="R5.0 U-18",
    ),
    RoutingExample(
        "EX-28a", DOC, f"{POST}: load balancing",
        "Without AutoCreatedLocal, a LOCAL route in the target's msdb delivers the message.",
        at=server("C", RETURN, msdb=(TO_C_IS_LOCAL,)),
        asks=from_outside(to="TargetService", broker="DatabaseC"),
        expects=delivered("M1", by="LocalRoute", to="DatabaseC", broker="DatabaseC"),
        shows="R4.1 R5.2 R7.1",
    ),
    RoutingExample(
        "EX-28b", DRV, f"{POST}: load balancing (as printed: DatabaseB for both servers)",
        "A LOCAL route that names another broker id has no effect on a message with the broker "
        "id of a local database, which needs no route.",
        at=server("C", RETURN, msdb=(TO_B_IS_LOCAL,)),
        asks=from_outside(to="TargetService", broker="DatabaseC"),
        expects=delivered("M6", to="DatabaseC", broker="DatabaseC"),
        shows="R4.6",
    ),
    RoutingExample(
        "EX-28c", DRV, "Service Broker Routing, Finding Matching Routes, 6",
        "With an empty msdb, a message with the broker id of a local database is delivered.",
        at=server("B", RETURN, msdb=()),
        asks=from_outside(to="TargetService", broker="DatabaseB"),
        expects=delivered("M6", to="DatabaseB", broker="DatabaseB"),
        shows="R4.6",
    ),
    RoutingExample(
        "EX-28d", DRV, f"{POST}: load balancing",
        "The reply does not need the LOCAL route that the article recommends for the initiator's "
        "msdb.",
        at=server_a(*BALANCED, msdb=(TO_A_IS_LOCAL,)),
        asks=reply_from_outside(to="InitiatorService", broker="DatabaseA"),
        expects=delivered("REPLY", to="DatabaseA", broker="DatabaseA"),
        shows="R2.2 C-25",
    ),
    RoutingExample(
        "EX-28e", DRV, "Service Broker Routing, Reply Messages From a Target Service",
        "With an empty msdb, a reply still arrives, because no route is consulted.",
        at=server_a(*BALANCED, msdb=()),
        asks=reply_from_outside(to="InitiatorService", broker="DatabaseA"),
        expects=delivered("REPLY", to="DatabaseA", broker="DatabaseA"),
        shows="R2.2 C-25",
    ),
    RoutingExample(
        "EX-29a", DOC, f"{POST}: high availability",
        "If several routes name one broker id, all their addresses are passed to the transport.",
        at=server_a(*TWO_GATEWAYS),
        asks=sent_from("DatabaseA", to="TargetService", broker="DatabaseB"),
        expects=sent(
            "M1",
            by="HighAvailabilityRoute1 HighAvailabilityRoute2",
            to=f"{GATE_A} {GATE_B}",
            broker="DatabaseB",
        ),
        shows="R5.3 C-08",
    ),
    RoutingExample(
        "EX-29b", DOC, f"{POST}: high availability",
        "A gateway forwards by the route of its msdb that names both the service and the broker "
        "id.",
        at=gateway(),
        asks=from_outside(to="TargetService", broker="DatabaseB"),
        expects=forwarded("M1", by="ForwardingRoute", to=B, broker="DatabaseB"),
        shows="R2.3 R4.1 R8.3",
    ),
    RoutingExample(
        "EX-29c", DOC, f"{POST}: high availability",
        "The return path also has both gateways.",
        at=server("B", *TWO_GATEWAYS_BACK, msdb=(TO_B_IS_LOCAL,)),
        asks=answered_in("DatabaseB", to="InitiatorService", broker="DatabaseA"),
        expects=sent(
            "M1", by="ReturnRoute1 ReturnRoute2", to=f"{GATE_A} {GATE_B}", broker="DatabaseA"
        ),
        shows="R4.1 C-08",
    ),
    RoutingExample(
        "EX-31", DOC, f"{POST}: high availability",
        "Several routes without a broker id are also passed to the transport together.",
        at=server_a(to_target("R1", None, GATE_A), to_target("R2", None, GATE_B)),
        asks=sent_from("DatabaseA", to="TargetService"),
        expects=sent("M2", by="R1 R2", to=f"{GATE_A} {GATE_B}"),
        shows="R4.2 C-08",
    ),
    RoutingExample(
        "EX-32a", DOC, f"{POST}: putting it all together",
        "If balancing and several addresses are combined, the hash selects the broker id, then "
        "all routes to it are passed to the transport.",
        at=server_a(*COMBINED),
        asks=sent_from("DatabaseA", to="TargetService", dialog=TAKES_FIRST),
        expects=sent(
            "M3", by="LoadBal1Fwd1 LoadBal1Fwd2", to=f"{GATE_A} {GATE_B}", broker="DatabaseB"
        ),
        shows="R4.3 C-08",
    ),
    RoutingExample(
        "EX-32b", DOC, f"{POST}: putting it all together",
        "A dialog for the other broker id uses only the other two gateways.",
        at=server_a(*COMBINED),
        asks=sent_from("DatabaseA", to="TargetService", dialog=TAKES_SECOND),
        expects=sent(
            "M3", by="LoadBal2Fwd1 LoadBal2Fwd2", to=f"{GATE_C} {GATE_D}", broker="DatabaseC"
        ),
        shows="R4.3 C-08",
    ),
    RoutingExample(
        "EX-33", DOC, f"{POST}: multiple target endpoint creation",
        "Two routes without a broker id lead to different copies: both addresses are used, and "
        "no broker id separates them.",
        at=server_a(*SEVERAL_TARGETS),
        asks=sent_from("DatabaseA", to="TargetService"),
        expects=sent("M2", by="R1 R2", to=f"{B} {C}"),
        shows="R4.2 C-08",
    ),
    RoutingExample(
        "EX-35a", DOC, f"{POST}: multiple target endpoint creation",
        "After the first acknowledgement the same two routes match again, and the message carries "
        "the broker id.",
        at=server_a(*SEVERAL_TARGETS),
        asks=sent_from("DatabaseA", to="TargetService", broker="DatabaseB"),
        expects=sent("M2", by="R1 R2", to=f"{B} {C}", broker="DatabaseB"),
        shows="R4.2 U-07",
    ),
    RoutingExample(
        "EX-35b", DOC, f"{POST}: multiple target endpoint creation",
        "The copy of the service for which the message is not intended drops it.",
        at=server("C", RETURN, ACL),
        asks=from_outside(to="TargetService", broker="DatabaseB"),
        expects=dropped("M5", 28017, by=ACL.name, broker="DatabaseB"),
        shows="U-12 U-44",
    ),
    RoutingExample(
        "EX-44a", DOC, "Service Broker Routing, Reply Messages From a Target Service",
        "A reply at an instance without the reply's broker id is routed like any other message.",
        at=gateway(),
        asks=reply_from_outside(to="InitiatorService", broker="DatabaseA"),
        expects=forwarded("M1", by="ForwardingReturnRoute", to=A, broker="DatabaseA"),
        shows="R2.2 R8.3",
    ),
    RoutingExample(
        "EX-44b", DOC, "Service Broker Routing, Choosing a Route",
        "With forwarding off, a reply at an instance without the reply's broker id is dropped.",
        at=gateway(on=False),
        asks=reply_from_outside(to="InitiatorService", broker="DatabaseA"),
        expects=dropped("M1", 9792, by="ForwardingReturnRoute", broker="DatabaseA"),
        shows="R8.2 C-12",
    ),
    RoutingExample(
        "EX-52a", DOC, "Routes",
        "A second dialog of the same conversation group can go to a different database from the "
        "first (EX-24a).",
        at=server_a(*BALANCED, ACL),
        asks=sent_from("DatabaseA", to="TargetService", dialog=TAKES_SECOND),
        expects=sent("M3", by="LoadBalancingRoute2", to=C, broker="DatabaseC"),
        shows="R4.3",
    ),
    RoutingExample(
        "EX-52b", DOC, "Routes",
        "With a given broker id, the second dialog goes to the same database as the first one.",
        at=server_a(*BALANCED, ACL),
        asks=sent_from("DatabaseA", to="TargetService", broker="DatabaseB", dialog=TAKES_SECOND),
        expects=sent("M1", by="LoadBalancingRoute1", to=B, broker="DatabaseB"),
        shows="R4.1",
    ),
)  # fmt: skip
