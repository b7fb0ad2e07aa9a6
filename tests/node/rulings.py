"""What forwarding and dialogs are built from: every rule in words, its verdict, and its sources.

``F`` are the rules of a forwarder, ``D`` those of a dialog; ``U``, ``C`` and ``EX`` are as in
``tests/routing/rulings.py``. A test says with ``shows`` of which of them it is evidence.
"""

from __future__ import annotations

from tests.routing.rulings import DOCUMENTED, ERRORS, NOT_EMULATED, OURS, SBR, Ruling

FORWARDING_PAGE = "Service Broker Message Forwarding"
PROTOCOL = "Service Broker Communication Protocols"
VIEW = "sys.conversation_endpoints"
MULTIPLE = "Using multiple routes in Service Broker"
BEGIN = "BEGIN DIALOG CONVERSATION"
END = "END CONVERSATION"
SEND = "SEND"
PRIORITY = "CREATE BROKER PRIORITY"

FORWARDING = (
    Ruling("F1", "Forwarding is a switch of the endpoint, off unless it is turned on; what came "
           "from outside and would be forwarded is dropped (9792).", DOCUMENTED, "CREATE ENDPOINT"),
    Ruling("F2", "What came from outside is routed by msdb's routes; LOCAL ends here, any other "
           "address is forwarded to.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F3", "A forwarder never acknowledges and keeps no dialog state; successive messages, "
           "and the acknowledgements, may take other ways.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F5", "What waits for a next hop is bounded by MESSAGE_FORWARD_SIZE; beyond it a copy "
           "is dropped (11289), and nothing is evicted.",
           DOCUMENTED, f"{FORWARDING_PAGE}; {ERRORS}"),
    Ruling("F9", "Every copy says how often it may still be forwarded: one less per forward, at "
           "zero it is dropped (11285).", DOCUMENTED, ERRORS),
    Ruling("F10", "A copy that arrives after its time to live is dropped (11291).",
           DOCUMENTED, ERRORS),
    Ruling("F11", "What cannot be passed on waits for its time to live, and is dropped then "
           "(11290).", DOCUMENTED, ERRORS),
    Ruling("F12", "What began here and cannot be sent stays in the transmission queue with a "
           "status (9753 and others); acknowledgements and Errors of a broker have none.",
           DOCUMENTED, "sys.transmission_queue"),
    Ruling("F12.2", "A second copy of what waits here is dropped (11288).", DOCUMENTED, ERRORS),
    Ruling("F13", "The sender is not told about drops.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F14", "Unreachable is who has sent no heartbeat for 5 s by the reader's own clock. "
           "Nobody is judged while the reader's own heartbeats do not come back.", OURS),
    Ruling("F15", "Forwarded traffic has priority 5; a forwarder gives messages new ids; licences "
           "(11282).", NOT_EMULATED, FORWARDING_PAGE),
    Ruling("U-07", "A message carries the conversation's broker id, else the chosen route's, else "
           "none: the forwarder that chooses writes it.", OURS),
    Ruling("U-19", "Several addresses: FAILOVER takes the last good one, another with every retry, "
           "and passes over what is unreachable; ALL and SEEDED can be chosen.", OURS),
    Ruling("U-34", "A message begins with 16 hops.", OURS),
    Ruling("U-38", "Hops are tested before time; tested, then counted: n hops pass n forwarders.",
           OURS),
    Ruling("U-46", "msdb's route to the instance itself is a forward like any other.", OURS),
    Ruling("EX-29", "Two gateways: with one down or losing everything, both directions go on.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-30", "Two gateways, both used: one copy is a duplicate.", DOCUMENTED, MULTIPLE),
    Ruling("EX-45", "A routing loop: 16 forwards, then 11285, again with every retry.",
           DOCUMENTED, f"{FORWARDING_PAGE}; {ERRORS}"),
    Ruling("EX-46", "A silent next hop: held for the time to live, then 11290.",
           DOCUMENTED, ERRORS),
    Ruling("EX-47", "1 MiB of memory holds 51 messages of 20 KB.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("EX-48", "A forwarder crashes with what it held: nothing is lost, nothing comes twice.",
           DOCUMENTED, FORWARDING_PAGE),
    Ruling("EX-49", "A route that has expired is not used, by no plan made before.",
           DOCUMENTED, "CREATE ROUTE"),
    Ruling("EX-65", "A chain of three instances, and the acknowledgement back through it.",
           DOCUMENTED, "a public three-instance forwarding script"),
)  # fmt: skip

