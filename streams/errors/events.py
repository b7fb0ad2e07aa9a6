"""The broker's trace events, by SQL Trace's numbers (reference 7.1)."""

from __future__ import annotations

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
