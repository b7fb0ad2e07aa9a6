"""The input of the ledger: plain rows from topics and state."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class EndpointKey(NamedTuple):
    """One side of a conversation in an ``instance/database``.

    The place is part of the key, because with several targets, one conversation has several target
    endpoints, each with its own messages.
    """

    place: str
    conversation: uuid.UUID
    is_initiator: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that an application sent and its endpoint did not reject.

    ``read``: whether the endpoint worker has read the command. An unread command may be rejected.
    ``at`` is the time at which it was sent, in epoch milliseconds.
    """

    sender: EndpointKey
    message_id: uuid.UUID
    sequence: int
    digest: bytes
    read: bool = True
    at: int = 0


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message in a queue topic, at ``offset``; ``place`` is the instance/database of the queue.

    ``latency_ms`` and times are in milliseconds; ``path`` contains the forwarders. Positions only
    determine the order within a ``partition``. ``sent_at`` is the time at which the message was
    sent.
    """

    conversation: uuid.UUID
    from_initiator: bool
    message_id: uuid.UUID
    sequence: int
    digest: bytes
    place: str
    offset: int
    latency_ms: int
    path: tuple[str, ...]
    arrived_at: int
    partition: int = 0
    sent_at: int = 0


@dataclass(frozen=True, slots=True)
class Side:
    """The committed state of an endpoint, for the messages that it sends and receives.

    ``peer`` is the database to which the endpoint is locked, if any. Messages with
    numbers below ``acknowledged`` are settled: stored on the other side, or discarded from
    ``discarded_from`` on. ``expired``: whether it was closed at the end of its lifetime. Messages
    of the other side from ``deaf_from`` on are not delivered; messages in ``parked`` wait for a
    queue that is off. ``sent`` is the number of the endpoint's messages, including those of its
    end. The endpoint has received all of the other side's messages below ``received``.
    """

    endpoint: EndpointKey
    state: str
    peer: str | None
    acknowledged: int
    discarded_from: int | None = None
    expired: bool = False
    deaf_from: int | None = None
    parked: frozenset[int] = frozenset()
    sent: int | None = None
    received: int = 0

    def has_discarded(self, sequence: int) -> bool:
        """Return whether the endpoint discarded a message before it was acknowledged."""
        return self.discarded_from is not None and sequence >= self.discarded_from

    def accepts(self, sequence: int) -> bool:
        """Return whether the other side's message with this number is meant for the queue."""
        return self.deaf_from is None or sequence < self.deaf_from

    def has_shown(self, sequence: int) -> bool:
        """Return whether a message of the other side was enqueued, as far as the state shows.

        A closed endpoint that still accepts messages was closed with its database. It counts the
        messages that arrive.
        """
        if self.state == "CD" and self.deaf_from is None:
            return False
        was_received = sequence < self.received and self.accepts(sequence)
        return was_received and sequence not in self.parked


class Ending(Enum):
    """How an application has ended its side, according to its endpoint."""

    PLAIN = "END CONVERSATION"
    WITH_ERROR = "END CONVERSATION WITH ERROR"
    WITH_CLEANUP = "END CONVERSATION WITH CLEANUP"


@dataclass(frozen=True, slots=True)
class Missing:
    """An unexplained message; ``place`` is its last known location, ``at`` the time it was sent."""

    conversation: uuid.UUID
    from_initiator: bool
    sequence: int
    message_id: uuid.UUID
    place: str = field(default="", compare=False)
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Span:
    """The messages sent at or after ``first`` and before ``end``; both are epoch milliseconds.

    ``None`` means no limit.
    """

    first: int | None = None
    end: int | None = None

    def __contains__(self, at: int) -> bool:
        return (self.first is None or at >= self.first) and (self.end is None or at < self.end)


ALWAYS = Span()
