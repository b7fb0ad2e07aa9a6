"""What a forwarder reads, and what becomes of it: values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streams.errors import Event
from streams.protocol import Status
from streams.routing import Origin


class Place(Enum):
    """The kind of topic that a copy goes to."""

    TXQ = "txq"
    IN = "in"
    ACK = "ack"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of ``out`` (inside), or of ``txq`` or ``ingress`` (outside).

    ``is_ack`` where it has no sb-message. ``size`` is the body's, in bytes: MESSAGE_FORWARD_SIZE
    counts no headers (EX-47). ``writer`` is the other cluster that wrote it, if one did.
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
        """Return where it is from, as far as that decides what becomes of it."""
        return self.origin if self.writer is None else self.writer


@dataclass(frozen=True, slots=True)
class Copy:
    """Write the record to this place, with these two headers renewed.

    ``inside`` matters in ``in`` only: whether the message counts as begun here. ``database`` is the
    mirrored one into whose pair's ``in`` or ``ack`` it belongs, if it is one.
    """

    place: Place
    instance: str
    route: bytes
    hop: bytes
    inside: bool = False
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one record. Nothing at all in it means: held in memory.

    ``ask`` is a Status too: it asks for a route (R11), and has a key of its own.
    """

    copies: tuple[Copy, ...] = ()
    status: Status | None = None
    event: Event | None = None
    ask: Status | None = None

    @property
    def statuses(self) -> tuple[Status, ...]:
        """Return what is to be written to ``ack``, each under its own conversation."""
        return tuple(status for status in (self.status, self.ask) if status is not None)


HELD = Outcome()
