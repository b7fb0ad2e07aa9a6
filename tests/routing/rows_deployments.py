"""Special addresses, loops, table maintenance, and two deployments that people really have."""

from __future__ import annotations

from streams.routing import CONFIGURATION_SERVICE, Instance, Route

from .build import (
    ACL,
    NOW,
    answered_in,
    asks_configuration,
    database,
    delayed,
    delivered,
    forwarded,
    from_outside,
    instance,
    reply_from_outside,
    route,
    sent,
    sent_from,
)
from .rows import DOC, DRV, RoutingExample

TRANSPORT_ROUTE = route("Transport", to="TRANSPORT")
PAY = "tcp://host9:4099/Pay"
TARGET, INITIATOR = "//TgtDB/2InstSample/TargetService", "//InstDB/2InstSample/InitiatorService"
MY_TARGET, MY_INITIATOR = "TCP://MyTargetComputer:4022", "TCP://MyInitiatorComputer:4022"
RECEIVE, SEND = "//sqltalk/rcvTweetService", "//sqltalk/sendTweetService"
CONFIGURED = route("Configuration", CONFIGURATION_SERVICE, to="LOCAL")
TUTORIAL = "Completing the Target Conversation Objects (two-instance tutorial, lesson 3)"


def home(*routes: Route, here: str = "") -> Instance:
    """Build I1: AW with these routes, DB2 with the service that is here."""
    services = [here] if here else []
    return instance("I1", database("AW", *routes), database("DB2", services=services))


def loop_back() -> Instance:
    """Build an instance whose two databases reach each other by ``localhost``."""
    there = route("There", "target_service", to="tcp://localhost:4022")
    back = route("Back", "source_service", to="tcp://localhost:4022")
    source = database("source", there, services=["source_service"])
    target = database("target", back, services=["target_service"])
    return instance("I1", source, target, aliases=["LOCALHOST"])


INITIATOR_SIDE = instance(
    "MyInitiatorComputer",
    database("InstInitiatorDB", route("R", TARGET, to=MY_TARGET), services=[INITIATOR]),
    msdb=(route("InstRoute", INITIATOR, to="LOCAL"),),
)
TARGET_DB = database("InstTargetDB", route("R", INITIATOR, to=MY_INITIATOR), services=[TARGET])
TARGET_MSDB = (route("InstRoute", TARGET, to="LOCAL"),)
TARGET_SIDE = instance("MyTargetComputer", TARGET_DB, msdb=TARGET_MSDB)
TARGET_TWICE = instance(
    "MyTargetComputer", TARGET_DB, database("Second", services=[TARGET]), msdb=TARGET_MSDB
)

SQL1 = instance(
    "SQL1", database("Send", route("R", RECEIVE, to="TCP://SQL2:4022"), services=[SEND])
)
SQL2 = instance(
    "SQL2",
    msdb=(
        route("ToReceiver", RECEIVE, to="TCP://SQL3:4022"),
        route("ToSender", SEND, to="TCP://SQL1:4022"),
    ),
    forwarding=True,
)
SQL3 = instance(
    "SQL3", database("Receive", route("R", SEND, to="TCP://SQL2:4022"), services=[RECEIVE])
)

