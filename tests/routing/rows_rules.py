"""Rules, choices and conflicts that the worked examples leave open."""

from __future__ import annotations

from collections.abc import Iterable

from streams.routing import CONFIGURATION_SERVICE, SYSTEM_SERVICE, Database, Instance, Route

from .build import (
    ACL,
    G1,
    TAKES_FIRST,
    answered,
    answered_in,
    asks_configuration,
    database,
    delayed,
    delivered,
    dropped,
    forwarded,
    from_outside,
    instance,
    probes,
    reply_from_outside,
    route,
    sent,
    sent_from,
)
from .rows import DOC, DRV, RoutingExample

ROUTING = "Service Broker Routing"
MATCHING = f"{ROUTING}, Finding Matching Routes"
CHOOSING = f"{ROUTING}, Choosing a Route"
LOCATING = f"{ROUTING}, Locating the Destination Service"
LOOPS = f"{ROUTING}, Routing Loops"
MIRRORS = f"{ROUTING}, Mirror Addresses"
ERRORS = "Database Engine events and errors"
ENDPOINT = "CREATE ENDPOINT"
NOT_SAID = "no source; Hopline's choice"
FIRE = "Fire and Forget: Good for the military, but not for Service Broker conversations"
RAINS = "When it rains, it pours"

S, S2 = "tcp://S:4022", "tcp://S2:4022"
P1, P2 = "tcp://P1:4022", "tcp://P2:4022"
MYSELF = "tcp://I1:4022"

NAMED = route("Named", "Svc", to=S)
FULL = route("Full", "Svc", "D", to=S2)
CATCH_ALL = route("CatchAll", to=S)
CONFIGURED = route("Configuration", CONFIGURATION_SERVICE, to="LOCAL")
MIRRORED = route("Mirrored", "Svc", "D", to=P1, mirror=P2, route_id=7)
OLDER_MIRRORED = route("Older", "Svc", "D", to=P2, mirror=P1, route_id=3)
TRANSPORT_ROUTE = route("Transport", to="TRANSPORT")
TO_MYSELF = route("Myself", "Svc", to=MYSELF)
NEAR = database("DB2", services=["Svc"])


def sender(
    *routes: Route,
    others: Iterable[Database] = (),
    msdb: Iterable[Route] = (ACL,),
    on: bool = False,
) -> Instance:
    """Build I1: AW with these routes, other databases, forwarding on or off."""
    return instance("I1", database("AW", *routes), *others, msdb=msdb, forwarding=on)


def hub(
    *msdb: Route, on: bool = True, started: bool = True, here: Iterable[Database] = ()
) -> Instance:
    """Build I1 as seen from another instance: these routes of msdb, forwarding on or off."""
    return instance("I1", *here, msdb=msdb, forwarding=on, started=started)


