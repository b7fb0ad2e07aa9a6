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
    Ruling("F1", "Forwarding is an option of the endpoint, off by default; with it off, a message "
           "from outside that needs forwarding is dropped (9792).", DOCUMENTED, "CREATE ENDPOINT"),
    Ruling("F2", "A message from outside is routed by msdb's routes: LOCAL delivers it, any other "
           "address forwards it.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F3", "A forwarder never acknowledges and keeps no dialog state; successive messages "
           "and acknowledgements may take different paths.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F5", "Messages that wait for a next hop are limited by MESSAGE_FORWARD_SIZE; beyond "
           "it a copy is dropped (11289), and none is evicted.",
           DOCUMENTED, f"{FORWARDING_PAGE}; {ERRORS}"),
    Ruling("F9", "Every copy carries a hop count: one less for each forward; at zero the copy is "
           "dropped (11285).", DOCUMENTED, ERRORS),
    Ruling("F10", "A copy that arrives after its time to live is dropped (11291).",
           DOCUMENTED, ERRORS),
    Ruling("F11", "A message that cannot be forwarded waits for its time to live, and is then "
           "dropped (11290).", DOCUMENTED, ERRORS),
    Ruling("F12", "A message sent from this instance that cannot leave stays in the transmission "
           "queue with a status (9753 and others); acknowledgements and Errors of a broker have "
           "none.",
           DOCUMENTED, "sys.transmission_queue"),
    Ruling("F12.2", "A second copy of a waiting message is dropped (11288).", DOCUMENTED, ERRORS),
    Ruling("F13", "The sender is not notified of drops.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F14", "An instance is unreachable if it has sent no heartbeat for 5 s by the reader's "
           "own clock. No instance is judged while the reader's own heartbeats do not come back.",
           OURS),
    Ruling("F15", "Forwarded messages have priority 5; a forwarder gives messages new ids; "
           "licence checks (11282).", NOT_EMULATED, FORWARDING_PAGE),
    Ruling("U-07", "A message carries the conversation's broker id, else the chosen route's, else "
           "none: the forwarder that chooses writes it.", OURS),
    Ruling("U-19", "Several addresses: FAILOVER uses the last good one, another one for each "
           "retry, and skips unreachable ones; ALL and SEEDED can be configured.", OURS),
    Ruling("U-34", "A message starts with 16 hops.", OURS),
    Ruling("U-38", "The hop count is checked before the time to live, and checked before it is "
           "decremented: n hops pass n forwarders.",
           OURS),
    Ruling("U-46", "An msdb route to the instance itself is a forward like any other.", OURS),
    Ruling("EX-29", "Two gateways: if one is down or loses all messages, both directions "
           "continue.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-30", "Two gateways, both used: one copy is a duplicate.", DOCUMENTED, MULTIPLE),
    Ruling("EX-45", "A routing loop: 16 forwards, then 11285, again with every retry.",
           DOCUMENTED, f"{FORWARDING_PAGE}; {ERRORS}"),
    Ruling("EX-46", "A next hop that does not answer: buffered for the time to live, then 11290.",
           DOCUMENTED, ERRORS),
    Ruling("EX-47", "1 MiB of memory holds 51 messages of 20 KB.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("EX-48", "A forwarder crashes with buffered messages: nothing is lost or duplicated.",
           DOCUMENTED, FORWARDING_PAGE),
    Ruling("EX-49", "An expired route is not used, not even by an earlier plan.",
           DOCUMENTED, "CREATE ROUTE"),
    Ruling("EX-65", "A chain of three instances, and the acknowledgement back through it.",
           DOCUMENTED, "a public three-instance forwarding script"),
)  # fmt: skip

