"""Data classes for the state of a server's dialogs at the time of the snapshot.

Times are epoch seconds, UTC; ``None`` means NULL or missing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from streams.topology.findings import NOWHERE, Source
from streams.topology.model import Topology


class DialogState(Enum):
    """``sys.conversation_endpoints.state`` (reference 4.7)."""

    STARTED_OUTBOUND = "SO"
    STARTED_INBOUND = "SI"
    CONVERSING = "CO"
    DISCONNECTED_INBOUND = "DI"
    DISCONNECTED_OUTBOUND = "DO"
    ERROR = "ER"
    CLOSED = "CD"


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A row of ``sys.transmission_queue``: an unacknowledged message."""

    database: str
    handle: uuid.UUID
    to_service: str
    to_broker: str | None = None
    from_service: str | None = None
    contract: str | None = None
    enqueued: float | None = None
    status: str | None = None
    sequence: int | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ConversationEndpoint:
    """A row of ``sys.conversation_endpoints``: one side of a dialog.

    ``expires`` is the column ``lifetime``; ``secured`` is ``security_timestamp``.
    """

    database: str
    handle: uuid.UUID
    conversation: uuid.UUID
    initiator: bool
    state: DialogState
    service: str | None = None
    contract: str | None = None
    group: uuid.UUID | None = None
    expires: float | None = None
    far_service: str | None = None
    far_broker: str | None = None
    secured: float | None = None
    send_sequence: int | None = None
    receive_sequence: int | None = None
    system: bool = False
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ForwardedMessage:
    """A row of ``sys.dm_broker_forwarded_messages``: a copy in transit through this instance."""

    conversation: uuid.UUID
    initiator: bool = True
    to_service: str | None = None
    to_broker: str | None = None
    from_service: str | None = None
    next_hop: str | None = None
    hops_remaining: int | None = None
    time_to_live: int | None = None
    time_consumed: int | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Connection:
    """A row of ``sys.dm_broker_connections``, which does not name the other side."""

    state: int
    login_state: int | None = None
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def online(self) -> bool:
        """Return whether both sides have logged in."""
        return self.state == 4 or self.login_state == 12


@dataclass(frozen=True, slots=True)
class QueueMonitor:
    """A row of ``sys.dm_broker_queue_monitors``: the monitor of a queue with activation.

    ``activated``: when it last started the procedure. ``waiting``: sessions that wait in RECEIVE.
    """

    database: str
    queue: str
    state: str | None = None
    activated: float | None = None
    waiting: int | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class LiveQueue:
    """A row of ``sys.service_queues``, with the number of its messages and its monitor.

    ``procedure`` is the activation procedure, which runs only if ``activates``.
    """

    database: str
    name: str
    receives: bool = True
    retains: bool = False
    procedure: str | None = None
    activates: bool = False
    readers: int | None = None
    messages: int = 0
    monitor: QueueMonitor | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class LiveInstance:
    """The live state of one instance.

    ``missing``: views that the snapshot does not have. ``depths``: messages by database and queue.
    ``texts``: the server's own message texts, by number, in its languages. ``cut``: the real row
    count of truncated views, by database and view. ``closed``: why databases cannot have dialogs,
    by name (read-only, single-user, offline). ``rows``: the number of rows read per view.
    """

    name: str
    taken_at: float | None = None
    messages: tuple[QueuedMessage, ...] = ()
    endpoints: tuple[ConversationEndpoint, ...] = ()
    forwarded: tuple[ForwardedMessage, ...] = ()
    connections: tuple[Connection, ...] = ()
    monitors: tuple[QueueMonitor, ...] = ()
    queues: tuple[LiveQueue, ...] = ()
    depths: Mapping[tuple[str, str], int] = field(default_factory=dict)
    texts: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    cut: Mapping[tuple[str, str], int] = field(default_factory=dict)
    closed: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Live servers: their topology and state; ``live`` is keyed by instance name.

    Errors of the files are among the topology's findings.
    """

    topology: Topology
    live: Mapping[str, LiveInstance] = field(default_factory=dict)

    @property
    def taken_at(self) -> float | None:
        """Return the latest time of all servers, or ``None`` if no row has a time."""
        times = [i.taken_at for i in self.live.values() if i.taken_at is not None]
        return max(times, default=None)
