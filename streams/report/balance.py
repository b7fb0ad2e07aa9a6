"""Compute the ledger of messages from the facts of any dialogs, as a pure function."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from streams.report.begins import Begins
from streams.report.facts import (
    ALWAYS,
    Accepted,
    Delivered,
    Ending,
    EndpointKey,
    Missing,
    Side,
    Span,
)
from streams.report.ledger import Fault, Ledger
from streams.report.reasons import Endings, Fate, Receivers

_NO_MESSAGE = uuid.UUID(int=0)


def balance(
    accepted: Iterable[Accepted],
    delivered: Iterable[Delivered],
    sides: Iterable[Side],
    endings: Endings | None = None,
    begins: Begins | None = None,
    span: Span = ALWAYS,
) -> Ledger:
    """Compare accepted messages with those in the queues and in the endpoints' state.

    All facts of a dialog must be given together. ``begins`` contains the logs that were trimmed,
    and ``span`` the period of the messages in the account.
    """
    about = {side.endpoint: side for side in sides}
    begins = Begins() if begins is None else begins  # an empty Begins is falsy
    balancing = _Balance(about, endings or Endings(), begins, span)
    sent: defaultdict[EndpointKey, list[Accepted]] = defaultdict(list)
    senders: defaultdict[tuple[uuid.UUID, bool], dict[uuid.UUID, EndpointKey]] = defaultdict(dict)
    last: EndpointKey | None = None
    for message in accepted:
        if (sender := message.sender) is not last:  # hashing the sender is the slowest part here
            last, messages = sender, sent[sender]
            ids = senders[sender.conversation, sender.is_initiator]
        messages.append(message)
        ids[message.message_id] = sender
    arrived: defaultdict[EndpointKey, list[Delivered]] = defaultdict(list)
    nobodys: list[Delivered] = []
    for row in delivered:
        known = senders[row.conversation, row.from_initiator].get(row.message_id)
        if known is None:
            nobodys.append(row)
        else:
            arrived[known].append(row)
    for sender, messages in sent.items():
        balancing.account(sender, messages, arrived[sender])
    balancing.account_for_nobodys(nobodys, arrived)
    balancing.count(sent)
    return balancing.ledger


@dataclass(slots=True)
class _Balance:
    """The account while it is being built."""

    sides: dict[EndpointKey, Side]
    endings: Endings
    begins: Begins
    span: Span
    ledger: Ledger = field(default_factory=Ledger)
    places: defaultdict[tuple[uuid.UUID, bool], dict[str, None]] = field(init=False)
    """The places where the sides of dialogs are or were, from their state or their statements."""
    receivers: dict[EndpointKey, Receivers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = defaultdict(dict)
        endings = self.endings
        known = (*endings.end_kinds, *endings.unaccepted, *self.sides)
        for place, conversation, is_initiator in known:
            self.places[conversation, is_initiator][place] = None

    def account(
        self, sender: EndpointKey, messages: Sequence[Accepted], arrived: Sequence[Delivered]
    ) -> None:
        """Account for the messages of one endpoint."""
        side = self.sides.get(sender)
        place = _target(side, arrived)
        here = sorted(
            (d for d in arrived if d.place == place), key=lambda d: (d.partition, d.offset)
        )
        self.ledger.at_refused_targets += sum(
            1 for d in arrived if d.place != place and d.sent_at in self.span
        )
        found: defaultdict[uuid.UUID, list[Delivered]] = defaultdict(list)
        for row in here:
            found[row.message_id].append(row)
        direction = _Direction(side, here, max((d.sequence for d in here), default=-1), place)
        for message in self.begins.numbered(messages, side, found):
            if message.at in self.span:
                self._message(message, found[message.message_id], direction)
        self._order(here)

    def _receivers(self, sender: EndpointKey, place: str | None) -> Receivers:
        """Return the receiver at ``place``, or all possible receivers if ``place`` is None."""
        other = sender.conversation, not sender.is_initiator
        towards = EndpointKey(place or "", *other)
        if towards not in self.receivers:
            places = self.places[other] if place is None else (place,)
            keys = [EndpointKey(each, *other) for each in places]
            self.receivers[towards] = self.endings.receivers(keys, self.sides)
        return self.receivers[towards]

    def _message(
        self, message: Accepted, copies: Sequence[Delivered], direction: _Direction
    ) -> None:
        if copies:
            outcome = Fate.DELIVERED
            if len(copies) > 1:
                self.ledger.note(Fault.TWICE, _missing(message, copies[0].place))
            if copies[0].digest != message.digest or self._has_other_number(message, copies[0]):
                self.ledger.note(Fault.CHANGED, _missing(message, copies[0].place))
        elif message.sequence > direction.last:
            receivers = self._receivers(message.sender, direction.place)
            outcome = self.endings.outcome(message, direction.side, receivers)
        else:  # in order, because a gap before the last message cannot have a reason
            outcome = Fate.LOST
        if outcome is Fate.LOST and self._is_unaccepted(message, direction):
            outcome = Fate.ERROR_RECEIVED
        if outcome is Fate.LOST and self._is_hidden(message, direction):
            outcome = Fate.TRIMMED
        if self.begins.events_end and _may_be_refused(message, outcome, direction.side):
            outcome = Fate.UNDECIDED
        self.ledger.outcomes[outcome] += 1
        if outcome is Fate.LOST:
            self.ledger.note(Fault.LOST, _missing(message, message.sender.place))

    def _has_other_number(self, message: Accepted, copy: Delivered) -> bool:
        # An unread rejection may have shifted all later numbers.
        return copy.sequence != message.sequence and not self.begins.events_end

    def _is_unaccepted(self, message: Accepted, direction: _Direction) -> bool:
        receivers = self._receivers(message.sender, direction.place)
        return not direction.here and self.endings.was_unaccepted(message, receivers)

    def _is_hidden(self, message: Accepted, direction: _Direction) -> bool:
        receivers = self._receivers(message.sender, direction.place)
        known = direction.side is not None and bool(receivers.sides)
        return self.begins.hide(message, direction.here, receivers.places, known=known)

    def _order(self, here: Sequence[Delivered]) -> None:
        for before, after in pairwise(here):
            same = before.partition == after.partition  # otherwise it was moved to another group
            if same and after.sequence < before.sequence and after.sent_at in self.span:
                self.ledger.note(Fault.DISORDERED, _delivered(after))

    def account_for_nobodys(
        self, rows: Iterable[Delivered], arrived: dict[EndpointKey, list[Delivered]]
    ) -> None:
        """Account for messages in queues without a command."""
        firsts = {
            (sender.conversation, sender.is_initiator): min(row.sequence for row in found)
            for sender, found in arrived.items()
            if found
        }
        for row in rows:
            if row.sent_at not in self.span:
                continue
            if self.begins.unsaid(row, firsts.get((row.conversation, row.from_initiator))):
                self.ledger.unsaid += 1
            else:
                self.ledger.note(Fault.UNKNOWN, _delivered(row))

    def count(self, sent: dict[EndpointKey, list[Accepted]]) -> None:
        """Compare each endpoint's message count with its commands; count locks by target."""
        for endpoint, side in self.sides.items():
            if endpoint.is_initiator and side.peer is not None:
                self.ledger.locked[side.peer] += 1
            if side.sent is None or not self.begins.has_all_commands(endpoint.place):
                continue
            if self.begins.events_end:
                continue
            issued = sum(message.read for message in sent.get(endpoint, ()))
            if side.sent - issued not in self._numbers_of_end(endpoint, issued):
                about = (endpoint.conversation, endpoint.is_initiator, side.sent, _NO_MESSAGE)
                self.ledger.note(Fault.MISCOUNTED, Missing(*about, endpoint.place))

    def _numbers_of_end(self, endpoint: EndpointKey, issued: int) -> Sequence[int]:
        """Return how many numbers an END might have used; without another side, it uses none."""
        endings, how = self.endings, self.endings.end_kinds.get(endpoint)
        if how is None:
            return (0,)
        over = (
            endpoint in endings.errors
            or endpoint in endings.events
            or endpoint in endings.end_dialogs
            or self._receivers(endpoint, None).ended
        )
        alone = how is Ending.WITH_CLEANUP or not issued or over or bool(self.begins)
        return (0, 1) if alone else (1,)


@dataclass(frozen=True, slots=True)
class _Direction:
    """One direction of a dialog: the sender's state, and the target's messages and place."""

    side: Side | None
    here: Sequence[Delivered]
    last: int
    place: str | None


def _target(side: Side | None, arrived: Sequence[Delivered]) -> str | None:
    """Return the locked target or, if it is unknown, the target with the most messages."""
    if side is not None and side.peer is not None:
        return side.peer
    counts = Counter(sorted(d.place for d in arrived))
    return next((place for place, _ in counts.most_common(1)), None)


def _may_be_refused(message: Accepted, outcome: Fate, side: Side | None) -> bool:
    """Return whether a rejection would explain a message that has no other reason."""
    counted = side is None or side.sent is None or message.sequence < side.sent
    return outcome is Fate.LOST or (outcome is Fate.IN_TRANSMISSION_QUEUE and not counted)


def _missing(message: Accepted, place: str) -> Missing:
    sender = message.sender
    return Missing(
        *(sender.conversation, sender.is_initiator, message.sequence, message.message_id),
        *(place, message.at),
    )


def _delivered(row: Delivered) -> Missing:
    return Missing(
        *(row.conversation, row.from_initiator, row.sequence, row.message_id),
        *(row.place, row.sent_at),
    )
