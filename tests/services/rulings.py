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
    Ruling("P1", "On first use, both partners are asked. Nothing is sent until one of them "
           "reports that it is the principal (9794); then all messages are sent to it.",
           DOCUMENTED, SBR),
    Ruling("P2", "If the principal is unreachable or reports that it is no longer the principal, "
           "the other partner is used only if it claims the role.", DOCUMENTED, SBR),
    Ruling("P3", "A partner that is unreachable or does not claim the role gets no messages; both "
           "partners are asked until one claims the role.", DOCUMENTED, SBR),
    Ruling("P4", "A claim applies to the newest known epoch, and an epoch has one holder. An "
           "answer is void if it is older than a newer claim of the partner.", OURS),
    Ruling("P5", "A retry makes the sender ask both partners again if the principal has not "
           "answered since the previous copy; the principal keeps the role unless it then fails "
           "to answer.", OURS),
    Ruling("P6", "Event 144 has the states 1 (operational), 2 (the other partner does not answer) "
           "and 3 (no partner claims).",
           f"{DOCUMENTED}; 2 is inferred", "Broker:Mirrored Route State Changed"),
    Ruling("P7", "A route without MIRROR_ADDRESS does not fail over.", DOCUMENTED, "CREATE ROUTE"),
    Ruling("P8", "A listener leads to the primary of the group that its replicas share.",
           DOCUMENTED, GROUPS),
    Ruling("U-15", "Partners are asked at the retry intervals, and the answer is cached until a "
           "failure.", OURS),
    Ruling("EX-08", "If the principal fails and the partner claims the role, messages are sent to "
           "the partner.", DOCUMENTED, SBR),
    Ruling("EX-09", "If the partner does not claim the role, nothing is sent until the principal "
           "answers.", DOCUMENTED, SBR),
    Ruling("EX-10", "If the principal reports that it no longer has this role, and the partner "
           "claims the role, messages are sent to the partner.", DOCUMENTED, SBR),
    Ruling("N1", "For each service and database only one request is open, however many "
           "conversations wait (9770).", DOCUMENTED, DYNAMIC),
    Ruling("N2", "When the request ends, with or without an error, the conversations look for a "
           "route again.",
           DOCUMENTED, DYNAMIC),
    Ruling("N3", "The application creates the route in the asking database, with a LIFETIME, and "
           "ends the request, WITH ERROR if it cannot create the route. It drops expired routes "
           "itself.",
           "as documented; the errors are 1 (unknown service), 2 (the known data are not enough "
           "for a route) and 3 (no MissingRoute)", f"{DYNAMIC}; Managing Routing"),
    Ruling("N4", "If a directory is unavailable, the application waits, because a rollback would "
           "turn the queue off.", OURS),
    Ruling("C-13", "If there is no route after the end of the request, does the conversation "
           "remain delayed, or is the service asked again?",
           "the service is asked again after a back-off, if the request has ended",
           f"{DYNAMIC} (both)"),
    Ruling("U-16", "The broker id that a conversation names is in <BROKER_INSTANCE>.", OURS),
    Ruling("EX-56", "After one MissingRoute, the creation of a route and the end of the request, "
           "both dialogs are sent.", DOCUMENTED, DYNAMIC),
    Ruling("EX-58", "If a request is never ended, there is no second request, and the dialogs "
           "wait until it ends.", DOCUMENTED, DYNAMIC),
    Ruling("U-41", "In data-dependent routing, the outbound dialog uses the inbound contract and "
           "group. An Error's text gets the prefix 'forwarded: '; its code is unchanged except "
           "for the negative sign of a broker's code, which no application may send (8419). A "
           "message that cannot be classified gets error 1. The rows are deleted when both "
           "dialogs have ended.", OURS),
    Ruling("S1", "A message received after both dialogs have ended begins no new dialog, because "
           "only number 0 of an inbound dialog is classified.", OURS),
    Ruling("S2", "With redirection, the reply is the service's name, and the dialog ends.",
           DOCUMENTED, SAMPLE),
    Ruling("EX-68", "The first message is classified; the others follow it.", DOCUMENTED, SAMPLE),
    Ruling("EX-69", "Replies are returned without classification.", DOCUMENTED, SAMPLE),
    Ruling("EX-70", "The end of one dialog ends the other; an Error is wrapped.",
           DOCUMENTED, SAMPLE),
    Ruling("EX-72", "With several routers behind full routes, each dialog uses one router for its "
           "whole life.", DOCUMENTED, SAMPLE),
)  # fmt: skip
