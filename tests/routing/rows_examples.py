"""The worked examples of the documentation page *Service Broker Routing Examples*.

AW stands for the page's database AdventureWorks2008R2, I1 for the instance that holds it.
"""

from __future__ import annotations

from streams.routing import Instance, Route

from .build import (
    ACL,
    G1,
    G2,
    TAKES_FIRST,
    TAKES_SECOND,
    database,
    delayed,
    delivered,
    dropped,
    forwarded,
    from_outside,
    instance,
    probes,
    route,
    sent,
    sent_from,
)
from .rows import DOC, DRV, RoutingExample

PAGE = "Service Broker Routing Examples"
HOST2 = "tcp://host2.Adventure-Works.com:4022/"
PARTNER1 = "tcp://partner1.Adventure-Works.com:4022/"
PARTNER2 = "tcp://partner2.Adventure-Works.com:4022/"
HUB = "tcp://forwarding.Adventure-Works.com:4022/"
ELSEWHERE = "tcp://elsewhere.Adventure-Works.com:4022/"
SERVER1 = "tcp://server1.Adventure-Works.com:4022/"
SERVER2 = "tcp://server2.Adventure-Works.com:4022/"


def aw(
    *routes: Route, here: str = "", msdb: tuple[Route, ...] = (ACL,), on: bool = False
) -> Instance:
    """Build I1: AW with these routes, DB2 with the services that are here, forwarding on or off."""
    home, other = database("AW", *routes), database("DB2", ACL, services=here.split())
    return instance("I1", home, other, msdb=msdb, forwarding=on)


ORDER_PARTS = route("OrderPartsRoute", "OrderParts", to=HOST2)
MIRRORED = route("OrderPartsRoute", "OrderParts", to=PARTNER1, mirror=PARTNER2)
EXTERNAL = route("ExternalRoute", to=HUB)
BALANCED = (
    ACL,
    route("Balanced1", "BalancedService", G1, to=SERVER1),
    route("Balanced2", "BalancedService", G2, to=SERVER2),
)
FORWARD_ONE = (ACL, route("ForwardingRoute", "ElsewhereService", to=ELSEWHERE))
FORWARD_ALL = (ACL, route("ForwardingRoute", to=HUB))

