"""The rows of the store, as values. Times are epoch milliseconds, durations milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streams.store.message_rows import MessageRow
from streams.store.quantiles import Histogram
from streams.store.state_rows import StateRow


class Cause(Enum):
    """The cause of a duplicate."""

    RETRY = "retry"
    """The sender retried the message (attempt above 0): an acknowledgement was lost or late."""
    REDELIVERY = "redelivery"
    """One transmission arrived twice because it was forwarded again, for example after a crash."""
    SEVERAL_ROUTES = "several routes"
    """The sender's forwarder sent the message over several routes (transport ALL)."""
    SEVERAL_TARGETS = "several targets"
    """The copy reached a target that another target's acknowledgement had excluded (11224)."""
    REPLAY = "application replay"
    """The application issued the message again with the same id, and it was accepted again."""
    UNKNOWN = "unknown"
    """The cause is unknown, for example because the original is older than the horizon."""


@dataclass(frozen=True, slots=True)
class LatencyWindow:
    """Latency of the messages that were delivered in one window over one path.

    ``leg`` 0 is the whole path, from the application's command to the queue. Leg 1 is from the
    command to the first visit (``leg_from`` is empty), leg n from visit n - 1 to visit n; the legs
    of a message add up to its leg 0. ``target`` is ``instance/database``; ``path`` is like
    ``ServerA>GatewayA>ServerB/DatabaseB`` with ``hops`` 2. ``attempts`` counts the transmissions
    before those that arrived. Percentiles interpolate linearly between ranks.
    """

    window_start: int
    window_end: int
    from_service: str
    to_service: str
    target: str
    path: str
    leg: int
    leg_from: str
    leg_to: str
    hops: int
    count: int
    attempts: int
    min: int
    max: int
    p50: float
    p95: float
    p99: float
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class LatencyStretch(LatencyWindow):
    """Several windows, merged into a longer one (:mod:`streams.store.rollup`)."""


@dataclass(frozen=True, slots=True)
class EventWindow:
    """The count of one trace event in a window; ``cause``: the cause, if a duplicate was removed.

    ``route``: the routes of a copy that was not forwarded, joined by ``, ``.
    """

    window_start: int
    window_end: int
    event: int
    error: int
    instance: str
    database: str | None
    from_service: str | None
    to_service: str | None
    route: str | None
    cause: Cause | None
    count: int


@dataclass(frozen=True, slots=True)
class MalformedWindow:
    """The number of records of a topic that could not be decoded, and the reason."""

    window_start: int
    window_end: int
    topic: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """An alarm: the same message was enqueued more than once.

    ``first_at`` and ``last_at`` are the times at which the first and the last copy arrived.
    """

    topic: str
    message_id: str
    fragment: int
    conversation: str | None
    sequence: int
    copies: int
    first_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a query: its last batch, and the rows that were too late to be counted."""

    query: str
    run: str
    batch_id: int
    late: int


Row = (
    LatencyWindow | LatencyStretch | EventWindow | MalformedWindow | Repeat | MessageRow | StateRow
)
