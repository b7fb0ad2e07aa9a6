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
    Ruling("R1.1", "With delivery off in the sending database, what it sends waits (9791).",
           DOCUMENTED, "Managing Service Broker Identities"),
    Ruling("R1.2", "While an instance's broker manager starts, stops or waits for mirroring, what "
           "it sends waits (9780, 9781, 9771, 9794).", NOT_EMULATED, ERRORS),
    Ruling("R1.3", "What begins in this instance is routed by the routes of the database that "
           "holds the conversation, and by no others.", DOCUMENTED, SBR),
    Ruling("R2.1", "With the broker of msdb off, what arrives cannot be classified (9789).",
           DOCUMENTED, ERRORS),
    Ruling("R2.2", "What the target's side sends to a broker id of this instance is delivered "
           "there without consulting a route.", DOCUMENTED, SBR),
    Ruling("R2.3", "Whatever else arrives from outside is routed by msdb's routes, and by no "
           "others.", DOCUMENTED, SBR),
    Ruling("R3.1", "Expired routes are ignored.", DOCUMENTED, f"{SBR}; CREATE ROUTE"),
    Ruling("R4.1", "Match, step 1: with a broker id, the routes that name the service and that id.",
           DOCUMENTED, SBR),
    Ruling("R4.2", "Match, step 2: the routes that name the service and no broker id.",
           DOCUMENTED, SBR),
    Ruling("R4.3", "Match, step 3: without a broker id, one of the ids that routes for the service "
           "name is picked, and only the routes with it match.", DOCUMENTED, SBR),
    Ruling("R4.4", "Match, step 4: where a route to the configuration service is known, that "
           "service is asked for a route and the conversation waits (9770).",
           DOCUMENTED, f"{SBR}; Service Broker Dynamic Routing"),
    Ruling("R4.5", "Match, step 5: the routes that name neither service nor broker id, such as "
           "AutoCreatedLocal.", DOCUMENTED, SBR),
    Ruling("R4.6", "Match, step 6: with a broker id, and the service in an active database here, "
           "as if there were a LOCAL route.", DOCUMENTED, SBR),
    Ruling("R4.7", "Match, step 7: nothing matches (9750).", DOCUMENTED, SBR),
    Ruling("R4.8", "A record with a broker id and without a service name, which CREATE ROUTE "
           "refuses (9662), matches nothing.", OURS),
    Ruling("R5.0", "Routes with equal service, broker id and address count as one.",
           DOCUMENTED, SBR),
    Ruling("R5.1", "Choose, tier 1: a mirrored route.", DOCUMENTED, SBR),
    Ruling("R5.2", "Choose, tier 2: LOCAL, if this instance has the service.", DOCUMENTED, SBR),
    Ruling("R5.3", "Choose, tier 3: network addresses.", DOCUMENTED, SBR),
    Ruling("R5.4", "Choose, tier 4: TRANSPORT, the address being the beginning of the service's "
           "name.", DOCUMENTED, f"{SBR}; CREATE ROUTE"),
    Ruling("R5.5", "LOCAL routes alone, and the service is not here: delayed (9796) or dropped "
           "(11210).", DOCUMENTED, "Service Broker Routing Examples"),
    Ruling("R6", "A mirrored route has both partners asked which one is the principal.",
           DOCUMENTED, SBR),
    Ruling("R7.1", "LOCAL with a broker id, the conversation's or the route's: the database with "
           "that id.", DOCUMENTED, SBR),
    Ruling("R7.2a", "LOCAL without a broker id: first the database that contains the conversation.",
           DOCUMENTED, SBR),
    Ruling("R7.2b", "LOCAL without a broker id: then the other databases with delivery on, in no "
           "promised order.", DOCUMENTED, f"{SBR}; Managing Service Broker Identities"),
    Ruling("R7.3", "What arrives from outside for a database that is the mirror of its pair here "
           "is dropped for that reason (28018).", DOCUMENTED, ERRORS),
    Ruling("R8.1", "A network address that is this very instance loops back.", DOCUMENTED, SBR),
    Ruling("R8.2", "What came from outside is dropped unless forwarding is on or the route chosen "
           "is LOCAL (9792).", DOCUMENTED, f"{SBR}; CREATE ENDPOINT"),
    Ruling("R8.3", "With forwarding on, what came from outside is forwarded.",
           DOCUMENTED, "Service Broker Message Forwarding"),
    Ruling("R8.4", "What began here is sent, whether forwarding is on or off; the sender keeps it "
           "until it is acknowledged.", DOCUMENTED, SBR),
    Ruling("R8.5", "Several addresses, only some of which are this instance: all go to the "
           "transport.",
           OURS),
    Ruling("R8.6", "Without a started endpoint nothing leaves: delayed (9748), or dropped where it "
           "was to be forwarded (11293). Asked after R8.1 and R8.2.",
           f"{DOCUMENTED}; the order is our choice", f"CREATE ENDPOINT; {ERRORS}"),
    Ruling("R9", "What loops back is decided as if it had come from outside: by msdb, and only "
           "with forwarding on if that yields another address.", DOCUMENTED, SBR),
    Ruling("R10", "A conversation that cannot be routed is delayed with a status and tried again; "
           "that is no error.", DOCUMENTED, SBR),
    Ruling("O-1", "No route at all: delayed if it began here, dropped if it came from outside.",
           DOCUMENTED, SBR),
    Ruling("O-2", "LOCAL and the service is here: delivered, wherever it began.", DOCUMENTED, SBR),
    Ruling("O-3", "LOCAL alone and the service is not here: delayed if it began here, else "
           "dropped.", DOCUMENTED, "Service Broker Routing Examples"),
    Ruling("O-4", "Network address, forwarding off: sent if it began here, else dropped.",
           DOCUMENTED, SBR),
    Ruling("O-5", "Network address, forwarding on: sent if it began here, else forwarded.",
           DOCUMENTED, SBR),
    Ruling("O-6", "The address of this very instance: loops back if it began here, else forwarded "
           "to itself.", f"{DOCUMENTED}; the second half is our choice", SBR),
    Ruling("U-02", "Broker ids are equal as GUIDs if both are GUIDs, else as they are written.",
           OURS),
    Ruling("U-03", "An address without a port means port 4022.", OURS),
    Ruling("U-04", "LOCAL, TRANSPORT and tcp are keywords in any case.", OURS),
    Ruling("U-07", "A message carries the conversation's broker id, else the chosen route's, else "
           "none.", OURS),
    Ruling("U-08", "What cannot be classified because msdb's broker is off: the copy is dropped, "
           "the sender retries.", OURS),
    Ruling("U-09", "While the configuration service is being asked, the conversation stays "
           "delayed.",
           OURS),
    Ruling("U-10", "TRANSPORT and a name that begins with no address: delayed (9785) or dropped "
           "(11294).", OURS),
    Ruling("U-11", "Of several mirrored routes the one with the lowest route id is taken.", OURS),
    Ruling("U-12", "LOCAL, but the broker id is not in this instance: delayed (9795) or dropped "
           "(28017).", OURS),
    Ruling("U-13", "Several databases with the service: all are candidates; they are searched in "
           "the order of a hash of conversation id and name.", OURS),
    Ruling("U-18", "The broker id of a dialog is BLAKE2b of the conversation id modulo the number "
           "of distinct ids, GUIDs ordered by their bytes and others after them.", OURS),
    Ruling("U-43", "What would be delayed had it begun here, and came from outside: the copy is "
           "dropped, the sender retries.", OURS),
    Ruling("U-44", "LOCAL, the name is here but its broker id is another: the next tier is tried. "
           "The switch strict_local_tier keeps it LOCAL.", OURS),
    Ruling("U-45", "An address is this instance if its host is one of the instance's names and its "
           "port is the endpoint's.", OURS),
    Ruling("U-46", "An address of msdb that is this very instance counts as a forward.", OURS),
    Ruling("C-03", "Is the port of an address mandatory?", "optional",
           "CREATE ROUTE: grammar (yes), example D (no)"),
    Ruling("C-04", "Do expired routes count for conversations under way?", "no",
           f"CREATE ROUTE (new conversations only) and {SBR} (never)"),
    Ruling("C-05", "May a TRANSPORT route name a service?", "DDL forbids it, routing accepts it",
           "ALTER ROUTE (yes) and CREATE ROUTE (no, 9745)"),
    Ruling("C-06", "May a mirrored route lack a broker id?", "DDL forbids it, routing accepts it",
           "Service Broker Routing Examples, 3 (yes) and CREATE ROUTE (no, 9661)"),
    Ruling("C-07", "Are last-resort routes used while the configuration service is being asked?",
           "never",
           f"{SBR} (read literally, yes) and Routing Service Broker conversations, part 2 (never)"),
    Ruling("C-08", "Is one route chosen, or do all that match go to the transport?",
           "one tier is chosen; all of its addresses go to the transport",
           f"{SBR} (one) and {MULTIPLE} (all)"),
    Ruling("C-09", "What began here and has a LOCAL route but no service: dropped or delayed?",
           "delayed", "Service Broker Routing Examples, 1 (dropped) and 2-7 (delayed)"),
    Ruling("C-10", "What came from outside for a service that is not here: delayed or dropped?",
           "dropped", "Service Broker Routing Examples, 6: introduction (delayed), text (dropped)"),
    Ruling("C-11", "Does a failure to route create an Error message?", "no",
           f"Broker:Conversation event class (yes) and {SBR} (no)"),
    Ruling("C-12", "With forwarding off, is what came from outside dropped or delayed?",
           "dropped, with the number 9792",
           f"{SBR} and CREATE ENDPOINT (dropped), Broker:Message Classify event class (delayed)"),
    Ruling("C-14", "How is one of several broker ids picked?", "by the dialog id's hash",
           "App Partitioning: Data Dependent Routing and Forwarding (round-robin), "
           f"Managing Service Broker Identities (alternately), {SBR} (arbitrarily), "
           f"{MULTIPLE} (hash)"),
    Ruling("C-25", "Does a reply need a LOCAL route in the initiator's msdb?", "no",
           f"{MULTIPLE} (yes) and {SBR} (no)"),
)  # fmt: skip