ROWS = (
    RoutingExample(
        "EX-01", DOC, f"{PAGE}, 1",
        "With only AutoCreatedLocal, a service in another database of the instance is reached "
        "without the network.",
        at=aw(ACL, here="Svc"),
        asks=sent_from("AW", to="Svc"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="O-2 R1.3 R4.5 R5.2 R7.2b",
    ),
    RoutingExample(
        "EX-02", DOC, f"{PAGE}, 2-7 (1 says dropped)",
        "With only AutoCreatedLocal, a conversation with a service that this instance does not "
        "have is delayed.",
        at=aw(ACL),
        asks=sent_from("AW", to="Svc"),
        expects=delayed("M5", 9796, by=ACL.name),
        shows="O-3 R5.5 R10 C-09 C-11",
    ),
    RoutingExample(
        "EX-03", DOC, f"{PAGE}, 1",
        "A message from another instance is delivered by msdb's AutoCreatedLocal if this instance "
        "has the service.",
        at=aw(ACL, here="Svc"),
        asks=from_outside(to="Svc"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="O-2 R2.3 R4.5 R5.2 R7.2b",
    ),
    RoutingExample(
        "EX-04", DOC, f"{PAGE}, 1-5",
        "A message from another instance is dropped if this instance does not have the service; no "
        "reply is sent.",
        at=aw(ACL),
        asks=from_outside(to="Svc"),
        expects=dropped("M5", 11210, by=ACL.name),
        shows="O-3 R5.5 U-43 C-10 C-11",
    ),
    RoutingExample(
        "EX-05", DOC, f"{PAGE}, 2",
        "A route that names the service takes the message to its network address.",
        at=aw(ACL, ORDER_PARTS),
        asks=sent_from("AW", to="OrderParts"),
        expects=sent("M2", by="OrderPartsRoute", to=HOST2),
        shows="O-4 R4.2 R5.3 R8.4",
    ),
    RoutingExample(
        "EX-06a", DOC, f"{PAGE}, 2",
        "The same route does not apply to other services: a service of this instance is reached "
        "locally.",
        at=aw(ACL, ORDER_PARTS, here="Other"),
        asks=sent_from("AW", to="Other"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="R4.2 R4.5",
    ),
    RoutingExample(
        "EX-06b", DOC, f"{PAGE}, 2",
        "The same route does not apply to other services: a conversation with a service "
        "elsewhere is delayed.",
        at=aw(ACL, ORDER_PARTS),
        asks=sent_from("AW", to="Other"),
        expects=delayed("M5", 9796, by=ACL.name),
        shows="R5.5 C-09",
    ),
    RoutingExample(
        "EX-07", DOC, f"{PAGE}, 3",
        "For a mirrored route, both partners are asked, although this route does not specify a "
        "broker id.",
        at=aw(ACL, MIRRORED),
        asks=sent_from("AW", to="OrderParts"),
        expects=probes("M2", by="OrderPartsRoute", to=f"{PARTNER1} {PARTNER2}"),
        shows="R5.1 R6 C-06",
    ),
    RoutingExample(
        "EX-11", DOC, f"{PAGE}, 4",
        "A catch-all network route is not used if this instance has the service, because LOCAL "
        "has precedence.",
        at=aw(ACL, EXTERNAL, here="Svc"),
        asks=sent_from("AW", to="Svc"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="R4.5 R5.2",
    ),
    RoutingExample(
        "EX-12", DOC, f"{PAGE}, 4",
        "A catch-all network route is used for messages to other services, because LOCAL is "
        "skipped.",
        at=aw(ACL, EXTERNAL),
        asks=sent_from("AW", to="Svc"),
        expects=sent("M5", by="ExternalRoute", to=HUB),
        shows="R4.5 R5.2 R5.3",
    ),
    RoutingExample(
        "EX-13a", DOC, f"{PAGE}, 5",
        "The dialog's hash selects one of two broker ids, here the first.",
        at=aw(*BALANCED),
        asks=sent_from("AW", to="BalancedService", dialog=TAKES_FIRST),
        expects=sent("M3", by="Balanced1", to=SERVER1, broker=G1),
        shows="R4.3 U-07 U-18 C-14",
    ),
    RoutingExample(
        "EX-13b", DOC, f"{PAGE}, 5",
        "Another dialog's hash selects the second, and that dialog always uses it.",
        at=aw(*BALANCED),
        asks=sent_from("AW", to="BalancedService", dialog=TAKES_SECOND),
        expects=sent("M3", by="Balanced2", to=SERVER2, broker=G2),
        shows="R4.3 U-07 U-18 C-14",
    ),
    RoutingExample(
        "EX-13c", DOC, f"{PAGE}, 5",
        "After the first acknowledgement the conversation has a broker id, and the hash is no "
        "longer used.",
        at=aw(*BALANCED),
        asks=sent_from("AW", to="BalancedService", broker=G1, dialog=TAKES_SECOND),
        expects=sent("M1", by="Balanced1", to=SERVER1, broker=G1),
        shows="R4.1",
    ),
    RoutingExample(
        "EX-14", DOC, f"{PAGE}, 5",
        "A dialog begun with a broker id goes to that broker, whatever its hash.",
        at=aw(*BALANCED),
        asks=sent_from("AW", to="BalancedService", broker=G2, dialog=TAKES_FIRST),
        expects=sent("M1", by="Balanced2", to=SERVER2, broker=G2),
        shows="R4.1",
    ),
    RoutingExample(
        "EX-16", DOC, f"{PAGE}, 5",
        "Balanced routes do not apply to another service, so AutoCreatedLocal decides.",
        at=aw(*BALANCED),
        asks=sent_from("AW", to="Other"),
        expects=delayed("M5", 9796, by=ACL.name),
        shows="R4.3 R5.5",
    ),
    RoutingExample(
        "EX-17", DOC, f"{PAGE}, 6",
        "A route of msdb does not apply to messages sent from a database, so the conversation is "
        "delayed.",
        at=aw(ACL, msdb=FORWARD_ONE),
        asks=sent_from("AW", to="ElsewhereService"),
        expects=delayed("M5", 9796, by=ACL.name),
        shows="R1.3 C-09",
    ),
    RoutingExample(
        "EX-18", DOC, f"{PAGE}, 6",
        "A forwarding route for a service has precedence over the copy of the service in this "
        "instance.",
        at=aw(ACL, here="ElsewhereService", msdb=FORWARD_ONE, on=True),
        asks=from_outside(to="ElsewhereService"),
        expects=forwarded("M2", by="ForwardingRoute", to=ELSEWHERE),
        shows="O-5 R2.3 R4.2 R8.3",
    ),
    RoutingExample(
        "EX-19", DOC, f"{PAGE}, 6",
        "With forwarding off, a message that matches a forwarding route is dropped, although "
        "this instance has a copy of the service.",
        at=aw(ACL, here="ElsewhereService", msdb=FORWARD_ONE),
        asks=from_outside(to="ElsewhereService"),
        expects=dropped("M2", 9792, by="ForwardingRoute"),
        shows="O-4 R8.2 C-12",
    ),
    RoutingExample(
        "EX-20a", DOC, f"{PAGE}, 6",
        "A message from another instance for another service is delivered if this instance has "
        "that service.",
        at=aw(ACL, here="Other", msdb=FORWARD_ONE, on=True),
        asks=from_outside(to="Other"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="R4.5 R5.2",
    ),
    RoutingExample(
        "EX-20b", DOC, f"{PAGE}, 6",
        "A message from another instance for another service is dropped if this instance does not "
        "have that service.",
        at=aw(ACL, msdb=FORWARD_ONE, on=True),
        asks=from_outside(to="Other"),
        expects=dropped("M5", 11210, by=ACL.name),
        shows="R5.5 C-10",
    ),
    RoutingExample(
        "EX-21", DOC, f"{PAGE}, 7",
        "Although all unknown services are forwarded, a service of this instance still receives "
        "its messages.",
        at=aw(ACL, here="Svc", msdb=FORWARD_ALL, on=True),
        asks=from_outside(to="Svc"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="R5.2",
    ),
    RoutingExample(
        "EX-22", DOC, f"{PAGE}, 7",
        "If all unknown services are forwarded, messages for a service elsewhere are forwarded.",
        at=aw(ACL, msdb=FORWARD_ALL, on=True),
        asks=from_outside(to="Svc"),
        expects=forwarded("M5", by="ForwardingRoute", to=HUB),
        shows="R5.3 R8.3",
    ),
    RoutingExample(
        "EX-22b", DRV, f"{PAGE}, 7",
        "With forwarding off, messages for a service elsewhere are dropped.",
        at=aw(ACL, msdb=FORWARD_ALL),
        asks=from_outside(to="Svc"),
        expects=dropped("M5", 9792, by="ForwardingRoute"),
        shows="R8.2 C-12",
    ),
)  # fmt: skip
