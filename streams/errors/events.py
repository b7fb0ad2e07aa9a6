"""The broker's trace events, by SQL Trace's numbers (reference 7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class EventKind(IntEnum):
    """An event class of SQL Trace that Hopline emits on the ``event`` topic."""

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


SUBCLASSES: Mapping[EventKind, Mapping[int, str]] = {
    EventKind.CONVERSATION: {
        2: "END CONVERSATION",
        3: "END CONVERSATION WITH ERROR",
        7: "received END CONVERSATION",
        8: "received END CONVERSATION WITH ERROR",
        9: "received a broker Error",
        10: "END CONVERSATION acknowledged",
        11: "BEGIN DIALOG",
        12: "endpoint created",
        13: "END CONVERSATION WITH CLEANUP",
    },
    EventKind.MESSAGE_CLASSIFY: {1: "local", 2: "remote", 3: "delayed"},
    EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT: {4: "acknowledgement received, broker id locked"},
    EventKind.MESSAGE_UNDELIVERABLE: {1: "sequenced", 2: "unsequenced"},
}
"""What an event's subclass says (reference 7.1)."""
