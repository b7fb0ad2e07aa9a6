"""The history of one dialog as data classes: its steps, and the outcome of each message.

Times are in epoch milliseconds, but a step's :class:`Sight` has microseconds since the first step.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from streams.diagram import Sight
from streams.live.life.decide import Decided
from streams.protocol import Dialog


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    ``facts`` contains (name, text) pairs, and ``decisions`` contains the decisions of forwarders;
    ``where`` is the place of the step's record. ``message`` is (from the initiator, number) if the
    step concerns a message; ``number`` is SQL Server's error number, if any.
    """

    at: int
    sight: Sight
    where: str
    facts: tuple[tuple[str, str], ...] = ()
    decisions: tuple[Decided, ...] = ()
    message: tuple[bool, int] | None = None
    number: int = 0


@dataclass(slots=True)
class MessageLife:
    """The outcome of a message of the dialog.

    ``attempts`` are the transmissions of its sender, ``copies`` all records of forwarders,
    ``removed`` the duplicates, ``refused`` the numbers of copies that were dropped, delayed or not
    delivered, by error number. ``sent_at`` is the time at which the statement was stored, by the
    application's clock, but not later than its first effect; ``queued_at`` and ``place`` belong to
    the first delivery; ``acknowledged_at`` is the time at which the sender's instance received the
    acknowledgement.
    """

    from_initiator: bool
    sequence: int
    type: str
    sent_at: int
    size: int = 0
    attempts: int = 0
    copies: int = 0
    removed: int = 0
    refused: dict[int, int] = field(default_factory=dict)
    queued_at: int | None = None
    place: str = ""
    acknowledged_at: int | None = None

    @property
    def took(self) -> int | None:
        """Return the milliseconds from the statement to the queue; ``None`` before the delivery."""
        return None if self.queued_at is None else self.queued_at - self.sent_at


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The state of one side of the dialog; ``dialog`` is ``None`` once the state is removed."""

    instance: str
    database: str
    is_initiator: bool
    dialog: Dialog | None
    as_of: int


@dataclass(frozen=True, slots=True)
class Life:
    """The facts that records show about a dialog; ``left_out``: sentences about missing parts.

    ``catalog_version`` is the version of the routes that explain decisions. ``size`` is the number
    of bytes of the records, without most of the bodies.
    """

    conversation: uuid.UUID
    steps: tuple[Step, ...]
    messages: tuple[MessageLife, ...]
    endpoints: tuple[Endpoint, ...]
    from_service: str = ""
    to_service: str = ""
    contract: str = ""
    catalog_version: int = 0
    left_out: tuple[str, ...] = ()
    size: int = 0

    @property
    def known(self) -> bool:
        """Return whether any record was found."""
        return bool(self.steps or self.endpoints)
