"""SQL Server's message numbers that routing, forwarding and dialogs can return.

The texts are paraphrases; scripts and tests compare the number, never the text. Sources: the
documentation's error tables 8000-8999, 9000-9999, 11000-12999 and 28000-30999.
"""

from __future__ import annotations

from enum import IntEnum


class Number(IntEnum):
    """A row of ``sys.messages``; the value is SQL Server's own number."""

    # Statements
    CONVERSATION_ID_IN_USE = 2601
    ERROR_CODE_NOT_INT = 8402
    TIMER_BEYOND_LIFETIME = 8410
    DIALOG_LIFETIME_RANGE = 8411
    SERVICE_NAME_SYNTAX = 8412
    BROKER_INSTANCE_SYNTAX = 8413
    ERROR_CODE_INVALID = 8419
    GROUP_MISSING = 8420
    SERVICE_NAME_MISSING = 8421
    ERROR_DESCRIPTION_MISSING = 8422
    SERVICE_UNKNOWN_HERE = 8423
    CONTRACT_UNKNOWN_HERE = 8425
    HANDLE_UNKNOWN = 8426
    END_STATE = 8427
    TYPE_UNKNOWN_HERE = 8428
    SEND_STATE = 8429
    BODY_FAILED_VALIDATION = 8430
    TYPE_NOT_IN_CONTRACT = 8431
    SENT_BY_TARGET_ONLY = 8432
    BODY_NULL = 8433
    SENT_BY_INITIATOR_ONLY = 8434
    MOVE_STATE = 8438
    GROUP_INVALID = 8439
    NO_BROKER_HERE = 8442
    TIMER_STATE = 8458
    MESSAGE_TOO_LARGE = 8459
    CONTRACT_LACKS_INITIATOR_TYPE = 8492
    GROUP_OF_ANOTHER_SERVICE = 9610
    # Errors sent to the other side (Code = -number)
    CONTRACT_NOT_ACCEPTED = 8408
    TARGET_SENT_INITIATORS_TYPE = 8437
    INITIATOR_SENT_TARGETS_TYPE = 8457
    REMOTE_CANNOT_EXCHANGE = 8462
    SERVICE_ALTERED_HERE = 8468
    SERVICE_ALTERED_THERE = 8469
    SERVICE_DROPPED_THERE = 8470
    CONTRACT_DROPPED_THERE = 8487
    LIFETIME_EXCEEDED = 8489
    REMOTE_SERVICE_MISSING = 8490
    ANOTHER_INSTANCE_ACKNOWLEDGED = 8495
    TYPE_NOT_ACCEPTED = 8498
    VALIDATION_FAILED = 9615
    VALIDATION_FAILED_HERE = 9616
    SERVICE_DROPPED_HERE = 9684
    CONTRACT_DROPPED_HERE = 9685
    CONVERSATION_DROPPED_HERE = 9686
    CONVERSATIONS_ENDED_HERE = 9719
    CONVERSATIONS_ENDED_THERE = 9720
    # DDL
    NOT_FIRST_IN_BATCH = 111
    OBJECT_IN_USE = 3716
    TYPE_REPEATED = 8403
    CONTRACT_REPEATED = 8404
    TOO_MANY_PREFIXES = 9609
    ACTIVATION_INCOMPLETE = 9614
    BINDING_EXISTS = 9619
    CLAUSE_EMPTY = 9659
    CLAUSE_TOO_LONG = 9660
    MIRROR_WITHOUT_BROKER = 9661
    BROKER_WITHOUT_SERVICE = 9662
    QUEUE_ACTIVATES = 9718
    MIRROR_WITH_KEYWORD = 9743
    ADDRESS_INVALID = 9744
    TRANSPORT_WITH_SERVICE = 9745
    LIFETIME_RANGE = 9746
    ADDRESS_EQUALS_MIRROR = 9747
    READ_ONLY_BROKER = 9775
    OBJECT_MISSING = 15151
    PRIORITY_EXISTS = 33303
    # Transmission status
    QUEUE_DISABLED = 9617
    TRANSPORT_DISABLED = 9666
    NO_ROUTE = 9750
    TARGET_UNREACHABLE = 9753
    WAITING_FOR_CONFIGURATION = 9770
    END_RECEIVED = 9779
    ERROR_RECEIVED = 9784
    ADDRESS_UNUSABLE = 9785
    MSDB_BROKER_OFF = 9789
    SENDER_BROKER_OFF = 9791
    FORWARDING_DISABLED = 9792
    MIRRORING_NOT_READY = 9794
    BROKER_NOT_HERE = 9795
    SERVICE_NOT_HERE = 9796
    # Undeliverable (event 160) and corrupted (161)
    FROM_SERVICE_MISSING = 11201
    FROM_SERVICE_TOO_LONG = 11202
    FROM_BROKER_MISSING = 11203
    FROM_BROKER_TOO_LONG = 11204
    TO_SERVICE_MISSING = 11205
    TO_SERVICE_TOO_LONG = 11206
    CONTRACT_MISSING = 11207
    CONTRACT_TOO_LONG = 11208
    DIALOG_UNKNOWN = 11209
    TO_SERVICE_NOT_FOUND = 11210
    ENDPOINT_CLOSED = 11212
    NOT_THE_FIRST_MESSAGE = 11213
    CONTRACT_NOT_USABLE = 11214
    SENDER_NOT_PERMITTED = 11215
    OUT_OF_SEQUENCE = 11217
    DUPLICATE = 11218
    QUEUE_DISABLED_UNPARKED = 11219
    TO_SERVICE_DIFFERS = 11222
    CONTRACT_DIFFERS = 11223
    ANOTHER_INSTANCE_CONVERSES = 11224
    TYPE_UNKNOWN = 11225
    TYPE_OUTSIDE_CONTRACT = 11226
    SENT_BY_WRONG_INITIATOR = 11227
    SENT_BY_WRONG_TARGET = 11228
    XML_INVALID = 9704
    CORRUPTED_HEADER = 11235
    CONVERSATION_ID_NULL = 11271
    SEQUENCE_OUT_OF_BOUNDS = 11274
    END_AND_ERROR = 11275
    END_UNSEQUENCED = 11276
    BEGINS_WITH_ITS_END = 11277
    UNSEQUENCED_NUMBER = 11299
    UNKNOWN_FLAGS = 28001
    SEEN_BEFORE_STORED = 28007
    # Forwarded message dropped (event 140)
    HOPS_EXHAUSTED = 11285
    ALREADY_FORWARDING = 11288
    FORWARD_SIZE_EXCEEDED = 11289
    NOT_DELIVERABLE_IN_TIME = 11290
    TIME_TO_LIVE_EXCEEDED = 11291
    TRANSPORT_SEND_ERROR = 11292
    TRANSPORT_STOPPED = 11293
    ROUTE_INVALID = 11294
    # Endpoint and target broker
    NOT_IN_THIS_STATE = 28004
    IMPOSSIBLE_ACKNOWLEDGEMENT = 28010
    BROKER_DISABLED = 28013
    TARGET_BROKER_UNAVAILABLE = 28016
    TARGET_BROKER_NOT_HERE = 28017
    TARGET_IS_MIRROR = 28018