DIALOGS = (
    Ruling("D1.1", "The receiver hands messages on in ascending order, each once.",
           DOCUMENTED, PROTOCOL),
    Ruling("D1.2", "A duplicate is acknowledged again and not enqueued: event 160, 11218.",
           DOCUMENTED, f"{PROTOCOL}; {ERRORS}"),
    Ruling("D1.3", "What arrives out of order is kept until the gap closes.", DOCUMENTED, PROTOCOL),
    Ruling("D1.4", "What cannot be kept is not acknowledged: event 160, 11217. Kept is what is "
           "within the window.", f"{DOCUMENTED}; the window is our choice", ERRORS),
    Ruling("D1.5", "The first message of a dialog that arrives creates the target's endpoint.",
           DOCUMENTED, VIEW),
    Ruling("D1.6", "A dialog's first message is neither its end nor an Error (11277).",
           DOCUMENTED, ERRORS),
    Ruling("D1.7", "A dialog stays in the database that has its endpoint, whatever other databases "
           "get the service.", OURS),
    Ruling("D1.8", "A name of the header that is missing or too long: undeliverable, not "
           "acknowledged, not answered (11201 to 11208).", DOCUMENTED, ERRORS),
    Ruling("D2.1", "A window limits how many messages of a dialog are in flight.", OURS),
    Ruling("D2.2", "What is retried is the oldest unacknowledged message.", OURS),
    Ruling("D2.3", "Nothing is retried while its previous copy has not left the instance.", OURS),
    Ruling("D2.4", "What was sent before a retry is sent again when that retry is what got "
           "through, and only then.", OURS),
    Ruling("D2.5", "What a copy provokes carries that copy's attempt, and echoes which address it "
           "took: that address is preferred from then on.", OURS),
    Ruling("D2.6", "A status of an attempt before the current one says nothing.", OURS),
    Ruling("D2.7", "A retry of what was acknowledged already moves the next acknowledgement to the "
           "next address.", OURS),
    Ruling("D3.1", "The first frame of any kind from the target locks the broker id.",
           DOCUMENTED, f"{MULTIPLE}; {SBR}"),
    Ruling("D3.2", "Any other broker's frame changes nothing and is answered with 8495 (event 160, "
           "11224).", f"{DOCUMENTED}; the numbers are our choice", MULTIPLE),
    Ruling("D3.3", "An Error that a broker made is never answered.", OURS),
    Ruling("D3.4", "A target's endpoint belongs to the broker id that created it: the same "
           "conversation from another one is undeliverable and not answered.", OURS),
    Ruling("D3.5", "A frame of another service than the dialog's far service changes nothing and "
           "is not answered (event 160, 11224), whatever its broker id.", OURS),
    Ruling("D4.1", "What a state does not allow is refused: SEND with 8429, END with 8427.",
           DOCUMENTED, f"{VIEW}; {ERRORS}"),
    Ruling("D4.2", "STARTED_INBOUND until the first message is there, then CONVERSING.",
           DOCUMENTED, VIEW),
    Ruling("D4.3", "Both sides must END. EndDialog comes after all earlier messages; a side whose "
           "peer has ended sends none.", DOCUMENTED, END),
    Ruling("D4.4", "An Error moves the endpoint to ERROR and is in its queue.", DOCUMENTED, VIEW),
    Ruling("D4.5", "END WITH CLEANUP removes everything and tells nobody.", DOCUMENTED, END),
    Ruling("D4.6", "Event 124 tells what happens to a conversation.", DOCUMENTED,
           "Broker:Conversation event class"),
    Ruling("D5.1", "An initiator that is closed says so with its last acknowledgement, and answers "
           "a late EndDialog.", OURS),
    Ruling("D5.2", "A closed target's key is kept until the initiator is closed and a time to "
           "live and a half is over, else for the lifetime and as long; it asks, ever more rarely, "
           "whether the initiator is.", OURS),
    Ruling("D5.3", "A replayed first message cannot reopen a dialog.",
           DOCUMENTED, "articles on the lifetime of conversation endpoints"),
    Ruling("D5.4", "A copy that Kafka appended to `in` after its time to live creates no endpoint "
           "and gets no answer (160/11291): its endpoint may have existed and be forgotten.", OURS),
    Ruling("D5.5", "A key is forgotten only when everything is applied that was appended to `in` "
           "before the key's time was over.", OURS),
    Ruling("D6.1", "BEGIN is no network activity; it needs an active broker (8442), a service "
           "(8423), a contract (8425), a target's name (8412), a lifetime in range (8406).",
           DOCUMENTED, BEGIN),
    Ruling("D6.2", "BEGIN with an id that the database knows, open or closed, is refused.", OURS),
    Ruling("D6.3", "SEND: the type must be in the contract (8431) and this side's to send (8432, "
           "8434); the body may be empty but not NULL (8433).", DOCUMENTED, f"{SEND}; {ERRORS}"),
    Ruling("D6.4", "A refused command is an event, and a result where one was asked for.", OURS),
    Ruling("D7.1", "A transaction of an endpoint worker changes everything or nothing.", OURS),
    Ruling("D7.2", "An aborted transaction arms its timers anew.", OURS),
    Ruling("D7.3", "After a restart everything goes on where the committed state says.", OURS),
    Ruling("D7.4", "A dialog whose database has another broker id than at its beginning is dead.",
           DOCUMENTED, "Managing Service Broker Identities"),
    Ruling("D6.5", "END WITH ERROR needs a code above 0 (8419) and a text (8422).",
           f"{DOCUMENTED}; 8419 for a code below 1 is our choice", END),
    Ruling("D8.1", "The receiver checks a whole message's type (11225, 11226: Error -8498), side "
           "(11227, 11228: -8457, -8437) and body (9704: -9615): acknowledged, not shown, both "
           "sides in ERROR.", DOCUMENTED, f"CREATE MESSAGE TYPE; {ERRORS}"),
    Ruling("D8.2", "Messages for a queue that is off are parked and acknowledged; what cannot be "
           "parked is not (11219).", DOCUMENTED, "sys.transmission_queue"),
    Ruling("D8.3", "Messages travel in fragments, each acknowledged and retried by itself, put "
           "together in any order.", DOCUMENTED, PROTOCOL),
    Ruling("D8.4", "A conversation timer: one per side, an empty DialogTimer in the own queue; not "
           "beyond the lifetime (8410).", DOCUMENTED, "BEGIN CONVERSATION TIMER"),
    Ruling("D8.5", "ERROR_BROKER_CONVERSATIONS: Errors -9719 here and -9720 there.",
           f"{DOCUMENTED}; the numbers are our choice", "Managing Service Broker Identities"),
    Ruling("D8.6", "After the other side's EndDialog or an Error nothing is transmitted any more; "
           "it is kept until END (9779, 9784).", DOCUMENTED, ERRORS),
    Ruling("D8.7", "An endpoint's priority is assigned once, by the best match of its own "
           "database's rules.", DOCUMENTED, "CREATE BROKER PRIORITY"),
    Ruling("D8.8", "A conversation group belongs to one service (8420); RELATED_CONVERSATION joins "
           "the group of a conversation that exists (8426).", DOCUMENTED, BEGIN),
    Ruling("D8.9", "Transmission goes by priority.", NOT_EMULATED, "CREATE BROKER PRIORITY"),
    Ruling("U-23", "A fragment holds up to 64 KiB.", OURS),
    Ruling("U-24", "A body is at most 100 MB, configurable.", OURS),
    Ruling("U-31", "A message that is parked is acknowledged.", OURS),
    Ruling("EX-37", "A target learns that it is the locked one from what the initiator sends after "
           "its lock.", DOCUMENTED, MULTIPLE),
    Ruling("EX-55", "Queue off at the target: parked there, delivered when it is on again.",
           DOCUMENTED, "sys.transmission_queue; articles on queue status"),
    Ruling("Q1", "RECEIVE returns messages of one conversation group, which stays locked until the "
           "transaction ends; WHERE names a conversation or a group.", DOCUMENTED, "RECEIVE"),
    Ruling("Q2", "Groups and conversations with a higher priority are received first.",
           DOCUMENTED, f"RECEIVE; {PRIORITY}"),
    Ruling("Q3", "A DialogTimer comes before everything of its conversation, an Error before the "
           "rest.", DOCUMENTED, "articles on system messages"),
    Ruling("Q4", "GET CONVERSATION GROUP locks the next group without receiving.", DOCUMENTED,
           "GET CONVERSATION GROUP"),
    Ruling("Q5", "A rollback returns the messages to their places.", DOCUMENTED, "RECEIVE"),
    Ruling("Q6", "Five rollbacks in a row turn the queue off, unless poison message handling is "
           "off; the count survives a restart.", DOCUMENTED, "Poison message handling"),
    Ruling("Q7", "END CONVERSATION removes the dialog's messages from the queue.",
           NOT_EMULATED, END),
    Ruling("Q8", "MOVE CONVERSATION: what arrives from then on is in the other group; what is in "
           "the queue stays in its own.", OURS, "MOVE CONVERSATION"),
    Ruling("U-02", "Broker ids are equal as GUIDs if both are GUIDs, else as they are written.",
           OURS),
    Ruling("U-14", "A dialog that could not be routed tries again when the catalog has changed, "
           "within a second, besides its retries.", OURS),
    Ruling("U-21", "Sequence numbers begin with 0.", OURS),
    Ruling("U-22", "END before any SEND: the endpoint goes, and nothing is sent.", OURS),
    Ruling("U-26", "Acknowledgements are cumulative, with the highest number seen and what is held "
           "out of order.", OURS),
    Ruling("U-27", "Retries after 4, 8, 16, 32, 64, 64 ... seconds; progress resets it.", OURS),
    Ruling("U-28", "CONVERSING from the commit of the first SEND.", OURS),
    Ruling("U-29", "The views show a closed target for 30 minutes; its key stays as long as D5.2 "
           "says.", OURS),
    Ruling("U-30", "For a closed endpoint: acknowledged (11212). For an unknown dialog, and not "
           "its beginning: Error -8462 (11209, 11213).", OURS),
    Ruling("U-32", "Error -8470 only where an established dialog has lost its service; never for a "
           "routing miss.", OURS),
    Ruling("U-39", "What is undeliverable is acknowledged or not, and answered or not, by the "
           "reason.", OURS),
    Ruling("U-47", "END WITH ERROR discards all that is unacknowledged, transmitted or not; the "
           "Error is accepted although numbers below it are missing.", OURS),
    Ruling("EX-24", "Load balancing: an even split, and each dialog sticks.", DOCUMENTED, MULTIPLE),
    Ruling("EX-25", "A broker id given at BEGIN prevents it.", DOCUMENTED, MULTIPLE),
    Ruling("EX-33", "Routes without broker ids to different copies of a service: two target "
           "endpoints.", DOCUMENTED, MULTIPLE),
    Ruling("EX-34", "The second copy's acknowledgement is rejected, and its endpoint is in ERROR.",
           f"{DOCUMENTED}; number and state are our choice", MULTIPLE),
    Ruling("EX-35", "The second message is delivered by the locked copy alone, once.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-51", "DROP ROUTE during a dialog: messages wait for a new route, or for the end of "
           "the lifetime.", DOCUMENTED, "DROP ROUTE"),
    Ruling("EX-59", "The end of the lifetime: Error -8489 in one's own queue, SEND is refused.",
           DOCUMENTED, BEGIN),
    Ruling("EX-66", "One SEND on two handles is atomic: each dialog gets it once, or none does.",
           DOCUMENTED, SEND),
    Ruling("EX-61", "A contract that the target does not accept: Error -8408 at the initiator.",
           f"{DOCUMENTED}; the number is our choice", BEGIN),
)  # fmt: skip