ROWS = (
    RoutingExample(
        "EX-39a", DOC, "CREATE ROUTE, example H",
        "TRANSPORT: the service name contains the address.",
        at=home(TRANSPORT_ROUTE),
        asks=sent_from("AW", to=PAY),
        expects=sent("M5", by="Transport", to="tcp://host9:4099"),
        shows="R5.4",
    ),
    RoutingExample(
        "EX-39b", DRV, "Database Engine events and errors: 9785",
        "With TRANSPORT and a service name without an address, the conversation is delayed, "
        "because the address is unusable.",
        at=home(TRANSPORT_ROUTE),
        asks=sent_from("AW", to="Pay"),
        expects=delayed("M5", 9785, by="Transport"),
        shows="R5.4 U-10",
    ),
    RoutingExample(
        "EX-40a", DOC, "Service Broker Routing, Choosing a Route",
        "TRANSPORT is the last tier, so a network address has precedence.",
        at=home(TRANSPORT_ROUTE, route("Hub", to="tcp://hub:4022")),
        asks=sent_from("AW", to=PAY),
        expects=sent("M5", by="Hub", to="tcp://hub:4022"),
        shows="R5.3 R5.4",
    ),
    RoutingExample(
        "EX-40b", DOC, "Service Broker Routing, Choosing a Route",
        "LOCAL also has precedence over TRANSPORT if this instance has the service.",
        at=home(TRANSPORT_ROUTE, ACL, here=PAY),
        asks=sent_from("AW", to=PAY),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="R5.2 R5.4",
    ),
    RoutingExample(
        "EX-41a", DOC, "Service Broker Routing, Routing Loops",
        "With the address of this instance itself, msdb decides again, as for a message from "
        "outside.",
        at=loop_back(),
        asks=sent_from("source", to="target_service"),
        expects=delivered("M5", by=ACL.name, to="target"),
        shows="O-6 R8.1 R9 U-45",
    ),
    RoutingExample(
        "EX-41b", DOC, "Service Broker Routing, Routing Loops",
        "The reply loops back too and is recognized by its broker id.",
        at=loop_back(),
        asks=answered_in("target", to="source_service", broker="source"),
        expects=delivered("REPLY", to="source", broker="source"),
        shows="R2.2 R8.1 R9",
    ),
    RoutingExample(
        "EX-45", DOC, "Service Broker Message Forwarding",
        "The decision does not detect a loop between two forwarders: each one forwards the "
        "message, and the hop count ends the loop.",
        at=instance("F1", msdb=(route("R", "Svc", to="tcp://F2:4022"),), forwarding=True),
        asks=from_outside(to="Svc"),
        expects=forwarded("M2", by="R", to="tcp://F2:4022"),
        shows="R8.3",
    ),
    RoutingExample(
        "EX-49a", DOC, "CREATE ROUTE: LIFETIME",
        "A route is valid until the time at which it expires.",
        at=home(route("R", "Svc", to="tcp://S:4022", expires=NOW + 10)),
        asks=sent_from("AW", to="Svc"),
        now=NOW + 9.999,
        expects=sent("M2", by="R", to="tcp://S:4022"),
        shows="R3.1",
    ),
    RoutingExample(
        "EX-49b", DOC, "CREATE ROUTE: LIFETIME",
        "An expired route is ignored, even for conversations that began before it expired.",
        at=home(route("R", "Svc", to="tcp://S:4022", expires=NOW + 10)),
        asks=sent_from("AW", to="Svc", broker="D"),
        now=NOW + 10,
        expects=delayed("M7", 9750, broker="D"),
        shows="R3.1 C-04",
    ),
    RoutingExample(
        "EX-50", DOC, "CREATE ROUTE: SERVICE_NAME",
        "Names are compared byte by byte: a route for OrderParts does not match orderparts.",
        at=home(ACL, route("R", "OrderParts", to="tcp://S:4022")),
        asks=sent_from("AW", to="orderparts"),
        expects=delayed("M5", 9796, by=ACL.name),
        shows="R0",
    ),
    RoutingExample(
        "EX-51", DOC, "DROP ROUTE",
        "After DROP ROUTE of the only route, the messages of an open dialog wait.",
        at=home(),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=delayed("M7", 9750, broker="D"),
        shows="O-1 R4.7 R10",
    ),
    RoutingExample(
        "EX-54a", DOC, "Managing Service Broker Identities",
        "A database with delivery off is invisible, so only the other copy of the service is "
        "found.",
        at=instance(
            "I1",
            database("AW", ACL),
            database("DB2", services=["Svc"], enabled=False),
            database("DB3", services=["Svc"]),
        ),
        asks=sent_from("AW", to="Svc"),
        expects=delivered("M5", by=ACL.name, to="DB3"),
        shows="R7.2b",
    ),
    RoutingExample(
        "EX-54b", DOC, "Managing Service Broker Identities",
        "With delivery off in the sender's database, no message leaves its transmission queue.",
        at=instance("I1", database("AW", ACL, enabled=False), database("DB2", services=["Svc"])),
        asks=sent_from("AW", to="Svc"),
        expects=delayed("", 9791),
        shows="R1.1",
    ),
    RoutingExample(
        "EX-56a", DOC, "Service Broker Dynamic Routing",
        "If no route names the service and there is a configuration service, that service is "
        "asked.",
        at=home(CONFIGURED),
        asks=sent_from("AW", to="New"),
        expects=asks_configuration("M4", by="Configuration"),
        shows="R4.4",
    ),
    RoutingExample(
        "EX-56b", DOC, "Service Broker Dynamic Routing",
        "After the application has created a route, the message uses it.",
        at=home(CONFIGURED, route("New", "New", to="tcp://N:4022")),
        asks=sent_from("AW", to="New"),
        expects=sent("M2", by="New", to="tcp://N:4022"),
        shows="R4.2 R4.4",
    ),
    RoutingExample(
        "EX-64a", DRV, TUTORIAL,
        "The request leaves the initiator's database by its route.",
        at=INITIATOR_SIDE,
        asks=sent_from("InstInitiatorDB", to=TARGET),
        expects=sent("M2", by="R", to=MY_TARGET),
        shows="R4.2 R8.4",
    ),
    RoutingExample(
        "EX-64b", DOC, TUTORIAL,
        "The request is delivered by the LOCAL route of the target's msdb.",
        at=TARGET_SIDE,
        asks=from_outside(to=TARGET),
        expects=delivered("M2", by="InstRoute", to="InstTargetDB"),
        shows="R2.3 R5.2 R7.2b",
    ),
    RoutingExample(
        "EX-64c", DOC, TUTORIAL,
        "The reply leaves the target's database by its route.",
        at=TARGET_SIDE,
        asks=answered_in("InstTargetDB", to=INITIATOR, broker="InstInitiatorDB"),
        expects=sent("M2", by="R", to=MY_INITIATOR, broker="InstInitiatorDB"),
        shows="R1.3 R4.2 U-07",
    ),
    RoutingExample(
        "EX-64d", DRV, TUTORIAL,
        "The reply is recognized by its broker id at the initiator's instance.",
        at=INITIATOR_SIDE,
        asks=reply_from_outside(to=INITIATOR, broker="InstInitiatorDB"),
        expects=delivered("REPLY", to="InstInitiatorDB", broker="InstInitiatorDB"),
        shows="R2.2",
    ),
    RoutingExample(
        "EX-64e", DOC, TUTORIAL,
        "If a second database has a service of that name, the target is not specified.",
        at=TARGET_TWICE,
        asks=from_outside(to=TARGET),
        expects=delivered("M2", by="InstRoute", to="InstTargetDB Second"),
        shows="R7.2b U-13",
    ),
    RoutingExample(
        "EX-64f", DOC, TUTORIAL,
        "A broker id specifies the target.",
        at=TARGET_TWICE,
        asks=from_outside(to=TARGET, broker="Second"),
        expects=delivered("M2", by="InstRoute", to="Second", broker="Second"),
        shows="R7.1",
    ),
    RoutingExample(
        "EX-65a", DRV, "a public three-instance forwarding script",
        "SQL1 sends to SQL2.",
        at=SQL1,
        asks=sent_from("Send", to=RECEIVE),
        expects=sent("M2", by="R", to="TCP://SQL2:4022"),
        shows="R8.4",
    ),
    RoutingExample(
        "EX-65b", DRV, "a public three-instance forwarding script",
        "SQL2 forwards to SQL3.",
        at=SQL2,
        asks=from_outside(to=RECEIVE),
        expects=forwarded("M2", by="ToReceiver", to="TCP://SQL3:4022"),
        shows="R8.3",
    ),
    RoutingExample(
        "EX-65c", DRV, "a public three-instance forwarding script",
        "SQL3 delivers.",
        at=SQL3,
        asks=from_outside(to=RECEIVE),
        expects=delivered("M5", by=ACL.name, to="Receive"),
        shows="R2.3",
    ),
    RoutingExample(
        "EX-65d", DRV, "a public three-instance forwarding script",
        "SQL3 sends the acknowledgement to SQL2, although its own forwarding is off.",
        at=SQL3,
        asks=answered_in("Receive", to=SEND, broker="Send"),
        expects=sent("M2", by="R", to="TCP://SQL2:4022", broker="Send"),
        shows="R8.2 R8.4",
    ),
    RoutingExample(
        "EX-65e", DRV, "a public three-instance forwarding script",
        "SQL2 forwards the acknowledgement to SQL1.",
        at=SQL2,
        asks=reply_from_outside(to=SEND, broker="Send"),
        expects=forwarded("M2", by="ToSender", to="TCP://SQL1:4022", broker="Send"),
        shows="R2.2 R8.3",
    ),
)  # fmt: skip
