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
FIRE = "Fire and Forget: Good for the military, but not for Service Broker conversations"
RAINS = "When it rains, it pours"

RULINGS = (
    Ruling("R0", "Service names are compared byte by byte: case matters, and collations do not "
           "apply.", DOCUMENTED, "CREATE ROUTE; Naming Service Broker Objects"),
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
    Ruling("R2.3", "Every other message from another instance is routed only by msdb's routes.",
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
    Ruling("R5.5", "If only LOCAL routes match and this instance does not have the service, the "
           "message is delayed (9796) or dropped (11210).",
           DOCUMENTED, "Service Broker Routing Examples"),
    Ruling("R6", "For a mirrored route, both partners are asked which partner is the principal.",
           DOCUMENTED, SBR),
    Ruling("R7.1", "LOCAL with a broker id, from the conversation or the route, selects the "
           "database with that id.", DOCUMENTED, SBR),
    Ruling("R7.2a", "LOCAL without a broker id first selects the database that contains the "
           "conversation.", DOCUMENTED, SBR),
    Ruling("R7.2b", "LOCAL without a broker id then selects among the other databases with "
           "delivery on, in an unspecified order.",
           DOCUMENTED, f"{SBR}; Managing Service Broker Identities"),
    Ruling("R7.3", "A message from another instance for a database that is the mirror of its pair "
           "in this instance is dropped for that reason (28018).", DOCUMENTED, ERRORS),
    Ruling("R7.4", "If the conversation names the broker id of an active database of this "
           "instance, only LOCAL routes match, and the database does not have the service, then "
           "it answers the initiator's message with Error -8490. A broker id that only a "
           "route names is not enough.",
           f"{DOCUMENTED}; the order is our choice", f"{SBR}; {FIRE}; {RAINS}"),
    Ruling("R8.1", "A message to a network address of this instance itself loops back.",
           DOCUMENTED, SBR),
    Ruling("R8.2", "A message from another instance is dropped unless forwarding is on or the "
           "chosen route is LOCAL (9792).", DOCUMENTED, f"{SBR}; CREATE ENDPOINT"),
    Ruling("R8.3", "With forwarding on, a message from another instance is forwarded.",
           DOCUMENTED, "Service Broker Message Forwarding"),
    Ruling("R8.4", "A message sent from this instance leaves whether forwarding is on or off; the "
           "sender keeps it until it is acknowledged.", DOCUMENTED, SBR),
    Ruling("R8.5", "If some of several addresses are this instance, all addresses are passed to "
           "the transport.", OURS),
    Ruling("R8.6", "Without a started endpoint no message leaves: it is delayed (9666), or "
           "dropped if it was to be forwarded (11293). This is checked after R8.1 and R8.2.",
           f"{DOCUMENTED}; the order is our choice", f"CREATE ENDPOINT; {ERRORS}"),
    Ruling("R9", "A looped-back message is routed by msdb like a message from another instance; "
           "another address is used only with forwarding on.", DOCUMENTED, SBR),
    Ruling("R10", "A conversation that cannot be routed is delayed with a status and retried; "
           "this is not an error.", DOCUMENTED, SBR),
    Ruling("O-1", "If there is no route at all, a message is delayed if it was sent from this "
           "instance, and dropped if it is from another instance.", DOCUMENTED, SBR),
    Ruling("O-2", "If LOCAL is chosen and the service is in this instance, the message is "
           "delivered, whatever its origin.", DOCUMENTED, SBR),
    Ruling("O-3", "If only LOCAL matches and the service is not in this instance, a message is "
           "delayed if it was sent from this instance, otherwise dropped.",
           DOCUMENTED, "Service Broker Routing Examples"),
    Ruling("O-4", "With a network address and forwarding off, a message is sent if it is from "
           "this instance, otherwise dropped.", DOCUMENTED, SBR),
    Ruling("O-5", "With a network address and forwarding on, a message is sent if it is from this "
           "instance, otherwise forwarded.", DOCUMENTED, SBR),
    Ruling("O-6", "With the address of this instance itself, a message loops back if it was sent "
           "from this instance, otherwise it is forwarded to the instance itself.",
           f"{DOCUMENTED}; the second half is our choice", SBR),
    Ruling("U-02", "Two broker ids are compared as GUIDs if both are GUIDs, otherwise as text.",
           OURS),
    Ruling("U-03", "An address without a port means port 4022.", OURS),
    Ruling("U-04", "LOCAL, TRANSPORT and tcp are keywords in any case.", OURS),
    Ruling("U-07", "A message carries the broker id of the conversation, otherwise that of the "
           "chosen route, otherwise none.", OURS),
    Ruling("U-08", "If a message cannot be classified because msdb's broker is off, the copy is "
           "dropped and the sender retries.", OURS),
    Ruling("U-09", "While the configuration service is being asked, the conversation stays "
           "delayed.",
           OURS),
    Ruling("U-10", "With TRANSPORT and a service name without an address, the message is delayed "
           "(9785) or dropped (11294).", OURS),
    Ruling("U-11", "Of several mirrored routes, the route with the lowest route id is used.", OURS),
    Ruling("U-12", "With LOCAL and a broker id that is not in this instance, the message is "
           "delayed (9795) or dropped (28017).", OURS),
    Ruling("U-13", "If several databases have the service, all are candidates. A hash of the "
           "conversation id and the database name determines the order.", OURS),
    Ruling("U-18", "A dialog's broker id is selected by the BLAKE2b hash of its conversation id "
           "modulo the number of distinct ids. GUIDs are ordered by their bytes; other ids follow.",
           OURS),
    Ruling("U-43", "If the result for a message from another instance would be a delay, the copy "
           "is dropped and the sender retries.", OURS),
    Ruling("U-44", "If LOCAL matches but this instance has the service name only with another "
           "broker id, the next tier is used. The switch strict_local_tier keeps LOCAL.", OURS),
    Ruling("U-45", "An address refers to this instance if its host is one of the instance's names "
           "and its port is the endpoint's.", OURS),
    Ruling("U-46", "An msdb route to the address of its own instance counts as a forward.", OURS),
    Ruling("C-03", "Is the port of an address mandatory?", "optional",
           "CREATE ROUTE: grammar (yes), example D (no)"),
    Ruling("C-04", "Do expired routes count for open conversations?", "no",
           f"CREATE ROUTE (new conversations only) and {SBR} (never)"),
    Ruling("C-05", "May a TRANSPORT route name a service?",
           "DDL forbids it, but routing accepts it",
           "ALTER ROUTE (yes) and CREATE ROUTE (no, 9745)"),
    Ruling("C-06", "May a mirrored route lack a broker id?",
           "DDL forbids it, but routing accepts it",
           "Service Broker Routing Examples, 3 (yes) and CREATE ROUTE (no, 9661)"),
    Ruling("C-07", "Are catch-all routes used while the configuration service is being asked?",
           "never",
           f"{SBR} (read literally, yes) and Routing Service Broker conversations, part 2 (never)"),
    Ruling("C-08", "Is one route chosen, or are all matching routes passed to the transport?",
           "one tier is chosen; all of its addresses go to the transport",
           f"{SBR} (one) and {MULTIPLE} (all)"),
    Ruling("C-09", "Is a message sent from this instance dropped or delayed if it has a LOCAL "
           "route but no service?",
           "delayed", "Service Broker Routing Examples, 1 (dropped) and 2-7 (delayed)"),
    Ruling("C-10", "Is a message from another instance delayed or dropped if this instance does "
           "not have its service?",
           "dropped", "Service Broker Routing Examples, 6: introduction (delayed), text (dropped)"),
    Ruling("C-11", "Does a routing failure create an Error message?", "no",
           f"Broker:Conversation event class (yes) and {SBR} (no)"),
    Ruling("C-12", "With forwarding off, is a message from another instance dropped or delayed?",
           "dropped, with the number 9792",
           f"{SBR} and CREATE ENDPOINT (dropped), Broker:Message Classify event class (delayed)"),
    Ruling("C-14", "How is one of several broker ids selected?", "by the dialog id's hash",
           "App Partitioning: Data Dependent Routing and Forwarding (round-robin), "
           f"Managing Service Broker Identities (alternately), {SBR} (arbitrarily), "
           f"{MULTIPLE} (hash)"),
    Ruling("C-25", "Does a reply need a LOCAL route in the initiator's msdb?", "no",
           f"{MULTIPLE} (yes) and {SBR} (no)"),
)  # fmt: skip
