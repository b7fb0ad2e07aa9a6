"""The meaning of one trace event, from any tool (reference 7.3).

Every event becomes a trace event of Hopline. A SEND, END or BEGIN DIALOG also becomes a statement.
Most events also contain facts about the whole dialog: its parties, contract, initiator's place, or
a message's type.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streams.capture.foreign.cells import small, word
from streams.capture.foreign.findings import (
    Endpoint,
    Finding,
    ForeignStatement,
    Party,
    TraceEvent,
    Typed,
)
from streams.errors import EventKind
from streams.protocol.command import CommandKind

SEND, END, END_WITH_ERROR, BEGIN, CREATED, CLEANUP = 1, 2, 3, 11, 12, 13
"""Subclasses of Broker:Conversation that applications cause."""
UNKNOWN_ERROR = 1, "the trace does not have the error"
"""The default error of END CONVERSATION WITH ERROR, for which a trace has no code or text."""
_DEEDS = {
    SEND: CommandKind.SEND,
    END: CommandKind.END,
    END_WITH_ERROR: CommandKind.END,
    BEGIN: CommandKind.BEGIN,
    CLEANUP: CommandKind.END,
}
_STATES = {
    "startedoutbound": "SO",
    "startedinbound": "SI",
    "conversing": "CO",
    "disconnectedinbound": "DI",
    "disconnectedoutbound": "DO",
    "error": "ER",
    "closed": "CD",
}
_PASSING = (EventKind.FORWARDED_MESSAGE_SENT, EventKind.FORWARDED_MESSAGE_DROPPED)
_BEARS_NO_DIALOG = (
    EventKind.CONVERSATION_GROUP, EventKind.CONNECTION, EventKind.QUEUE_DISABLED,
    EventKind.MIRRORED_ROUTE_STATE_CHANGED, EventKind.ACTIVATION,
)  # fmt: skip

SUBCLASSES: Mapping[EventKind, Mapping[str, int]] = {
    EventKind.CONVERSATION: {
        "sendmessage": 1, "send": 1, "endconversation": 2, "endconversationwitherror": 3,
        "brokerinitiatederror": 4, "terminatedialog": 5, "receivedsequencedmessage": 6,
        "receivedendconversation": 7, "receivedendconversationwitherror": 8,
        "receivedbrokererrormessage": 9, "receivedbrokererror": 9,
        "receivedendconversationack": 10, "begindialog": 11, "dialogcreated": 12,
        "endconversationwithcleanup": 13,
    },
    EventKind.CONVERSATION_GROUP: {"create": 1, "drop": 2},
    EventKind.CONNECTION: {
        "connecting": 1, "connected": 2, "connectfailed": 3, "closing": 4, "closed": 5,
        "accept": 6, "sendioerror": 7, "receiveioerror": 8,
    },
    EventKind.MESSAGE_CLASSIFY: {"local": 1, "remote": 2, "delayed": 3},
    EventKind.MIRRORED_ROUTE_STATE_CHANGED: {
        "operational": 1, "operationalwithprincipalonly": 2, "notoperational": 3,
    },
    EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT: {
        "messagewithacksent": 1, "acksent": 2, "messagewithackreceived": 3, "ackreceived": 4,
    },
    EventKind.MESSAGE_UNDELIVERABLE: {"sequenced": 1, "unsequenced": 2},
    EventKind.ACTIVATION: {
        "started": 1, "ended": 2, "aborted": 3, "notified": 4, "taskoutput": 5, "failedtostart": 6,
    },
}  # fmt: skip
"""The text of a subclass, and its number (reference 7.1)."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An event from any tool; ``at`` is epoch milliseconds, ``rank`` its number on the server.

    ``from_initiator`` is the side of the endpoint for event 124, otherwise the sender's side.
    """

    kind: EventKind
    subclass: int
    at: int
    rank: int
    instance: str
    database: str | None = None
    conversation: uuid.UUID | None = None
    from_initiator: bool | None = None
    handle: uuid.UUID | None = None
    state: str | None = None
    contract: str | None = None
    from_service: str | None = None
    to_service: str | None = None
    from_broker: str | None = None
    to_broker: str | None = None
    next_hop: str | None = None
    hops_remaining: int | None = None
    message_id: str | None = None
    type: str | None = None
    sequence: int | None = None
    error: int = 0
    detail: str = ""


def subclass_of(kind: EventKind, raw: Any) -> int | None:
    """Parse a subclass: a number, ``11 - BEGIN DIALOG``, or its words; ``None`` if unknown."""
    number = small(raw)
    return number if number is not None else SUBCLASSES.get(kind, {}).get(word(raw))


def state_of(raw: Any) -> str | None:
    """Return an endpoint's state as its two-letter code."""
    text = word(raw)
    return _STATES.get(text) or (text.upper() if text.upper() in _STATES.values() else None)


def bears_dialog(kind: EventKind) -> bool:
    """Return whether an event concerns a dialog and is useless without the dialog's id."""
    return kind not in _BEARS_NO_DIALOG


def findings_of(seen: Seen) -> Iterator[Finding]:
    """Yield the findings of an event."""
    yield TraceEvent(seen.at, seen.rank, seen.conversation, _event(seen))
    if seen.conversation is None or seen.from_initiator is None:
        return
    yield from _about(seen, seen.conversation, seen.from_initiator)
    if seen.kind is EventKind.CONVERSATION:
        yield from _statement(seen, seen.conversation, seen.from_initiator)


def _about(seen: Seen, conversation: uuid.UUID, initiator: bool) -> Iterator[Finding]:
    if seen.kind is EventKind.CONVERSATION:
        home = (seen.instance, seen.database) if initiator else (None, None)
        yield Party(conversation, None, None, seen.contract, *home)
        if seen.handle is not None:
            yield Endpoint(seen.instance, seen.handle, conversation, initiator)
        return
    ends = (seen.from_service, seen.to_service)
    if any(ends):
        yield Party(conversation, *(ends if initiator else ends[::-1]))
    if seen.kind in _PASSING and seen.type is not None and seen.sequence is not None:
        yield Typed(conversation, initiator, seen.sequence, seen.type)


def _statement(seen: Seen, conversation: uuid.UUID, initiator: bool) -> Iterator[ForeignStatement]:
    kind = _DEEDS.get(seen.subclass)
    if kind is None or (kind is CommandKind.BEGIN and not initiator):
        return
    failed = seen.subclass == END_WITH_ERROR
    yield ForeignStatement(
        seen.at, seen.rank, conversation, initiator, kind, seen.instance, seen.database,
        error_code=UNKNOWN_ERROR[0] if failed else None,
        error_text=UNKNOWN_ERROR[1] if failed else None,
        cleanup=seen.subclass == CLEANUP,
    )  # fmt: skip


def _event(seen: Seen) -> dict[str, Any]:
    return {
        "event": int(seen.kind),
        "subclass": seen.subclass,
        "at": seen.at,
        "instance": seen.instance,
        "database": seen.database,
        "conversation": None if seen.conversation is None else str(seen.conversation),
        "from_initiator": seen.from_initiator,
        "error": seen.error,
        "sequence": seen.sequence,
        "message_id": seen.message_id,
        "from_service": seen.from_service,
        "to_service": seen.to_service,
        "from_broker": seen.from_broker,
        "to_broker": seen.to_broker,
        "next_hop": seen.next_hop,
        "hops_remaining": seen.hops_remaining,
        "state": seen.state,
        "detail": seen.detail,
    }