_TEXTS: dict[int, str] = {
    111: "the statement must be the first of its batch",
    2601: "the database already has a conversation with this id",
    3716: "the object cannot be dropped because another object uses it",
    8402: "the error code of END CONVERSATION must be an int",
    8403: "the contract names a message type more than once",
    8404: "the service names a contract more than once",
    8408: "the target service does not accept the contract",
    8410: "the timer cannot be set beyond the dialog's lifetime",
    8411: "the dialog's lifetime is out of range",
    8412: "the syntax of the service name is not valid",
    8413: "the broker instance is invalid, or longer than 256 bytes",
    8419: "END CONVERSATION WITH ERROR needs an error code above 0",
    8420: "the conversation group is missing",
    8421: "the service name is missing",
    8422: "the error description is missing",
    8423: "the service does not exist in this database",
    8425: "the contract does not exist in this database",
    8426: "the conversation does not exist here",
    8427: "the conversation cannot be ended in its present state",
    8428: "the message type does not exist in this database",
    8429: "the conversation cannot send in its present state",
    8430: "the message body failed the validation of its type",
    8431: "the message type is not part of the contract",
    8432: "the contract lets only the target send this message type",
    8433: "the message body may be empty but not NULL",
    8434: "the contract lets only the initiator send this message type",
    8437: "the target sent a message type that only the initiator may send",
    8438: "the conversation cannot be moved in its present state",
    8439: "the destination conversation group belongs to another service",
    8442: "there is no active Service Broker in this database",
    8457: "the initiator sent a message type that only the target may send",
    8458: "a timer cannot be set in the conversation's present state",
    8459: "the message is larger than the limit",
    8462: "the remote endpoint can no longer exchange messages",
    8468: "the service has been altered",
    8469: "the remote service has been altered",
    8470: "the remote service has been dropped",
    8487: "the contract of the remote service has been dropped",
    8489: "the dialog has exceeded its lifetime",
    8490: "the remote service does not exist",
    8492: "the contract has no message type that the initiator may send",
    8495: "the conversation has been acknowledged by another instance of this service",
    8498: "the remote service sent a message type that is not part of the contract",
    9609: "the name has too many prefixes",
    9610: "the conversation group belongs to another service",
    9614: "activation is on, but no procedure is named",
    9615: "the message failed the validation of its type at the receiver",
    9616: "a received message failed the validation of its type",
    9617: "the queue is disabled",
    9619: "the database already has a binding for this service",
    9659: "the clause must not be empty",
    9660: "the clause is too long",
    9661: "MIRROR_ADDRESS needs both SERVICE_NAME and BROKER_INSTANCE",
    9662: "BROKER_INSTANCE needs SERVICE_NAME",
    9666: "the transport is disabled or not configured: no started endpoint",
    9684: "the service has been dropped, and its conversations with it",
    9685: "the contract has been dropped",
    9686: "the conversation has been removed: its database has a new broker id",
    9704: "the message failed XML validation",
    9718: "the queue already activates a procedure",
    9719: "the database was set to end its conversations with an error",
    9720: "the remote database was set to end its conversations with an error",
    9743: "with MIRROR_ADDRESS, both addresses must be network addresses",
    9744: "the address is not valid",
    9745: "a TRANSPORT route must not name a service or a broker instance",
    9746: "LIFETIME is out of range",
    9747: "ADDRESS and MIRROR_ADDRESS are the same",
    9750: "no route matches the destination service",
    9753: "the target broker is unreachable",
    9770: "routing information was requested from the broker configuration service",
    9775: "a read-only database cannot have a new broker id",
    9779: "the other side has ended: the message will not be sent",
    9784: "there is an error on the dialog: the message will not be sent",
    9785: "the next hop's address is not usable",
    9789: "an incoming message cannot be routed: the broker of msdb is off",
    9791: "the broker is off in the sender's database",
    9792: "message forwarding is disabled here",
    9794: "the mirroring manager is not ready",
    9795: "the target's broker id is not in this instance",
    9796: "the route is LOCAL, but this instance has no such service",
    11201: "the FROM service name is missing",
    11202: "the FROM service name is too long",
    11203: "the FROM broker instance is missing",
    11204: "the FROM broker instance is too long",
    11205: "the TO service name is missing",
    11206: "the TO service name is too long",
    11207: "the contract name is missing",
    11208: "the contract name is too long",
    11209: "the dialog is unknown here",
    11210: "the TO service was not found",
    11212: "the endpoint is already closed",
    11213: "the dialog is unknown, and this is not its first message",
    11214: "the contract is unknown or not accepted",
    11215: "the sender is not permitted to send to the service",
    11217: "the message is out of sequence and cannot be buffered",
    11218: "the message is a duplicate",
    11219: "the destination queue is disabled and its buffer is full",
    11222: "the TO service differs from the endpoint's",
    11223: "the contract differs from the endpoint's",
    11224: "another instance already converses with this endpoint",
    11225: "the message type is unknown here",
    11226: "the message type is not in the contract",
    11227: "the initiator is not allowed to send this message type",
    11228: "the target is not allowed to send this message type",
    11235: "the message's header is malformed",
    11271: "the conversation id is missing",
    11274: "the sequence or fragment number is out of range",
    11275: "a message cannot be both an end and an error",
    11276: "an end must have a sequence number",
    11277: "a dialog cannot begin with an end or an error",
    11299: "an unsequenced message must not have a number",
    11285: "the hop count is exhausted",
    11288: "the same message is already being forwarded",
    11289: "MESSAGE_FORWARD_SIZE would be exceeded",
    11290: "the message could not be delivered within its time to live",
    11291: "the message has outlived its time to live",
    11292: "the transport could not send the message",
    11293: "the transport is shutting down or stopped",
    11294: "the destination route is not valid",
    15151: "the object does not exist",
    28001: "the message has unknown flags",
    28004: "the message is not allowed in the endpoint's state",
    28007: "the received range ends before the stored range",
    28010: "the acknowledgement is for messages that were never sent",
    28013: "the broker is disabled in the target database",
    28016: "the target broker is unavailable",
    28017: "the target broker is not in this instance",
    28018: "the target database is a mirror here and accepts no messages",
    33303: "the database already has a priority with these criteria",
}


def is_known(number: int) -> bool:
    """Return whether a number is one of Hopline's, and not an application's own error code."""
    return int(number) in _TEXTS


def text_of(number: int) -> str:
    """Return Hopline's text for a number, or a neutral text."""
    return _TEXTS.get(int(number), f"SQL Server error {int(number)}")