ROWS = (
    # --- Entry ---
    RoutingExample(
        "R2.1a", DRV, f"{ERRORS}: 9789",
        "With the broker of msdb off, no message from another instance can be classified, so the "
        "copy is dropped.",
        at=instance("I1", NEAR, msdb_enabled=False),
        asks=from_outside(to="Svc"),
        expects=dropped("", 9789),
        shows="R2.1 U-08",
    ),
    RoutingExample(
        "R2.1b", DRV, f"{ERRORS}: 9789",
        "Replies are also dropped, because the reply rule is checked later.",
        at=instance("I1", NEAR, msdb_enabled=False),
        asks=reply_from_outside(to="Svc", broker="DB2"),
        expects=dropped("", 9789, broker="DB2"),
        shows="R2.1 U-08",
    ),
    RoutingExample(
        "R2.1c", DRV, ROUTING,
        "Messages sent from this instance do not depend on msdb.",
        at=instance("I1", database("AW", ACL), NEAR, msdb_enabled=False),
        asks=sent_from("AW", to="Svc"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="R1.3",
    ),
    RoutingExample(
        "R2.2a", DRV, f"{ERRORS}: 28016, 28013",
        "A reply to a database of this instance whose broker is off is undeliverable; no route is "
        "consulted.",
        at=hub(ACL, here=[database("DB2", services=["Svc"], enabled=False)]),
        asks=reply_from_outside(to="Svc", broker="DB2"),
        expects=dropped("REPLY", 28016, broker="DB2"),
        shows="R2.2",
    ),
    RoutingExample(
        "R2.2b", DOC, f"{ROUTING}, Reply Messages From a Target Service",
        "A message from the initiator's side is not a reply, so the routes decide, whatever "
        "broker id the message carries.",
        at=hub(FULL, here=[database("D", services=["Svc"])]),
        asks=from_outside(to="Svc", broker="D"),
        expects=forwarded("M1", by="Full", to=S2, broker="D"),
        shows="R2.2 R2.3",
    ),
    RoutingExample(
        "R2.2c", DRV, f"{ERRORS}: 28018",
        "A reply to a database of this instance that is the mirror of its pair is undeliverable.",
        at=hub(ACL, here=[database("DB2", services=["Svc"], is_mirror=True)]),
        asks=reply_from_outside(to="Svc", broker="DB2"),
        expects=dropped("REPLY", 28018, broker="DB2"),
        shows="R2.2 R7.3",
    ),
    RoutingExample(
        "R2.3", DOC, ROUTING,
        "A route of a database does not apply to messages from another instance.",
        at=sender(NAMED, on=True),
        asks=from_outside(to="Svc"),
        expects=dropped("M5", 11210, by=ACL.name),
        shows="R2.3",
    ),
    # --- Match ---
    RoutingExample(
        "R4.1a", DOC, f"{MATCHING}, 1",
        "With a broker id, a route that names both has precedence over one that names only the "
        "service.",
        at=sender(NAMED, FULL, ACL),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=sent("M1", by="Full", to=S2, broker="D"),
        shows="R4.1",
    ),
    RoutingExample(
        "R4.1b", DRV, f"{MATCHING}, 1-3",
        "With a broker id, a route that names another broker id never matches.",
        at=sender(FULL),
        asks=sent_from("AW", to="Svc", broker="E"),
        expects=delayed("M7", 9750, broker="E"),
        shows="R4.1 R4.3 R4.7",
    ),
    RoutingExample(
        "R4.3", DOC, f"{MATCHING}, 3",
        "If there is a single broker id, all dialogs use it, and the message carries it.",
        at=sender(FULL, ACL),
        asks=sent_from("AW", to="Svc"),
        expects=sent("M3", by="Full", to=S2, broker="D"),
        shows="R4.3 U-07",
    ),
    RoutingExample(
        "R4.3b", DOC, f"{MATCHING}, 3-4",
        "A route with a broker id is found before the configuration service is asked.",
        at=sender(CONFIGURED, FULL),
        asks=sent_from("AW", to="Svc"),
        expects=sent("M3", by="Full", to=S2, broker="D"),
        shows="R4.3 R4.4",
    ),
    RoutingExample(
        "R4.4a", DRV, "Routing Service Broker conversations, part 2",
        "If there is a configuration service, catch-all routes are never used.",
        at=sender(CONFIGURED, ACL, others=[NEAR]),
        asks=sent_from("AW", to="Svc"),
        expects=asks_configuration("M4", by="Configuration"),
        shows="R4.4 U-09 C-07",
    ),
    RoutingExample(
        "R4.4b", DRV, f"{MATCHING}, 4",
        "The configuration service itself is found by its own route, without asking.",
        at=sender(CONFIGURED, others=[database("DB2", services=[CONFIGURATION_SERVICE])]),
        asks=sent_from("AW", to=CONFIGURATION_SERVICE),
        expects=delivered("M2", by="Configuration", to="DB2"),
        shows="R4.4",
    ),
    RoutingExample(
        "R4.4c", DRV, f"{MATCHING}, 4",
        "For a message from another instance, msdb's route to the configuration service is used to "
        "ask that service.",
        at=hub(CONFIGURED, ACL),
        asks=from_outside(to="Svc"),
        expects=asks_configuration("M4", by="Configuration"),
        shows="R4.4 U-43",
    ),
    RoutingExample(
        "R4.4d", DRV, f"{MATCHING}, 4",
        "The message that ends a route request is for the system service. The configuration "
        "service is not asked for its route, because the request would wait for itself.",
        at=sender(CONFIGURED, ACL, others=[database("DB2", services=[SYSTEM_SERVICE])]),
        asks=sent_from("AW", to=SYSTEM_SERVICE),
        expects=delivered("M5", by="AutoCreatedLocal", to="DB2"),
        shows="R4.4",
    ),
    RoutingExample(
        "R4.5", DOC, f"{MATCHING}, 5-6",
        "A catch-all route matches before the broker ids of local databases are considered.",
        at=hub(CATCH_ALL, here=[NEAR]),
        asks=from_outside(to="Svc", broker="DB2"),
        expects=forwarded("M5", by="CatchAll", to=S, broker="DB2"),
        shows="R4.5 R4.6",
    ),
    RoutingExample(
        "R4.6a", DOC, f"{MATCHING}, 6",
        "Without a broker id, an empty table matches nothing, not even a local service.",
        at=sender(others=[NEAR]),
        asks=sent_from("AW", to="Svc"),
        expects=delayed("M7", 9750),
        shows="R4.6 R4.7",
    ),
    RoutingExample(
        "R4.6b", DRV, f"{MATCHING}, 6",
        "The instance has the service name with another broker id, so the implied LOCAL route "
        "leads nowhere.",
        at=sender(others=[NEAR]),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=delayed("M6", 9795, broker="D"),
        shows="R4.6 U-12",
    ),
    RoutingExample(
        "R4.7", DOC, f"{MATCHING}, 7",
        "If there is no route at all, a copy from another instance is dropped, and the sender "
        "retries.",
        at=hub(),
        asks=from_outside(to="Svc"),
        expects=dropped("M7", 9750),
        shows="O-1 R4.7 U-43",
    ),
    RoutingExample(
        "R4.8", DRV, f"{ERRORS}: 9662",
        "A route with a broker id and no service name, which DDL refuses, matches nothing.",
        at=sender(route("R", None, "D", to=S)),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=delayed("M7", 9750, broker="D"),
        shows="R4.8",
    ),
    # --- Choose ---
    RoutingExample(
        "R5.1a", DOC, CHOOSING,
        "A mirrored route has precedence over LOCAL and network routes that also match.",
        at=sender(
            route("Local", "Svc", "D", to="LOCAL"),
            FULL,
            MIRRORED,
            others=[database("D", services=["Svc"])],
        ),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=probes("M1", by="Mirrored", to=f"{P1} {P2}", broker="D"),
        shows="R5.1 R6",
    ),
    RoutingExample(
        "R5.1b", DRV, NOT_SAID,
        "Of several mirrored routes, the one created first is used.",
        at=sender(MIRRORED, OLDER_MIRRORED),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=probes("M1", by="Older", to=f"{P2} {P1}", broker="D"),
        shows="U-11",
    ),
    RoutingExample(
        "R5.1c", DOC, MIRRORS,
        "A mirror address gives no advantage in matching, so an exact route matches first.",
        at=sender(FULL, route("Mirrored", "Svc", to=P1, mirror=P2)),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=sent("M1", by="Full", to=S2, broker="D"),
        shows="R5.1",
    ),
    RoutingExample(
        "R5.1d", DOC, CHOOSING,
        "A mirrored route is not LOCAL, so with forwarding off, a message from another instance is "
        "dropped.",
        at=hub(MIRRORED, on=False),
        asks=from_outside(to="Svc", broker="D"),
        expects=dropped("M1", 9792, by="Mirrored", broker="D"),
        shows="R8.2 R6",
    ),
    RoutingExample(
        "R5.1e", DRV, MIRRORS,
        "With forwarding on, a forwarder asks both partners.",
        at=hub(MIRRORED),
        asks=from_outside(to="Svc", broker="D"),
        expects=probes("M1", by="Mirrored", to=f"{P1} {P2}", broker="D"),
        shows="R6",
    ),
    RoutingExample(
        "R5.2a", DRV, NOT_SAID,
        "A service is identified by its name and broker id together, so LOCAL is skipped if only "
        "the name is in this instance.",
        at=sender(ACL, CATCH_ALL, others=[NEAR]),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=sent("M5", by="CatchAll", to=S, broker="D"),
        shows="U-44",
    ),
    RoutingExample(
        "R5.2b", DRV, CHOOSING,
        "With strict_local_tier, as in the text of the documentation, the name alone keeps LOCAL.",
        at=sender(ACL, CATCH_ALL, others=[NEAR]),
        asks=sent_from("AW", to="Svc", broker="D"),
        strict_local_tier=True,
        expects=delayed("M5", 9795, by=ACL.name, broker="D"),
        shows="R7.1 U-12 U-44",
    ),
    RoutingExample(
        "R5.2c", DRV, CHOOSING,
        "With strict_local_tier, the copy of a message from another instance is also dropped.",
        at=hub(ACL, CATCH_ALL, here=[NEAR]),
        asks=from_outside(to="Svc", broker="D"),
        strict_local_tier=True,
        expects=dropped("M5", 28017, by=ACL.name, broker="D"),
        shows="R7.1 U-12 U-44",
    ),
    RoutingExample(
        "R5.2d", DRV, NOT_SAID,
        "LOCAL is also skipped if delivery is off in the database with the broker id.",
        at=sender(
            ACL, CATCH_ALL, others=[NEAR, database("D", services=["Svc"], enabled=False)]
        ),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=sent("M5", by="CatchAll", to=S, broker="D"),
        shows="U-44",
    ),
    RoutingExample(
        "R5.2e", DRV, f"{ERRORS}: 28018",
        "A copy that arrives after its database has become the mirror is dropped for that reason.",
        at=hub(ACL, here=[database("D", services=["Svc"], is_mirror=True)]),
        asks=from_outside(to="Svc", broker="D"),
        expects=dropped("M5", 28018, by=ACL.name, broker="D"),
        shows="R5.5 R7.3",
    ),
    RoutingExample(
        "R5.2f", DRV, f"{ERRORS}: 28018",
        "With strict_local_tier, a copy for a mirror is dropped with 28018 even if another local "
        "database has the service.",
        at=hub(ACL, here=[NEAR, database("D", services=["Svc"], is_mirror=True)]),
        asks=from_outside(to="Svc", broker="D"),
        strict_local_tier=True,
        expects=dropped("M5", 28018, by=ACL.name, broker="D"),
        shows="R7.1 U-12 R7.3",
    ),
    RoutingExample(
        "R5.3", DRV, CHOOSING,
        "Two spellings of one address are one next hop: the default port is 4022, and host names "
        "are not case-sensitive.",
        at=sender(
            route("Short", "Svc", to="tcp://s"),
            route("Long", "Svc", to="TCP://S:4022/"),
            route("Other", "Svc", to=S2),
        ),
        asks=sent_from("AW", to="Svc"),
        expects=sent("M2", by="Short Other", to=f"tcp://s {S2}"),
        shows="R5.0 U-03 C-03",
    ),
    RoutingExample(
        "R5.4a", DRV, f"{ERRORS}: 11294",
        "With TRANSPORT and a service name without an address, a copy from another instance is "
        "dropped.",
        at=hub(TRANSPORT_ROUTE),
        asks=from_outside(to="Pay"),
        expects=dropped("M5", 11294, by="Transport"),
        shows="R5.4 U-10",
    ),
    RoutingExample(
        "R5.4b", DRV, "Recommended for gateways: Using multiple routes in Service Broker",
        "A gateway with one TRANSPORT route forwards to the address in the service name.",
        at=hub(TRANSPORT_ROUTE),
        asks=from_outside(to="TCP://host9/Pay"),
        expects=forwarded("M5", by="Transport", to="TCP://host9"),
        shows="R5.4 U-03 U-04 C-03",
    ),
    RoutingExample(
        "R5.4c", DRV, "CREATE ROUTE (forbids it) and ALTER ROUTE (allows it)",
        "A TRANSPORT route that names a service, which DDL refuses, is used as is.",
        at=sender(route("Transport", "tcp://host9:4099/Pay", to="transport"), ACL),
        asks=sent_from("AW", to="tcp://host9:4099/Pay"),
        expects=sent("M2", by="Transport", to="tcp://host9:4099"),
        shows="U-04 C-05",
    ),
    RoutingExample(
        "R5.5", DRV, NOT_SAID,
        "If delivery is off in the database with the broker id, the instance is treated as not "
        "having this broker id.",
        at=sender(
            route("Local", "Svc", "D", to="LOCAL"),
            others=[database("D", services=["Svc"], enabled=False), NEAR],
        ),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=delayed("M1", 9795, by="Local", broker="D"),
        shows="U-12",
    ),
    # --- Locate ---
    RoutingExample(
        "R7.4a", DOC, f"{LOCATING}; {FIRE}; {RAINS}",
        "If the database whose broker id the conversation names does not have the service, it "
        "answers with Error -8490.",
        at=sender(ACL, others=[database("D"), NEAR]),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=answered("M5", "D", by=ACL.name, inside=True),
        shows="R7.4",
    ),
    RoutingExample(
        "R7.4b", DOC, f"{LOCATING}; {FIRE}; {RAINS}",
        "So it does for a message from another instance.",
        at=hub(ACL, here=[database("D")]),
        asks=from_outside(to="Svc", broker="D"),
        expects=answered("M5", "D", by=ACL.name),
        shows="R7.4",
    ),
    RoutingExample(
        "R7.4c", DOC, FIRE,
        "Without a broker id in BEGIN DIALOG there is no Error: the message waits.",
        at=sender(route("Local", "Svc", "D", to="LOCAL"), others=[database("D")]),
        asks=sent_from("AW", to="Svc"),
        expects=delayed("M3", 9796, by="Local", broker="D"),
        shows="R7.4",
    ),
    RoutingExample(
        "R7.4d", DRV, CHOOSING,
        "Other routes that match are used first.",
        at=sender(ACL, TRANSPORT_ROUTE, others=[database("D")]),
        asks=sent_from("AW", to="tcp://host9/Pay", broker="D"),
        expects=sent("M5", by="Transport", to="tcp://host9", broker="D"),
        shows="R7.4",
    ),
    RoutingExample(
        "R7.4e", DRV, CHOOSING,
        "With strict_local_tier, the database with the broker id answers, too.",
        at=sender(ACL, CATCH_ALL, others=[database("D"), NEAR]),
        asks=sent_from("AW", to="Svc", broker="D"),
        strict_local_tier=True,
        expects=answered("M5", "D", by=ACL.name, inside=True),
        shows="R7.4 U-44",
    ),
    RoutingExample(
        "R7.4f", DRV, NOT_SAID,
        "With delivery off, the database answers nothing.",
        at=hub(ACL, here=[database("D", enabled=False)]),
        asks=from_outside(to="Svc", broker="D"),
        expects=dropped("M5", 11210, by=ACL.name, broker="D"),
        shows="R7.4",
    ),
    RoutingExample(
        "R7.4g", DRV, NOT_SAID,
        "Only a message of the initiator is answered.",
        at=sender(ACL, others=[database("D")]),
        asks=answered_in("AW", to="Svc", broker="D"),
        expects=delayed("M5", 9796, by=ACL.name, broker="D"),
        shows="R7.4",
    ),
    RoutingExample(
        "R7.4h", DOC, f"{MATCHING}, 7",
        "Without any route there is no Error, even if a database here has the broker id.",
        at=hub(here=[database("D")]),
        asks=from_outside(to="Svc", broker="D"),
        expects=dropped("M7", 9750, broker="D"),
        shows="R7.4 C-11",
    ),
    RoutingExample(
        "R7.1a", DOC, LOCATING,
        "The broker id of the chosen route selects the database, like the conversation's own "
        "broker id.",
        at=sender(
            route("Local", "Svc", "D", to="LOCAL"),
            others=[NEAR, database("D", services=["Svc"])],
        ),
        asks=sent_from("AW", to="Svc", dialog=TAKES_FIRST),
        expects=delivered("M3", by="Local", to="D", broker="D"),
        shows="R7.1 U-07",
    ),
    RoutingExample(
        "R7.1b", DOC, LOCATING,
        "With a broker id, the message skips a service of that name in the conversation's own "
        "database.",
        at=instance("I1", database("AW", ACL, services=["Svc"]), NEAR),
        asks=sent_from("AW", to="Svc", broker="DB2"),
        expects=delivered("M5", by=ACL.name, to="DB2", broker="DB2"),
        shows="R7.1",
    ),
    RoutingExample(
        "R7.1c", DOC, "Managing Service Broker Identities",
        "Of two databases with one broker id, only one is active, and that database is used.",
        at=hub(
            ACL,
            here=[
                database("Attached", services=["Svc"], broker="D", enabled=False),
                database("Original", services=["Svc"], broker="D"),
            ],
        ),
        asks=from_outside(to="Svc", broker="D"),
        expects=delivered("M5", by=ACL.name, to="Original", broker="D"),
        shows="R7.1",
    ),
    RoutingExample(
        "R7.2a", DOC, LOCATING,
        "Without a broker id, the conversation's own database is searched first.",
        at=instance("I1", database("AW", ACL, services=["Svc"]), NEAR),
        asks=sent_from("AW", to="Svc"),
        expects=delivered("M5", by=ACL.name, to="AW"),
        shows="R7.2a",
    ),
    # --- Send ---
    RoutingExample(
        "R8.1a", DRV, NOT_SAID,
        "Another port of this host is another instance.",
        at=sender(route("R", "Svc", to="tcp://i1:4023"), others=[NEAR]),
        asks=sent_from("AW", to="Svc"),
        expects=sent("M2", by="R", to="tcp://i1:4023"),
        shows="R8.1 U-45",
    ),
    RoutingExample(
        "R8.1b", DRV, NOT_SAID,
        "If one of several addresses is this instance, all are passed to the transport unchanged.",
        at=sender(TO_MYSELF, NAMED, others=[NEAR]),
        asks=sent_from("AW", to="Svc"),
        expects=sent("M2", by="Myself Named", to=f"{MYSELF} {S}"),
        shows="R8.5",
    ),
    RoutingExample(
        "R9a", DOC, LOOPS,
        "A looped-back message is forwarded by msdb if forwarding is on.",
        at=sender(TO_MYSELF, msdb=(NAMED,), on=True),
        asks=sent_from("AW", to="Svc"),
        expects=forwarded("M2", by="Named", to=S),
        shows="R9",
    ),
    RoutingExample(
        "R9b", DOC, LOOPS,
        "A looped-back message needs forwarding: with forwarding off, msdb's network route "
        "cannot be used.",
        at=sender(TO_MYSELF, msdb=(NAMED,)),
        asks=sent_from("AW", to="Svc"),
        expects=dropped("M2", 9792, by="Named"),
        shows="R8.2 R9",
    ),
    RoutingExample(
        "R9c", DRV, NOT_SAID,
        "An msdb route to its own instance is a forward like any other, and the hop count ends "
        "the loop.",
        at=hub(TO_MYSELF),
        asks=from_outside(to="Svc"),
        expects=forwarded("M2", by="Myself", to=MYSELF),
        shows="O-6 U-46",
    ),
    RoutingExample(
        "R9d", DRV, NOT_SAID,
        "A forward to the instance itself needs forwarding to be on.",
        at=hub(TO_MYSELF, on=False),
        asks=from_outside(to="Svc"),
        expects=dropped("M2", 9792, by="Myself"),
        shows="O-6 U-46",
    ),
    RoutingExample(
        "R9e", DRV, LOOPS,
        "The looped-back message carries the broker id that the hash selected.",
        at=sender(
            route("Myself", "Svc", "D", to=MYSELF),
            others=[NEAR, database("D", services=["Svc"])],
        ),
        asks=sent_from("AW", to="Svc", dialog=TAKES_FIRST),
        expects=delivered("M5", by=ACL.name, to="D", broker="D"),
        shows="R9 U-07",
    ),
    RoutingExample(
        "O-5", DOC, CHOOSING,
        "Forwarding does not matter for messages sent from this instance: they are sent with "
        "forwarding on or off.",
        at=sender(NAMED, on=True),
        asks=sent_from("AW", to="Svc"),
        expects=sent("M2", by="Named", to=S),
        shows="O-5 R8.4",
    ),
    RoutingExample(
        "STOPPED-a", DRV, f"{ENDPOINT}; {ERRORS}: 9666",
        "Without a started endpoint, no message leaves, because the transport is not available.",
        at=instance("I1", database("AW", NAMED), started=False),
        asks=sent_from("AW", to="Svc"),
        expects=delayed("M2", 9666, by="Named"),
        shows="R8.6",
    ),
    RoutingExample(
        "STOPPED-b", DRV, f"{ENDPOINT}; {ERRORS}: 11293",
        "A message to be forwarded while the transport is stopped is dropped.",
        at=hub(NAMED, started=False),
        asks=from_outside(to="Svc"),
        expects=dropped("M2", 11293, by="Named"),
        shows="R8.6",
    ),
    RoutingExample(
        "STOPPED-c", DRV, NOT_SAID,
        "The forwarding option is checked before the state of the endpoint.",
        at=hub(NAMED, on=False, started=False),
        asks=from_outside(to="Svc"),
        expects=dropped("M2", 9792, by="Named"),
        shows="R8.2 R8.6",
    ),
    RoutingExample(
        "STOPPED-d", DRV, NOT_SAID,
        "Without an endpoint, the partners of a mirrored route cannot be asked.",
        at=instance("I1", database("AW", MIRRORED), started=False),
        asks=sent_from("AW", to="Svc", broker="D"),
        expects=delayed("M1", 9666, by="Mirrored", broker="D"),
        shows="R8.6",
    ),
    RoutingExample(
        "STOPPED-e", DRV, NOT_SAID,
        "A message within the instance needs no endpoint, not even by way of the instance's own "
        "address.",
        at=instance("I1", database("AW", TO_MYSELF), NEAR, started=False),
        asks=sent_from("AW", to="Svc"),
        expects=delivered("M5", by=ACL.name, to="DB2"),
        shows="R8.1 R8.6",
    ),
    RoutingExample(
        "STOPPED-f", DRV, NOT_SAID,
        "A second loop through the instance's own address is a forward, which needs the endpoint.",
        at=instance(
            "I1", database("AW", TO_MYSELF), msdb=(TO_MYSELF,), forwarding=True, started=False
        ),
        asks=sent_from("AW", to="Svc"),
        expects=dropped("M2", 11293, by="Myself"),
        shows="R8.6 U-46",
    ),
    # --- Names ---
    RoutingExample(
        "U-02a", DRV, NOT_SAID,
        "Broker ids that are GUIDs are equal in any spelling.",
        at=sender(route("R", "Svc", G1.upper(), to=S)),
        asks=sent_from("AW", to="Svc", broker="{" + G1 + "}"),
        expects=sent("M1", by="R", to=S, broker="{" + G1 + "}"),
        shows="U-02",
    ),
    RoutingExample(
        "U-02b", DRV, NOT_SAID,
        "Broker ids that are not GUIDs are compared as text.",
        at=sender(FULL),
        asks=sent_from("AW", to="Svc", broker="d"),
        expects=delayed("M7", 9750, broker="d"),
        shows="U-02",
    ),
    RoutingExample(
        "U-02c", DRV, NOT_SAID,
        "One GUID in two spellings is one broker id, so the hash has no choice.",
        at=sender(route("R1", "Svc", G1, to=S), route("R2", "Svc", G1.upper(), to=S2)),
        asks=sent_from("AW", to="Svc", dialog=TAKES_FIRST),
        expects=sent("M3", by="R1 R2", to=f"{S} {S2}", broker=G1),
        shows="U-02 U-18",
    ),
    RoutingExample(
        "U-04", DRV, NOT_SAID,
        "LOCAL is a keyword in any case.",
        at=sender(route("R", "Svc", to="Local"), others=[NEAR]),
        asks=sent_from("AW", to="Svc"),
        expects=delivered("M2", by="R", to="DB2"),
        shows="U-04",
    ),
)  # fmt: skip