DIALOGS = (
    Ruling("D1.1", "The receiver delivers messages in ascending order, each once.",
           DOCUMENTED, PROTOCOL),
    Ruling("D1.2", "A duplicate is acknowledged again and not enqueued: event 160, 11218.",
           DOCUMENTED, f"{PROTOCOL}; {ERRORS}"),
    Ruling("D1.3", "Messages out of order are kept until the gap closes.", DOCUMENTED, PROTOCOL),
    Ruling("D1.4", "A message that the receiver cannot keep is not acknowledged: event 160, 11217. "
           "Messages within the window are kept.",
           f"{DOCUMENTED}; the window is our choice", ERRORS),
    Ruling("D1.5", "The first message of a dialog to arrive creates the target's endpoint.",
           DOCUMENTED, VIEW),
    Ruling("D1.6", "A dialog's first message is neither an EndDialog nor an Error (11277).",
           DOCUMENTED, ERRORS),
    Ruling("D1.7", "A dialog stays in the database that has its endpoint, even if other databases "
           "get the service.", OURS),
    Ruling("D1.8", "A missing or too long name in the header: undeliverable, not acknowledged, no "
           "reply (11201 to 11208).", DOCUMENTED, ERRORS),
    Ruling("D2.1", "A window limits how many messages of a dialog are in flight.", OURS),
    Ruling("D2.2", "A retry sends the oldest unacknowledged message.", OURS),
    Ruling("D2.3", "No message is retried while its previous copy has not left the instance.",
           OURS),
    Ruling("D2.4", "Messages sent before a retry are sent again only if the retry was the copy "
           "that arrived.", OURS),
    Ruling("D2.5", "Frames caused by a copy carry that copy's attempt and the address that it "
           "used; that address is preferred from then on.", OURS),
    Ruling("D2.6", "A status of an earlier attempt is ignored.", OURS),
    Ruling("D2.7", "A retry of an acknowledged message moves the next acknowledgement to the next "
           "address.", OURS),
    Ruling("D3.1", "The first frame of any kind from the target locks the broker id.",
           DOCUMENTED, f"{MULTIPLE}; {SBR}"),
    Ruling("D3.2", "A frame of any other broker has no effect and is answered with 8495 (event "
           "160, 11224).", f"{DOCUMENTED}; the numbers are our choice", MULTIPLE),
    Ruling("D3.3", "An Error from a broker is never answered.", OURS),
    Ruling("D3.4", "A target's endpoint belongs to the broker id that created it: the same "
           "conversation from another broker id is undeliverable and not answered.", OURS),
    Ruling("D3.5", "A frame of a service other than the dialog's far service has no effect and is "
           "not answered (event 160, 11224), whatever its broker id.", OURS),
    Ruling("D4.1", "A statement that the state does not allow is refused: SEND with 8429, END "
           "with 8427.",
           DOCUMENTED, f"{VIEW}; {ERRORS}"),
    Ruling("D4.2", "STARTED_INBOUND until the first message is complete, then CONVERSING.",
           DOCUMENTED, VIEW),
    Ruling("D4.3", "Both sides must END. EndDialog is sent after all earlier messages; a side "
           "whose peer has ended sends none.", DOCUMENTED, END),
    Ruling("D4.4", "An Error moves the endpoint to ERROR and is put into its queue.",
           DOCUMENTED, VIEW),
    Ruling("D4.5", "END WITH CLEANUP removes everything and notifies nobody.", DOCUMENTED, END),
    Ruling("D4.6", "Event 124 reports changes of a conversation.", DOCUMENTED,
           "Broker:Conversation event class"),
    Ruling("D5.1", "A closed initiator reports this with its last acknowledgement, and answers a "
           "late EndDialog.", OURS),
    Ruling("D5.2", "A closed target's key is kept until the initiator is closed plus 1.5 times "
           "the time to live, else until the end of the lifetime plus the same time. The target "
           "asks, at growing intervals, whether the initiator is closed.", OURS),
    Ruling("D5.3", "A replayed first message cannot reopen a dialog.",
           DOCUMENTED, "articles on the lifetime of conversation endpoints"),
    Ruling("D5.4", "A copy that Kafka appended to `in` after its time to live creates no endpoint "
           "and gets no answer (160/11291): its endpoint may have existed and its key may be "
           "deleted.", OURS),
    Ruling("D5.5", "A key is deleted only when all records are applied that were appended to `in` "
           "before the key's time was over.", OURS),
    Ruling("D6.1", "BEGIN uses no network; it needs an active broker (8442), a service (8423), a "
           "contract (8425), a target's name (8412) and a valid lifetime (8406).",
           DOCUMENTED, BEGIN),
    Ruling("D6.2", "BEGIN with an id that the database knows, open or closed, is refused.", OURS),
    Ruling("D6.3", "SEND: the type must be in the contract (8431) and allowed for this side "
           "(8432, 8434); the body may be empty but not NULL (8433).",
           DOCUMENTED, f"{SEND}; {ERRORS}"),
    Ruling("D6.4", "A refused command is an event, and a result if one was requested.", OURS),
    Ruling("D7.1", "A transaction of an endpoint worker changes everything or nothing.", OURS),
    Ruling("D7.2", "An aborted transaction sets its timers again.", OURS),
    Ruling("D7.3", "After a restart processing continues from the committed state.", OURS),
    Ruling("D7.4", "A dialog is dead if the broker id of its database has changed since its "
           "beginning.",
           DOCUMENTED, "Managing Service Broker Identities"),
    Ruling("D6.5", "END WITH ERROR needs a code above 0 (8419) and a text (8422).",
           f"{DOCUMENTED}; 8419 for a code below 1 is our choice", END),
    Ruling("D8.1", "The receiver checks the type (11225, 11226: Error -8498), side (11227, 11228: "
           "-8457, -8437) and body (9704: -9615) of a complete message. An invalid one is "
           "acknowledged but not delivered, and both sides are in ERROR.",
           DOCUMENTED, f"CREATE MESSAGE TYPE; {ERRORS}"),
    Ruling("D8.2", "Messages for a queue that is off are parked and acknowledged; a message that "
           "cannot be parked is not (11219).", DOCUMENTED, "sys.transmission_queue"),
    Ruling("D8.3", "Messages are sent in fragments, which are acknowledged and retried separately "
           "and assembled in any order.", DOCUMENTED, PROTOCOL),
    Ruling("D8.4", "Each side may have one conversation timer, which puts an empty DialogTimer "
           "into that side's queue; a timer beyond the dialog's lifetime is refused (8410).",
           DOCUMENTED, "BEGIN CONVERSATION TIMER"),
    Ruling("D8.5", "ERROR_BROKER_CONVERSATIONS: Errors -9719 here and -9720 there.",
           f"{DOCUMENTED}; the numbers are our choice", "Managing Service Broker Identities"),
    Ruling("D8.6", "After the other side's EndDialog or an Error nothing more is sent; messages "
           "are kept until END (9779, 9784).", DOCUMENTED, ERRORS),
    Ruling("D8.7", "An endpoint's priority is assigned once, by the best match among its own "
           "database's rules.", DOCUMENTED, "CREATE BROKER PRIORITY"),
    Ruling("D8.8", "A conversation group belongs to one service (8420); RELATED_CONVERSATION "
           "joins the group of an existing conversation (8426).", DOCUMENTED, BEGIN),
    Ruling("D8.9", "Messages are sent by priority.", NOT_EMULATED, "CREATE BROKER PRIORITY"),
    Ruling("U-23", "A fragment holds up to 64 KiB.", OURS),
    Ruling("U-24", "A body is at most 100 MB, configurable (on Kafka: 900,000 bytes).", OURS),
    Ruling("U-31", "A parked message is acknowledged.", OURS),
    Ruling("EX-37", "A target learns that it is the locked target from the initiator's first "
           "frame after the lock.", DOCUMENTED, MULTIPLE),
    Ruling("EX-55", "Queue off at the target: messages are parked there and delivered when the "
           "queue is on again.",
           DOCUMENTED, "sys.transmission_queue; articles on queue status"),
    Ruling("Q1", "RECEIVE returns messages of one conversation group, which stays locked until the "
           "transaction ends; WHERE names a conversation or a group.", DOCUMENTED, "RECEIVE"),
    Ruling("Q2", "Groups and conversations with a higher priority are received first.",
           DOCUMENTED, f"RECEIVE; {PRIORITY}"),
    Ruling("Q3", "A DialogTimer is received before all other messages of its conversation, and an "
           "Error before the remaining ones.", DOCUMENTED, "articles on system messages"),
    Ruling("Q4", "GET CONVERSATION GROUP locks the next group without receiving.", DOCUMENTED,
           "GET CONVERSATION GROUP"),
    Ruling("Q5", "A rollback returns the messages to their places.", DOCUMENTED, "RECEIVE"),
    Ruling("Q6", "Five rollbacks in a row turn the queue off, unless poison message handling is "
           "off; the count survives a restart.", DOCUMENTED, "Poison message handling"),
    Ruling("Q7", "END CONVERSATION removes the dialog's messages from the queue.",
           NOT_EMULATED, END),
    Ruling("Q8", "MOVE CONVERSATION: later messages are in the new group; messages in the queue "
           "stay in the old one.", OURS, "MOVE CONVERSATION"),
    Ruling("U-02", "Two broker ids are compared as GUIDs if both are GUIDs, otherwise as text.",
           OURS),
    Ruling("U-14", "A dialog that could not be routed retries within a second after a change of "
           "the catalog, in addition to its normal retries.", OURS),
    Ruling("U-21", "Sequence numbers start at 0.", OURS),
    Ruling("U-22", "END before any SEND: the endpoint is removed, and nothing is sent.", OURS),
    Ruling("U-26", "Acknowledgements are cumulative, and contain the highest number seen and the "
           "messages kept out of order.", OURS),
    Ruling("U-27", "Retries after 4, 8, 16, 32, 64, 64 ... seconds; progress resets the interval.",
           OURS),
    Ruling("U-28", "CONVERSING from the commit of the first SEND.", OURS),
    Ruling("U-29", "The views show a closed target for 30 minutes; D5.2 defines how long its key "
           "stays.", OURS),
    Ruling("U-30", "For a closed endpoint: acknowledged (11212). For an unknown dialog, unless it "
           "is the first message: Error -8462 (11209, 11213).", OURS),
    Ruling("U-32", "Error -8470 only if an established dialog has lost its service; never for a "
           "routing miss.", OURS),
    Ruling("U-39", "The reason decides whether an undeliverable message is acknowledged and "
           "answered.", OURS),
    Ruling("U-47", "END WITH ERROR discards all unacknowledged messages, sent or not; the Error "
           "is accepted even if lower numbers are missing.", OURS),
    Ruling("EX-24", "Load balancing: an even split, and each dialog keeps its target.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-25", "A broker id given at BEGIN prevents load balancing.", DOCUMENTED, MULTIPLE),
    Ruling("EX-33", "Routes without broker ids to different copies of a service: two target "
           "endpoints.", DOCUMENTED, MULTIPLE),
    Ruling("EX-34", "The second copy's acknowledgement is rejected, and its endpoint is in ERROR.",
           f"{DOCUMENTED}; number and state are our choice", MULTIPLE),
    Ruling("EX-35", "The second message is delivered only by the locked copy, once.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-51", "DROP ROUTE during a dialog: messages wait for a new route, or for the end of "
           "the lifetime.", DOCUMENTED, "DROP ROUTE"),
    Ruling("EX-59", "The end of the lifetime: Error -8489 in the endpoint's own queue; SEND is "
           "refused.",
           DOCUMENTED, BEGIN),
    Ruling("EX-66", "One SEND on two handles is atomic: each dialog gets it once, or none does.",
           DOCUMENTED, SEND),
    Ruling("EX-61", "A contract that the target does not accept: Error -8408 at the initiator.",
           f"{DOCUMENTED}; the number is our choice", BEGIN),
)  # fmt: skip
