"""What the routing decision is built from: every rule in words, its verdict, and its sources.

``R`` are the rules in the order in which a message meets them, ``O`` the outcomes that they add up
to, ``U`` points that no source settles, ``C`` points where two sources disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

DOCUMENTED = "as documented"
OURS = "our choice"
NOT_EMULATED = "not emulated"


@dataclass(frozen=True, slots=True)
class Ruling:
    """One line of the conformance page. Where sources disagree, ``verdict`` says what was taken."""

    id: str
    words: str
    verdict: str
    sources: str = ""


SBR = "Service Broker Routing"
MULTIPLE = "Using multiple routes in Service Broker"
ERRORS = "Database Engine events and errors"

RULINGS = (
    Ruling("R0", "Service names are compared byte by byte: case counts, collations do not.",
           DOCUMENTED, "CREATE ROUTE; Naming Service Broker Objects"),
    Ruling("R1.1", "If delivery is off in the sending database, its messages wait (9791).",
           DOCUMENTED, "Managing Service Broker Identities"),
    Ruling("R1.2", "While an instance's broker manager starts, stops or waits for mirroring, its "
           "messages wait (9780, 9781, 9771, 9794).", NOT_EMULATED, ERRORS),
    Ruling("R1.3", "A message sent from this instance is routed only by the routes of the "
           "database that holds the conversation.", DOCUMENTED, SBR),
    Ruling("R2.1", "If the broker of msdb is off, arriving messages cannot be classified (9789).",
           DOCUMENTED, ERRORS),
    Ruling("R2.2", "A message from a target to a broker id of this instance is delivered there "
           "without consulting a route.", DOCUMENTED, SBR),
    Ruling("R2.3", "Every other message from outside is routed only by msdb's routes.",
           DOCUMENTED, SBR),
    Ruling("R3.1", "Expired routes are ignored.", DOCUMENTED, f"{SBR}; CREATE ROUTE"),
    Ruling("R4.1", "Match, step 1: with a broker id, the routes that name the service and that id.",
           DOCUMENTED, SBR),
    Ruling("R4.2", "Match, step 2: the routes that name the service and no broker id.",
           DOCUMENTED, SBR),
    Ruling("R4.3", "Match, step 3: without a broker id, one of the ids that routes for the "
           "service name is selected, and only the routes with that id match.", DOCUMENTED, SBR),
    Ruling("R4.4", "Match, step 4: if there is a route to the configuration service, that service "
           "is asked for a route and the conversation waits (9770).",
           DOCUMENTED, f"{SBR}; Service Broker Dynamic Routing"),
    Ruling("R4.5", "Match, step 5: the routes that name neither service nor broker id, such as "
           "AutoCreatedLocal.", DOCUMENTED, SBR),
    Ruling("R4.6", "Match, step 6: with a broker id, and the service in an active database of "
           "this instance, as if there were a LOCAL route.", DOCUMENTED, SBR),
    Ruling("R4.7", "Match, step 7: nothing matches (9750).", DOCUMENTED, SBR),
    Ruling("R4.8", "A route with a broker id and without a service name, which CREATE ROUTE "
           "refuses (9662), matches nothing.", OURS),
    Ruling("R5.0", "Routes with equal service, broker id and address count as one.",
           DOCUMENTED, SBR),
    Ruling("R5.1", "Choose, tier 1: a mirrored route.", DOCUMENTED, SBR),
    Ruling("R5.2", "Choose, tier 2: LOCAL, if this instance has the service.", DOCUMENTED, SBR),
    Ruling("R5.3", "Choose, tier 3: network addresses.", DOCUMENTED, SBR),
    Ruling("R5.4", "Choose, tier 4: TRANSPORT, with the address at the beginning of the service "
           "name.", DOCUMENTED, f"{SBR}; CREATE ROUTE"),
    Ruling("R5.5", "Only LOCAL routes match, and this instance does not have the service: delayed "
           "(9796) or dropped (11210).", DOCUMENTED, "Service Broker Routing Examples"),
    Ruling("R6", "For a mirrored route, both partners are asked which partner is the principal.",
           DOCUMENTED, SBR),
    Ruling("R7.1", "LOCAL with a broker id, from the conversation or the route: the database with "
           "that id.", DOCUMENTED, SBR),
    Ruling("R7.2a", "LOCAL without a broker id: first the database that contains the conversation.",
           DOCUMENTED, SBR),
    Ruling("R7.2b", "LOCAL without a broker id: then the other databases with delivery on, in an "
           "unspecified order.", DOCUMENTED, f"{SBR}; Managing Service Broker Identities"),
    Ruling("R7.3", "A message from outside for a database that is the mirror of its pair here is "
           "dropped with that reason (28018).", DOCUMENTED, ERRORS),
    Ruling("R8.1", "A network address of this instance itself loops back.", DOCUMENTED, SBR),
    Ruling("R8.2", "A message from outside is dropped unless forwarding is on or the chosen route "
           "is LOCAL (9792).", DOCUMENTED, f"{SBR}; CREATE ENDPOINT"),
    Ruling("R8.3", "With forwarding on, a message from outside is forwarded.",
           DOCUMENTED, "Service Broker Message Forwarding"),
    Ruling("R8.4", "A message sent from this instance leaves whether forwarding is on or off; the "
           "sender keeps it until it is acknowledged.", DOCUMENTED, SBR),
    Ruling("R8.5", "Several addresses, some of which are this instance: all are passed to the "
           "transport.",
           OURS),
    Ruling("R8.6", "Without a started endpoint no message leaves: delayed (9748), or dropped if "
           "it was to be forwarded (11293). Checked after R8.1 and R8.2.",
           f"{DOCUMENTED}; the order is our choice", f"CREATE ENDPOINT; {ERRORS}"),
    Ruling("R9", "A looped-back message is routed like a message from outside: by msdb, and only "
           "with forwarding on if the result is another address.", DOCUMENTED, SBR),
    Ruling("R10", "A conversation that cannot be routed is delayed with a status and retried; "
           "this is not an error.", DOCUMENTED, SBR),
    Ruling("O-1", "No route at all: delayed if sent from this instance, dropped if from outside.",
           DOCUMENTED, SBR),
    Ruling("O-2", "LOCAL and the service is in this instance: delivered, whatever the origin.",
           DOCUMENTED, SBR),
    Ruling("O-3", "Only LOCAL and the service is not in this instance: delayed if sent from this "
           "instance, otherwise dropped.", DOCUMENTED, "Service Broker Routing Examples"),
    Ruling("O-4", "Network address, forwarding off: sent if from this instance, otherwise dropped.",
           DOCUMENTED, SBR),
    Ruling("O-5", "Network address, forwarding on: sent if from this instance, otherwise "
           "forwarded.",
           DOCUMENTED, SBR),
    Ruling("O-6", "The address of this instance itself: loops back if sent from this instance, "
           "otherwise forwarded to itself.", f"{DOCUMENTED}; the second half is our choice", SBR),
    Ruling("U-02", "Two broker ids are compared as GUIDs if both are GUIDs, otherwise as text.",
           OURS),
    Ruling("U-03", "An address without a port means port 4022.", OURS),
    Ruling("U-04", "LOCAL, TRANSPORT and tcp are keywords in any case.", OURS),
    Ruling("U-07", "A message carries the conversation's broker id, else the chosen route's, else "
           "none.", OURS),
    Ruling("U-08", "A message that cannot be classified because msdb's broker is off: the copy is "
           "dropped, the sender retries.", OURS),
    Ruling("U-09", "While the configuration service is being asked, the conversation stays "
           "delayed.",
           OURS),
    Ruling("U-10", "TRANSPORT and a service name without an address: delayed (9785) or dropped "
           "(11294).", OURS),
    Ruling("U-11", "Of several mirrored routes, the route with the lowest route id is used.", OURS),
    Ruling("U-12", "LOCAL, but the broker id is not in this instance: delayed (9795) or dropped "
           "(28017).", OURS),
    Ruling("U-13", "Several databases with the service: all are candidates, searched in the order "
           "of a hash of conversation id and name.", OURS),
    Ruling("U-18", "A dialog's broker id is selected by the BLAKE2b hash of its conversation id "
           "modulo the number of distinct ids. GUIDs are ordered by their bytes, others after "
           "them.", OURS),
    Ruling("U-43", "A message from outside whose result would be a delay: the copy is dropped, "
           "the sender retries.", OURS),
    Ruling("U-44", "LOCAL, and this instance has the service name but with another broker id: the "
           "next tier is used. The switch strict_local_tier keeps LOCAL.", OURS),
    Ruling("U-45", "An address refers to this instance if its host is one of the instance's names "
           "and its port is the endpoint's.", OURS),
    Ruling("U-46", "An msdb route to the address of its own instance counts as a forward.", OURS),
    Ruling("C-03", "Is the port of an address mandatory?", "optional",
           "CREATE ROUTE: grammar (yes), example D (no)"),
    Ruling("C-04", "Do expired routes count for open conversations?", "no",
           f"CREATE ROUTE (new conversations only) and {SBR} (never)"),
    Ruling("C-05", "May a TRANSPORT route name a service?", "DDL forbids it, routing accepts it",
           "ALTER ROUTE (yes) and CREATE ROUTE (no, 9745)"),
    Ruling("C-06", "May a mirrored route lack a broker id?", "DDL forbids it, routing accepts it",
           "Service Broker Routing Examples, 3 (yes) and CREATE ROUTE (no, 9661)"),
    Ruling("C-07", "Are catch-all routes used while the configuration service is being asked?",
           "never",
           f"{SBR} (read literally, yes) and Routing Service Broker conversations, part 2 (never)"),
    Ruling("C-08", "Is one route chosen, or are all matching routes passed to the transport?",
           "one tier is chosen; all of its addresses go to the transport",
           f"{SBR} (one) and {MULTIPLE} (all)"),
    Ruling("C-09", "A message sent from this instance has a LOCAL route but no service: dropped "
           "or delayed?",
           "delayed", "Service Broker Routing Examples, 1 (dropped) and 2-7 (delayed)"),
    Ruling("C-10", "A message from outside is for a service that this instance does not have: "
           "delayed or dropped?",
           "dropped", "Service Broker Routing Examples, 6: introduction (delayed), text (dropped)"),
    Ruling("C-11", "Does a routing failure create an Error message?", "no",
           f"Broker:Conversation event class (yes) and {SBR} (no)"),
    Ruling("C-12", "With forwarding off, is a message from outside dropped or delayed?",
           "dropped, with the number 9792",
           f"{SBR} and CREATE ENDPOINT (dropped), Broker:Message Classify event class (delayed)"),
    Ruling("C-14", "How is one of several broker ids selected?", "by the dialog id's hash",
           "App Partitioning: Data Dependent Routing and Forwarding (round-robin), "
           f"Managing Service Broker Identities (alternately), {SBR} (arbitrarily), "
           f"{MULTIPLE} (hash)"),
    Ruling("C-25", "Does a reply need a LOCAL route in the initiator's msdb?", "no",
           f"{MULTIPLE} (yes) and {SBR} (no)"),
)  # fmt: skip
