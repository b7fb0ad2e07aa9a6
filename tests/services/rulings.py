"""What mirrored pairs, missing routes and data-dependent routing are built from, rule by rule.

``P`` are the rules of a mirrored pair and of listeners, ``N`` those of the Broker Configuration
Notice, ``S`` those of data-dependent routing.
"""

from __future__ import annotations

from tests.routing.rulings import DOCUMENTED, OURS, SBR, Ruling

GROUPS = "Service Broker with Always On availability groups"
DYNAMIC = "Service Broker Dynamic Routing"
SAMPLE = "Data dependent routing in Service Broker"

SERVICES = (
    Ruling("P1", "On first use both partners are asked; nothing is sent before one says that it is "
           "the principal (9794), and all of it to that one then.", DOCUMENTED, SBR),
    Ruling("P2", "The principal is unreachable or says that it no longer is: the other partner is "
           "used only if it claims the role.", DOCUMENTED, SBR),
    Ruling("P3", "Who is unreachable or does not claim gets nothing; both are asked until one "
           "claims.", DOCUMENTED, SBR),
    Ruling("P4", "A claim counts for the newest epoch that was heard of, and an epoch has one "
           "holder; an answer that its partner has overtaken is void.", OURS),
    Ruling("P5", "A retry makes both be asked again if the principal has not answered since the "
           "copy before it; it keeps the role unless it then fails to answer.", OURS),
    Ruling("P6", "Event 144: 1 operational, 2 the other partner does not answer, 3 nobody claims.",
           f"{DOCUMENTED}; 2 is inferred", "Broker:Mirrored Route State Changed"),
    Ruling("P7", "A route without MIRROR_ADDRESS does not fail over.", DOCUMENTED, "CREATE ROUTE"),
    Ruling("P8", "A listener leads to the primary of the group that its replicas have in common.",
           DOCUMENTED, GROUPS),
    Ruling("U-15", "Roles are asked by the back-off of a retry and cached until failure.", OURS),
    Ruling("EX-08", "The principal is gone and the partner claims: traffic goes there.",
           DOCUMENTED, SBR),
    Ruling("EX-09", "The partner does not claim: nothing is sent until the principal answers.",
           DOCUMENTED, SBR),
    Ruling("EX-10", "The principal says that it no longer is, the partner claims: traffic goes "
           "there.", DOCUMENTED, SBR),
    Ruling("N1", "One request is open for each service and database, however many conversations "
           "wait (9770).", DOCUMENTED, DYNAMIC),
    Ruling("N2", "The end of the request, either way, makes them look for a route again.",
           DOCUMENTED, DYNAMIC),
    Ruling("N3", "The application creates the route in the database that asks, with a LIFETIME, "
           "and ENDs; WITH ERROR where it cannot. It drops what has expired itself.",
           "as documented; error 1: nobody knows the service, 2: no route can be made of what is "
           "known, 3: no MissingRoute", f"{DYNAMIC}; Managing Routing"),
    Ruling("N4", "A directory that is away is waited for: no rollback, which would turn the queue "
           "off.", OURS),
    Ruling("C-13", "No route after the end: remain delayed, or ask again?",
           "asked again by the back-off, if the request has ended", f"{DYNAMIC} (both)"),
    Ruling("U-16", "The broker id that a conversation names is in <BROKER_INSTANCE>.", OURS),
    Ruling("EX-56", "One MissingRoute, a route, the end of the request: both dialogs are sent.",
           DOCUMENTED, DYNAMIC),
    Ruling("EX-58", "A request that nobody ends: no second one, the dialogs wait for their end.",
           DOCUMENTED, DYNAMIC),
    Ruling("U-41", "Data-dependent routing: the inbound contract and group for the outbound "
           "dialog; 'forwarded: ' before an Error's text, its code unchanged but for a broker's "
           "sign, which no application may say (8419); error 1 for what cannot be classified; "
           "the rows go when both dialogs have ended.", OURS),
    Ruling("S1", "What is received after the end of both dialogs begins no new one: only number 0 "
           "of an inbound dialog is classified.", OURS),
    Ruling("S2", "Redirection: the answer is the service's name, and the dialog ends.",
           DOCUMENTED, SAMPLE),
    Ruling("EX-68", "The first message is classified, the others follow it.", DOCUMENTED, SAMPLE),
    Ruling("EX-69", "Answers go back without classification.", DOCUMENTED, SAMPLE),
    Ruling("EX-70", "The end of one dialog ends the other; an Error is wrapped.",
           DOCUMENTED, SAMPLE),
    Ruling("EX-72", "Several routers behind full routes: each dialog uses one for its whole life.",
           DOCUMENTED, SAMPLE),
)  # fmt: skip
