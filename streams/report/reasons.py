"""The documented reasons why an accepted message might not be in any queue.

Messages arrive in order, so discarded and waiting messages are the last messages that a side has
sent. No reason applies to a message if a later message of its endpoint was delivered.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from streams.errors import Number
from streams.report.facts import Accepted, Ending, EndpointKey, Side


class Fate(Enum):
    """The outcome of an accepted message; every message has exactly one outcome."""

    DELIVERED = "at the locked target"
    IN_TRANSMISSION_QUEUE = "in a transmission queue"
    UNREAD = "not read by the endpoint worker yet"
    PARKED = "parked for a queue that is off"
    EXPIRED = "expired with their dialog"
    ERROR_RECEIVED = "by an Error from the other side"
    PEER_ENDED = "by the receiver, which had ended or rejected the dialog"
    ENDED_WITH_ERROR = "by END WITH ERROR"
    CLEANED_UP = "by END WITH CLEANUP"
    NEW_BROKER = "by NEW_BROKER or similar, in the sender's database"
    TRIMMED = "unknown: the logs that could show it were trimmed"
    UNDECIDED = "undecided: an event that cannot be read yet may explain it"
    LOST = "lost"


WAITING = (Fate.IN_TRANSMISSION_QUEUE, Fate.UNREAD, Fate.PARKED)
DISCARDED = (
    Fate.EXPIRED,
    Fate.ERROR_RECEIVED,
    Fate.PEER_ENDED,
    Fate.ENDED_WITH_ERROR,
    Fate.CLEANED_UP,
    Fate.NEW_BROKER,
)


_UNACCEPTED = (-Number.CONTRACT_NOT_ACCEPTED, -Number.CONTRACT_UNKNOWN_HERE)
_OWN = (
    Number.CONVERSATIONS_ENDED_HERE,
    Number.CONVERSATION_DROPPED_HERE,
    Number.SERVICE_DROPPED_HERE,
    Number.SERVICE_ALTERED_HERE,
    Number.CONTRACT_DROPPED_HERE,
)
"""Errors of a database whose conversations were ended by NEW_BROKER or similar statements."""


@dataclass(frozen=True, slots=True)
class Receivers:
    """The evidence that one direction's possible receivers have about missing messages.

    Any client can name places in events, so a message is compared only with places that have a
    state. ``deciders`` are the states up to the first removed endpoint that accepted no more
    messages; its state is ``None``. ``received`` is the number below which a place has received all
    messages, ``acknowledged`` the highest number that a place acknowledged without an endpoint.
    """

    places: frozenset[str]
    sides: tuple[Side, ...]
    deciders: tuple[Side | None, ...]
    ended: bool
    received: int
    acknowledged: int


@dataclass(slots=True)
class Endings:
    """The ends of dialogs, from records that are kept longer than an endpoint's state.

    ``end_kinds``: the kind of END that the application issued, once the endpoint has read it.
    ``errors``: the code of the Error in the endpoint's queue. ``end_dialogs``: endpoints with an
    EndDialog in their queue. ``expired``: conversations whose lifetime since BEGIN is over.
    ``events``: the error number with which the endpoint reported its end, or 0 for an error of the
    other side; these numbers are kept as long as events. ``unaccepted``: targets without an
    endpoint, because they do not accept the contract, with the highest number that they have
    acknowledged.
    """

    end_kinds: Mapping[EndpointKey, Ending] = field(default_factory=dict)
    errors: Mapping[EndpointKey, int] = field(default_factory=dict)
    end_dialogs: Collection[EndpointKey] = ()
    expired: Collection[uuid.UUID] = ()
    events: Mapping[EndpointKey, int] = field(default_factory=dict)
    unaccepted: Mapping[EndpointKey, int] = field(default_factory=dict)

    def receivers(
        self, keys: Collection[EndpointKey], sides: Mapping[EndpointKey, Side]
    ) -> Receivers:
        """Return the receivers among the possible endpoints of a dialog's other side."""
        known = tuple(sides[key] for key in keys if key in sides)
        return Receivers(
            frozenset(key.place for key in keys),
            known,
            tuple(self._deciders(keys, sides)),
            any(key in self.end_kinds for key in keys),
            max((side.received for side in known), default=0),
            max((self.unaccepted.get(key, -1) for key in keys), default=-1),
        )

    def _deciders(
        self, keys: Iterable[EndpointKey], sides: Mapping[EndpointKey, Side]
    ) -> Iterator[Side | None]:
        """Yield the endpoints' states; ``None``, as the last, for a removed endpoint.

        ``None`` means that this endpoint could not accept any more messages. An END of the endpoint
        proves this, unless the sender's EndDialog is in the endpoint's queue. In that case, all
        earlier messages are also in the queue.
        """
        for key in keys:
            if key in sides:
                yield sides[key]
            elif key in self.end_kinds and key not in self.end_dialogs:
                yield None
                return

    def outcome(self, message: Accepted, side: Side | None, receivers: Receivers) -> Fate:
        """Return why a message is not in any of its receivers' queues, or that it is lost.

        ``side`` is ``None`` if the sender was closed and its state removed. The reason then follows
        only from statements, deliveries, and the lifetime.
        """
        if not message.read:
            return Fate.UNREAD
        if self._was_shown(message, receivers):
            return Fate.LOST
        if side is not None and message.sequence >= side.acknowledged:
            return Fate.IN_TRANSMISSION_QUEUE
        if side is not None and side.has_discarded(message.sequence):
            return self._discarded(side)
        for known in receivers.deciders:
            if known is not None and message.sequence in known.parked:
                return Fate.PARKED
            if known is None or not known.accepts(message.sequence):  # acknowledged nevertheless
                return Fate.PEER_ENDED
        return Fate.LOST if side is not None else self._forgotten(message.sender)

    def was_unaccepted(self, message: Accepted, receivers: Receivers) -> bool:
        """Return whether the target acknowledged a message and rejected the contract (5.3).

        This applies only to dialogs without a delivered message. The evidence is the target's event
        or the Error in the sender's queue; a target with an endpoint never sends this number.
        """
        if receivers.ended or message.sequence < receivers.received:
            return False
        return (
            self.errors.get(message.sender) in _UNACCEPTED
            or message.sequence <= receivers.acknowledged
        )

    def _was_shown(self, message: Accepted, receivers: Receivers) -> bool:
        """Return whether a receiver has enqueued a message, even if the sender is unaware of it.

        A receiver counts only messages of the side to which it is locked, not those of a rejected
        target.
        """
        return any(
            side.peer in (None, message.sender.place)
            and side.has_shown(message.sequence)
            and not self._has_skipped(side)
            for side in receivers.sides
        )

    def _has_skipped(self, side: Side) -> bool:
        """Return whether an application's Error might have skipped messages (U-47)."""
        code = self.errors.get(side.endpoint)
        return side.state == "ER" if code is None else code > 0

    def _discarded(self, side: Side) -> Fate:
        reported = self._reported_end(side.endpoint)
        if reported is not None:
            return reported
        if side.expired:
            return Fate.EXPIRED
        if side.endpoint in self.events:
            return _reason(self.events[side.endpoint])
        # The side is closed without an END because its database has a new broker id.
        alone = side.endpoint not in self.end_kinds and side.state == "CD"
        return Fate.NEW_BROKER if alone else Fate.ERROR_RECEIVED

    def _forgotten(self, sender: EndpointKey) -> Fate:
        reported = self._reported_end(sender)
        if reported is not None:
            return reported
        if sender.conversation in self.expired:
            return Fate.EXPIRED
        return _reason(self.events[sender]) if sender in self.events else Fate.LOST

    def _reported_end(self, sender: EndpointKey) -> Fate | None:
        """Return the reason according to the sender's END or an Error in its queue, if any."""
        code = self.errors.get(sender)
        if code is not None:
            return _reason(-code)
        return {
            Ending.WITH_ERROR: Fate.ENDED_WITH_ERROR,
            Ending.WITH_CLEANUP: Fate.CLEANED_UP,
        }.get(self.end_kinds.get(sender, Ending.PLAIN))


def _reason(number: int) -> Fate:
    """Return why an Error has discarded messages."""
    if number == Number.LIFETIME_EXCEEDED:
        return Fate.EXPIRED
    return Fate.NEW_BROKER if number in _OWN else Fate.ERROR_RECEIVED
