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
RESENDING = "Resending messages"
PRIORITY = "CREATE BROKER PRIORITY"

FORWARDING = (
    Ruling("F1", "Forwarding is an option of the endpoint, off by default; with it off, a message "
           "from outside that needs forwarding is dropped (9792).", DOCUMENTED, "CREATE ENDPOINT"),
    Ruling("F2", "A message from outside is routed by msdb's routes: LOCAL delivers it, and any "
           "other address forwards it.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F3", "A forwarder never acknowledges and keeps no dialog state; successive messages "
           "and acknowledgements can take different paths.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F5", "MESSAGE_FORWARD_SIZE limits the messages that wait for a next hop. A copy "
           "beyond the limit is dropped (11289), and no other copy is evicted.",
           DOCUMENTED, f"{FORWARDING_PAGE}; {ERRORS}"),
    Ruling("F9", "Every copy carries a hop count, which each forward decrements. At zero the copy "
           "is dropped (11285).", DOCUMENTED, ERRORS),
    Ruling("F10", "A copy that arrives after its time to live is dropped (11291).",
           DOCUMENTED, ERRORS),
    Ruling("F11", "A message that cannot be forwarded waits for its time to live, and is then "
           "dropped (11290).", DOCUMENTED, ERRORS),
    Ruling("F12", "A message sent from this instance that cannot leave stays in the transmission "
           "queue with a status (9753 and others). Acknowledgements and Errors of a broker have "
           "no status.", DOCUMENTED, "sys.transmission_queue"),
    Ruling("F12.2", "A second copy of a waiting message is dropped (11288).", DOCUMENTED, ERRORS),
    Ruling("F13", "The sender is not notified of drops.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("F14", "An instance is unreachable if it has sent no heartbeat for 5 s by the reader's "
           "own clock. While the reader does not receive its own heartbeats, it judges no "
           "instance.", OURS),
    Ruling("F15", "Forwarded messages have priority 5, a forwarder gives messages new ids, and "
           "licences are checked (11282).", NOT_EMULATED, FORWARDING_PAGE),
    Ruling("U-07", "A message carries the broker id of the conversation, otherwise that of the "
           "chosen route, otherwise none. The forwarder that chooses the route writes it.", OURS),
    Ruling("U-19", "Of several addresses, FAILOVER uses the last good one, uses another one for "
           "each retry, and skips unreachable ones. ALL and SEEDED can be configured.", OURS),
    Ruling("U-34", "A message starts with 16 hops.", OURS),
    Ruling("U-38", "The hop count is checked before the time to live, and before it is "
           "decremented, so n hops pass n forwarders.", OURS),
    Ruling("U-46", "An msdb route to the instance itself is a forward like any other.", OURS),
    Ruling("EX-29", "If one of two gateways is down or loses all messages, both directions "
           "continue.", DOCUMENTED, MULTIPLE),
    Ruling("EX-30", "If two gateways are both used, one copy is a duplicate.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-45", "In a routing loop, a copy is forwarded 16 times, then dropped (11285); every "
           "retry repeats this.", DOCUMENTED, f"{FORWARDING_PAGE}; {ERRORS}"),
    Ruling("EX-46", "If a next hop does not answer, a copy is buffered for its time to live, then "
           "dropped (11290).", DOCUMENTED, ERRORS),
    Ruling("EX-47", "1 MiB of memory holds 51 messages of 20 KB.", DOCUMENTED, FORWARDING_PAGE),
    Ruling("EX-48", "If a forwarder crashes with buffered messages, nothing is lost or duplicated.",
           DOCUMENTED, FORWARDING_PAGE),
    Ruling("EX-49", "An expired route is not used, not even by an earlier plan.",
           DOCUMENTED, "CREATE ROUTE"),
    Ruling("EX-65", "A message passes a chain of three instances, and its acknowledgement returns "
           "through the chain.", DOCUMENTED, "a public three-instance forwarding script"),
)  # fmt: skip

