"""The broker's trace events, by SQL Trace's numbers (reference 7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class EventKind(IntEnum):
    """An event class of SQL Trace, as in the ``event`` topic; Hopline never emits some of them."""

    CONVERSATION = 124
    CONVERSATION_GROUP = 136
    CONNECTION = 138
    FORWARDED_MESSAGE_SENT = 139
    FORWARDED_MESSAGE_DROPPED = 140
    MESSAGE_CLASSIFY = 141
    TRANSMISSION = 142
    QUEUE_DISABLED = 143
    MIRRORED_ROUTE_STATE_CHANGED = 144
    REMOTE_MESSAGE_ACKNOWLEDGEMENT = 149
    MESSAGE_UNDELIVERABLE = 160
    CORRUPTED_MESSAGE = 161
    ACTIVATION = 163

    @property
    def title(self) -> str:
        """Return the name that SQL Server Profiler shows, such as ``Broker:Message Classify``."""
        return "Broker:" + self.name.replace("_", " ").title()


class ConversationEvent(IntEnum):
    """The subclasses of event 124 that Hopline emits."""

    ENDED = 2
    ENDED_WITH_ERROR = 3
    BROKER_INITIATED_ERROR = 4
    TERMINATED = 5
    END_RECEIVED = 7
    ERROR_RECEIVED = 8
    BROKER_ERROR_RECEIVED = 9
    END_ACKNOWLEDGED = 10
    BEGUN = 11
    CREATED = 12
    CLEANED_UP = 13


SUBCLASSES: Mapping[EventKind, Mapping[int, str]] = {
    EventKind.CONVERSATION: {
        ConversationEvent.ENDED: "END CONVERSATION",
        ConversationEvent.ENDED_WITH_ERROR: "END CONVERSATION WITH ERROR",
        ConversationEvent.BROKER_INITIATED_ERROR: "Error created by the broker",
        ConversationEvent.TERMINATED: "dialog terminated",
        ConversationEvent.END_RECEIVED: "received END CONVERSATION",
        ConversationEvent.ERROR_RECEIVED: "received END CONVERSATION WITH ERROR",
        ConversationEvent.BROKER_ERROR_RECEIVED: "received a broker Error",
        ConversationEvent.END_ACKNOWLEDGED: "END CONVERSATION acknowledged",
        ConversationEvent.BEGUN: "BEGIN DIALOG",
        ConversationEvent.CREATED: "endpoint created",
        ConversationEvent.CLEANED_UP: "END CONVERSATION WITH CLEANUP",
    },
    EventKind.MESSAGE_CLASSIFY: {1: "local", 2: "remote", 3: "delayed"},
    EventKind.MIRRORED_ROUTE_STATE_CHANGED: {
        1: "operational",
        2: "operational with principal only",
        3: "not operational",
    },
    EventKind.ACTIVATION: {1: "started", 2: "ended", 3: "aborted"},
    EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT: {4: "acknowledgement received, broker id locked"},
    EventKind.MESSAGE_UNDELIVERABLE: {1: "sequenced", 2: "unsequenced"},
}
"""The text of an event's subclass (reference 7.1)."""
