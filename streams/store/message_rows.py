"""Single messages with problems: missing, found later, or duplicated.

Times are epoch milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MissingMessage:
    """A message that did not arrive within the horizon after its transmission.

    ``sender`` is the owner of the topic into which it was transmitted: an instance, or a mirrored
    pair. ``error`` is the error with which a copy was dropped or rejected, according to the last
    such event (at ``error_at``, by ``error_by``); 0 without such an event. ``seen_at`` is the last
    sighting.
    """

    conversation: str
    from_initiator: bool
    message_id: str
    sequence: int
    from_service: str
    to_service: str
    sender: str
    enqueued_at: int
    expires_at: int
    seen_at: int
    error: int
    error_at: int | None
    error_by: str | None


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that arrived later than a horizon after its first transmission.

    The message is no longer missing. ``places`` are ``instance/database``.
    """

    conversation: str
    message_id: str
    places: str
    delivered_at: int


@dataclass(frozen=True, slots=True)
class CopiedMessage:
    """A message of which several copies reached an endpoint, all within the horizon.

    ``copies`` is the number of copies, which arrived from ``first_at`` to ``last_at``.
    ``delivered`` of them reached a queue (at ``places``: ``instance/database``); the other copies
    were removed. The other fields are the numbers of duplicates by cause
    (see :class:`streams.store.Cause`).
    """

    conversation: str
    from_initiator: bool
    message_id: str
    sequence: int
    from_service: str | None
    to_service: str | None
    places: str
    copies: int
    delivered: int
    retries: int
    redeliveries: int
    several_routes: int
    several_targets: int
    replays: int
    unknown: int
    first_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Gap:
    """An alarm: numbers are missing between messages of one direction of a dialog, in one queue.

    From ``first_at`` to ``last_at``, ``count`` messages with numbers from ``first`` to ``last``
    arrived, so at least ``missing`` of these numbers are absent. If at least as many messages
    arrived twice, ``missing`` is 0, and the row withdraws an earlier alarm with the same key.
    Duplicates have a separate alarm.
    """

    topic: str
    conversation: str
    from_initiator: bool
    window_start: int
    window_end: int
    first: int
    last: int
    count: int
    missing: int
    first_at: int
    last_at: int


MessageRow = MissingMessage | FoundMessage | CopiedMessage | Gap
