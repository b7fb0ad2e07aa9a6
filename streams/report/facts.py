"""What the ledger is made from: plain rows, as they were read from topics and state."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class EndpointKey(NamedTuple):
    """One side of a conversation, at its ``instance/database``.

    The place belongs to it: with several targets one conversation has several target endpoints,
    each with messages of its own.
    """

    place: str
    conversation: uuid.UUID
    is_initiator: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that an application handed over and its endpoint did not refuse.

    ``read``: the endpoint worker has read the command. One that it has not read yet may still be
    refused. ``at`` is when it was handed over, in epoch milliseconds.
    """

    sender: EndpointKey
    message_id: uuid.UUID
    sequence: int
    digest: bytes
    read: bool = True
    at: int = 0


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message in a queue topic; ``place`` is instance/database, ``offset`` its position.

    ``latency_ms`` and times are milliseconds; ``path`` names who has passed it on. Positions of one
    ``partition`` only say who was first; ``sent_at`` is when the message was handed over.
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
    """What the committed state of an endpoint says about what it sends and receives.

    ``peer`` is the place of the broker id that the endpoint is locked to, if it is. Numbers below
    ``acknowledged`` are settled: stored at the other side, or discarded from ``discarded_from`` on.
    ``expired`` says that it was closed by the end of its lifetime. From ``deaf_from`` on it shows
    the other side's messages to nobody; those in ``parked`` wait for a queue that is off. It has
    ``sent`` so many messages, those of its end included, and has ``received`` all below a number.
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
        """Tell whether the endpoint gave a message up before it was acknowledged."""
        return self.discarded_from is not None and sequence >= self.discarded_from

    def accepts(self, sequence: int) -> bool:
        """Tell whether a message of the other side is for the queue, by its number."""
        return self.deaf_from is None or sequence < self.deaf_from

    def has_shown(self, sequence: int) -> bool:
        """Tell whether a message of the other side was put into the queue, for all that it knows.

        One that is closed and still listens was closed with its database: it counts what comes.
        """
        if self.state == "CD" and self.deaf_from is None:
            return False
        was_received = sequence < self.received and self.accepts(sequence)
        return was_received and sequence not in self.parked


class Ending(Enum):
    """How an application has ended its side, as its endpoint took it."""

    PLAIN = "END CONVERSATION"
    WITH_ERROR = "END CONVERSATION WITH ERROR"
    WITH_CLEANUP = "END CONVERSATION WITH CLEANUP"


@dataclass(frozen=True, slots=True)
class Missing:
    """A message without an excuse; ``place`` is where it was last seen, ``at`` when it was sent."""

    conversation: uuid.UUID
    from_initiator: bool
    sequence: int
    message_id: uuid.UUID
    place: str = field(default="", compare=False)
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Span:
    """The messages that were handed over from ``first`` on and before ``end``, epoch milliseconds.

    ``None`` is no limit.
    """

    first: int | None = None
    end: int | None = None

    def __contains__(self, at: int) -> bool:
        return (self.first is None or at >= self.first) and (self.end is None or at < self.end)


ALWAYS = Span()
