"""The input and the outcome of a forwarder."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streams.errors import Event
from streams.protocol import Status
from streams.routing import Origin


class Place(Enum):
    """The kind of topic for a copy."""

    TXQ = "txq"
    IN = "in"
    ACK = "ack"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of ``out`` (inside), or of ``txq`` or ``ingress`` (outside).

    ``is_ack``: the record has no sb-message. ``size`` is the body's size in bytes, because
    MESSAGE_FORWARD_SIZE does not count headers (EX-47). ``writer`` is the other cluster that wrote
    the record, if any.
    """

    origin: Origin
    key: bytes
    route: bytes
    hop: bytes
    size: int
    is_ack: bool
    message: bytes | None = None
    writer: str | None = None

    @property
    def source(self) -> Origin | str:
        """Return the part of the record's source that affects the outcome."""
        return self.origin if self.writer is None else self.writer


@dataclass(frozen=True, slots=True)
class Copy:
    """Write the record to this place, with these two headers replaced.

    ``inside`` is relevant only for ``in``, where it marks the message as sent from this instance.
    If ``database`` is set, it is a mirrored database, and the copy is written to ``in`` or ``ack``
    of its pair.
    """

    place: Place
    instance: str
    route: bytes
    hop: bytes
    inside: bool = False
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one record. An empty outcome means that the record is buffered in memory.

    ``ask`` is an additional Status, which requests a route (R11) and has its own key.
    """

    copies: tuple[Copy, ...] = ()
    status: Status | None = None
    event: Event | None = None
    ask: Status | None = None

    @property
    def statuses(self) -> tuple[Status, ...]:
        """Return the statuses for ``ack``, each with its conversation."""
        return tuple(status for status in (self.status, self.ask) if status is not None)


HELD = Outcome()