DIALOGS = (
    Ruling("D1.1", "The receiver delivers messages in ascending order, each once.",
           DOCUMENTED, PROTOCOL),
    Ruling("D1.2", "A duplicate is acknowledged again, not enqueued, and reported as event 160 "
           "with 11218.", DOCUMENTED, f"{PROTOCOL}; {ERRORS}"),
    Ruling("D1.3", "Messages out of order are kept until the gap closes.", DOCUMENTED, PROTOCOL),
    Ruling("D1.4", "A message that the receiver cannot keep is not acknowledged, and reported as "
           "event 160 with 11217. Messages within the window are kept.",
           f"{DOCUMENTED}; the window is our choice", ERRORS),
    Ruling("D1.5", "The first message of a dialog to arrive creates the target's endpoint.",
           DOCUMENTED, VIEW),
    Ruling("D1.6", "A dialog's first message is neither an EndDialog nor an Error (11277).",
           DOCUMENTED, ERRORS),
    Ruling("D1.7", "A dialog stays in the database that has its endpoint, even if other databases "
           "get the service.", OURS),
    Ruling("D1.8", "A message with a missing or too long name in its header is undeliverable, is "
           "not acknowledged and gets no reply (11201 to 11208).", DOCUMENTED, ERRORS),
    Ruling("D2.1", "A window limits how many messages of a dialog are in flight.", OURS),
    Ruling("D2.2", "A retry sends the oldest unacknowledged message.", OURS),
    Ruling("D2.3", "No message is retried while its previous copy has not left the instance.",
           OURS),
    Ruling("D2.4", "Messages sent before a retry are sent again only if the retry was the copy "
           "that arrived.", OURS),
    Ruling("D2.5", "Frames that a copy causes carry that copy's attempt and the address that it "
           "used; that address is preferred from then on.", OURS),
    Ruling("D2.6", "A status of an earlier attempt is ignored.", OURS),
    Ruling("D2.7", "A retry of an acknowledged message moves the next acknowledgement to the next "
           "address.", OURS),
    Ruling("D3.1", "The first frame of any kind from the target locks the broker id.",
           DOCUMENTED, f"{MULTIPLE}; {SBR}"),
    Ruling("D3.2", "A frame of any other broker has no effect and is answered with 8495 (event "
           "160, 11224).", f"{DOCUMENTED}; the numbers are our choice", MULTIPLE),
    Ruling("D3.3", "An Error from a broker is never answered.", OURS),
    Ruling("D3.4", "A target's endpoint belongs to the broker id that created it. A frame of the "
           "same conversation from another broker id is undeliverable and not answered.", OURS),
    Ruling("D3.5", "A frame of a service other than the dialog's far service has no effect and is "
           "not answered (event 160, 11224), whatever its broker id.", OURS),
    Ruling("D4.1", "A statement that the state does not allow is refused, SEND with 8429 and END "
           "with 8427.", DOCUMENTED, f"{VIEW}; {ERRORS}"),
    Ruling("D4.2", "The state is STARTED_INBOUND until the first message is complete, then "
           "CONVERSING.", DOCUMENTED, VIEW),
    Ruling("D4.3", "Both sides must end the conversation. EndDialog is sent after all earlier "
           "messages; a side whose peer has ended sends no EndDialog.", DOCUMENTED, END),
    Ruling("D4.4", "An Error changes the endpoint's state to ERROR and is put into its queue.",
           DOCUMENTED, VIEW),
    Ruling("D4.5", "END WITH CLEANUP removes everything and notifies nobody. A new message of the "
           "other side is answered with Error -8462.", DOCUMENTED, f"{END}; {RESENDING}"),
    Ruling("D4.6", "Event 124 reports changes of a conversation.", DOCUMENTED,
           "Broker:Conversation event class"),
    Ruling("D5.1", "A closed initiator reports this with its last acknowledgement, and answers a "
           "late EndDialog.", OURS),
    Ruling("D5.2", "A closed target's key is kept until the initiator is closed, otherwise until "
           "the end of the lifetime, plus 1.5 times the time to live. The target asks, at growing "
           "intervals, whether the initiator is closed.", OURS),
    Ruling("D5.3", "A replayed first message cannot reopen a dialog.",
           DOCUMENTED, "Service Broker Demystified: CLOSED conversations"),
    Ruling("D5.4", "A copy that Kafka appended to `in` after its time to live creates no endpoint "
           "and gets no answer (160/11291), because its endpoint might have existed, and its key "
           "might be deleted.", OURS),
    Ruling("D5.5", "A key is deleted only after all records that were appended to `in` before the "
           "key's expiry have been applied.", OURS),
    Ruling("D6.1", "BEGIN uses no network; it needs an active broker (8442), a service (8423), a "
           "contract (8425), a target's name (8412) and a valid lifetime (8411).",
           DOCUMENTED, BEGIN),
    Ruling("D6.2", "BEGIN is refused with an id that the database knows, open or closed (2601).",
           OURS),
    Ruling("D6.3", "SEND needs a type that exists (8428), is in the contract (8431) and is allowed "
           "for this side (8432, 8434); the body may be empty but not NULL (8433).",
           DOCUMENTED, f"{SEND}; {ERRORS}"),
    Ruling("D6.4", "A refused command causes an event, and a result if one was requested.", OURS),
    Ruling("D7.1", "A transaction of an endpoint worker applies all of its changes or none.", OURS),
    Ruling("D7.2", "An aborted transaction sets its timers again.", OURS),
    Ruling("D7.3", "After a restart, processing continues from the committed state.", OURS),
    Ruling("D7.4", "NEW_BROKER removes the conversations of the database, without an EndDialog or "
           "Error on either side (event 124, 9686).", f"{DOCUMENTED}; the event is our choice",
           "ALTER DATABASE SET options"),
    Ruling("D6.5", "END WITH ERROR needs an int above 0 as its code (8419, 8402) and a text "
           "(8422).",
           f"{DOCUMENTED}; the numbers for other codes are our choice", END),
    Ruling("D8.1", "The receiver checks the type (11225: Error -8428, 11226: -8498), side (11227, "
           "11228: -8457, -8437) and body (9704: -9615, for EMPTY 8430: -8430) of a complete "
           "message. An invalid message is acknowledged but not delivered, and both sides are in "
           "ERROR. For 9704, the receiver's own Error is -9616.",
           DOCUMENTED, f"CREATE MESSAGE TYPE; {RESENDING}; {ERRORS}"),
    Ruling("D8.2", "Messages for a queue that is off are parked and acknowledged; a message that "
           "cannot be parked is not acknowledged (11219).", DOCUMENTED, "sys.transmission_queue"),
    Ruling("D8.3", "Messages are sent in fragments, which are acknowledged and retried separately "
           "and assembled in any order.", DOCUMENTED, PROTOCOL),
    Ruling("D8.4", "Each side may have one conversation timer, which puts an empty DialogTimer "
           "into that side's queue; a timer beyond the dialog's lifetime is refused (8410).",
           DOCUMENTED, "BEGIN CONVERSATION TIMER"),
    Ruling("D8.5", "ERROR_BROKER_CONVERSATIONS causes Error -9719 on this side and -9720 on the "
           "other side.",
           f"{DOCUMENTED}; the numbers are our choice", "Managing Service Broker Identities"),
    Ruling("D8.10", "DROP CONTRACT ends the conversations that use the contract (-9685, other "
           "side -8487), and ALTER SERVICE with DROP CONTRACT those of the service (-8468, "
           "-8469).", f"{DOCUMENTED}; the numbers of this side are our choice",
           f"DROP CONTRACT; ALTER SERVICE; {RESENDING}"),
    Ruling("D8.11", "After ALTER SERVICE ... ON QUEUE, messages that are parked or arrive later "
           "are put into the new queue.", DOCUMENTED, "ALTER SERVICE"),
    Ruling("D8.12", "ALTER SERVICE ... ON QUEUE also moves the messages that are in the old "
           "queue; in Hopline, these stay in the old queue's topic until they are received.",
           NOT_EMULATED, "ALTER SERVICE"),
    Ruling("D8.6", "After the other side's EndDialog or an Error, nothing more is sent; messages "
           "are kept until END (9779, 9784).", DOCUMENTED, ERRORS),
    Ruling("D8.7", "An endpoint's priority is assigned once, by the best match among its own "
           "database's rules.", DOCUMENTED, "CREATE BROKER PRIORITY"),
    Ruling("D8.8", "A conversation group belongs to one service (9610, for MOVE 8439); "
           "RELATED_CONVERSATION joins the group of an existing conversation (8426).",
           DOCUMENTED, BEGIN),
    Ruling("D8.9", "Messages are sent by priority.", NOT_EMULATED, "CREATE BROKER PRIORITY"),
    Ruling("U-23", "A fragment holds up to 64 KiB.", OURS),
    Ruling("U-24", "A body is at most 100 MB, which can be configured (on Kafka: 900,000 bytes).",
           OURS),
    Ruling("U-31", "A parked message is acknowledged.", OURS),
    Ruling("EX-37", "A target learns that it is the locked target from the initiator's first "
           "frame after the lock.", DOCUMENTED, MULTIPLE),
    Ruling("EX-55", "If the queue of the target is off, messages are parked at the target and "
           "delivered when the queue is on again.",
           DOCUMENTED, "Transmission Queue; Starting and Stopping the Queue"),
    Ruling("Q1", "RECEIVE returns messages of one conversation group, which stays locked until the "
           "transaction ends; WHERE names a conversation or a group.", DOCUMENTED, "RECEIVE"),
    Ruling("Q2", "Groups and conversations with a higher priority are received first.",
           DOCUMENTED, f"RECEIVE; {PRIORITY}"),
    Ruling("Q3", "A DialogTimer is received before all other messages of its conversation, and an "
           "Error before the remaining messages.", DOCUMENTED, "Broker System Messages"),
    Ruling("Q4", "GET CONVERSATION GROUP locks the next group without receiving messages.",
           DOCUMENTED,
           "GET CONVERSATION GROUP"),
    Ruling("Q5", "A rollback returns the messages to their places.", DOCUMENTED, "RECEIVE"),
    Ruling("Q6", "Five rollbacks in a row turn the queue off, unless poison message handling is "
           "off; the count survives a restart.", DOCUMENTED, "Poison message handling"),
    Ruling("Q7", "END CONVERSATION removes the dialog's messages from the queue.",
           NOT_EMULATED, END),
    Ruling("Q8", "After MOVE CONVERSATION, later messages are in the new group; messages in the "
           "queue stay in the old one.", OURS, "MOVE CONVERSATION"),
    Ruling("U-02", "Two broker ids are compared as GUIDs if both are GUIDs, otherwise as text.",
           OURS),
    Ruling("U-14", "A dialog that could not be routed retries within a second after a change of "
           "the catalog, in addition to its normal retries.", OURS),
    Ruling("U-21", "Sequence numbers start at 0.", OURS),
    Ruling("U-22", "After END before any SEND, the endpoint is removed, and nothing is sent.",
           OURS),
    Ruling("U-26", "Acknowledgements are cumulative, and contain the highest number seen and the "
           "messages kept out of order.", OURS),
    Ruling("U-27", "A message is retried after 4, 8, 16, 32, 64, 64 ... seconds; progress resets "
           "the interval.", OURS),
    Ruling("U-28", "The state is CONVERSING from the commit of the first SEND.", OURS),
    Ruling("U-29", "The views show a closed target for 30 minutes; D5.2 defines how long its key "
           "stays.", OURS),
    Ruling("U-30", "A message for an endpoint that both sides have closed is acknowledged "
           "(11212). A message for an unknown dialog, unless it is the first message, is answered "
           "with Error -8462 (11209, 11213).", OURS),
    Ruling("U-32", "Error -8470 is sent only if an established dialog has lost its service, and "
           "Error -8490 only if BEGIN names the broker id of a database without the service; "
           "neither is sent for a routing miss.", OURS),
    Ruling("U-39", "The reason decides whether an undeliverable message is acknowledged and "
           "answered.", OURS),
    Ruling("U-47", "END WITH ERROR discards all unacknowledged messages, sent or not; the Error "
           "is accepted even if lower numbers are missing.", OURS),
    Ruling("EX-24", "Load balancing splits dialogs evenly, and each dialog keeps its target.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-25", "A broker id given at BEGIN prevents load balancing.", DOCUMENTED, MULTIPLE),
    Ruling("EX-33", "Routes without broker ids to different copies of a service create two target "
           "endpoints.", DOCUMENTED, MULTIPLE),
    Ruling("EX-34", "The second copy's acknowledgement is rejected, and its endpoint is in ERROR.",
           f"{DOCUMENTED}; number and state are our choice", MULTIPLE),
    Ruling("EX-35", "The second message is delivered only by the locked copy, once.",
           DOCUMENTED, MULTIPLE),
    Ruling("EX-51", "After DROP ROUTE during a dialog, messages wait for a new route, or for the "
           "end of the lifetime.", DOCUMENTED, "DROP ROUTE"),
    Ruling("EX-59", "At the end of the lifetime, Error -8489 is put into the endpoint's own "
           "queue, and SEND is refused.", DOCUMENTED, BEGIN),
    Ruling("EX-66", "One SEND on two handles is atomic: each dialog gets the message once, or "
           "neither does.", DOCUMENTED, SEND),
    Ruling("EX-61", "A contract that the target does not accept causes Error -8408 at the "
           "initiator; -8425 if the target's database lacks it.", DOCUMENTED,
           f"{BEGIN}; {RESENDING}"),
)  # fmt: skip
