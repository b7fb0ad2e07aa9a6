"""The ledger of messages: what was accepted, and what became of every one of it.

    accepted = delivered at the locked target
             + waiting: in a transmission queue, or not read yet
             + discarded: expired with the dialog, or by an Error, END, CLEANUP or NEW_BROKER
             + trimmed: nobody can tell any more, because logs begin later
             + lost: none of these; the list must be empty

Deliveries at targets that were refused (several targets) are counted apart, and so are copies.
What a refused target's application sent is accepted like any other message, and ends as discarded.
Pure: facts in, verdict out; :mod:`streams.report.read` collects the facts from Kafka.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from streams.report.begins import Begins
from streams.report.facts import Accepted, Delivered, EndpointKey, Missing, Side
from streams.report.reasons import DISCARDED, WAITING, Endings, Fate


@dataclass(slots=True)
class Ledger:
    """The account; ``balanced`` is the verdict "nothing lost".

    ``unsaid`` messages were delivered, and the commands that said them are trimmed.
    """

    outcomes: Counter[Fate] = field(default_factory=Counter)
    lost: list[Missing] = field(default_factory=list)
    twice: list[Missing] = field(default_factory=list)
    disordered: list[Missing] = field(default_factory=list)
    changed: list[Missing] = field(default_factory=list)
    unknown: int = 0
    unsaid: int = 0
    at_refused_targets: int = 0
    locked: Counter[str] = field(default_factory=Counter)

    @property
    def accepted(self) -> int:
        """Return how many messages the account is about."""
        return self.outcomes.total()

    @property
    def delivered(self) -> int:
        """Return how many are in the queue of their locked target; each counts once."""
        return self.outcomes[Fate.DELIVERED]

    @property
    def waiting(self) -> int:
        """Return how many are still to be delivered."""
        return sum(self.outcomes[outcome] for outcome in WAITING)

    @property
    def discarded(self) -> int:
        """Return how many ended with their dialog, for a reason that has a name."""
        return sum(self.outcomes[outcome] for outcome in DISCARDED)

    @property
    def balanced(self) -> bool:
        """Tell whether every accepted message is where it may be, once, in order, unchanged."""
        faults = (self.lost, self.twice, self.disordered, self.changed)
        return not any(faults) and not self.unknown

    @property
    def complete(self) -> bool:
        """Tell whether all that was said and delivered can still be read."""
        return not (self.unsaid or self.outcomes[Fate.TRIMMED])

    @property
    def verdict(self) -> str:
        """Return the account's last line."""
        if self.balanced:
            return "nothing lost" + ("" if self.complete else ", as far back as the logs go")
        found = [
            f"{len(rows)} {what}"
            for rows, what in (
                (self.lost, "lost"),
                (self.twice, "delivered twice"),
                (self.disordered, "out of order"),
                (self.changed, "changed on the way"),
            )
            if rows
        ]
        return ", ".join([*found, *([f"{self.unknown} never sent"] if self.unknown else [])])


def balance(
    accepted: Iterable[Accepted],
    delivered: Iterable[Delivered],
    sides: Iterable[Side],
    endings: Endings | None = None,
    begins: Begins | None = None,
) -> Ledger:
    """Hold what was accepted against what is in the queues and in the endpoints' state.

    ``begins``: which logs are not whole any more.
    """
    ledger = Ledger()
    by_endpoint = {side.endpoint: side for side in sides}
    sent: defaultdict[EndpointKey, list[Accepted]] = defaultdict(list)
    senders: dict[tuple[uuid.UUID, bool, uuid.UUID], EndpointKey] = {}
    for message in accepted:
        sender = message.sender
        sent[sender].append(message)
        senders[sender.conversation, sender.is_initiator, message.message_id] = sender
    arrived: defaultdict[EndpointKey, list[Delivered]] = defaultdict(list)
    nobodys: list[Delivered] = []
    for row in delivered:
        known = senders.get((row.conversation, row.from_initiator, row.message_id))
        if known is None:
            nobodys.append(row)
        else:
            arrived[known].append(row)
    firsts: dict[tuple[uuid.UUID, bool], int] = {}
    logs = begins or Begins()
    for sender, messages in sent.items():
        _account(
            *(ledger, by_endpoint.get(sender), messages, arrived[sender]),
            *(endings or Endings(), by_endpoint, logs),
        )
        if arrived[sender]:
            first = min(row.sequence for row in arrived[sender])
            firsts[sender.conversation, sender.is_initiator] = first
    for row in nobodys:
        if logs.unsaid(row, firsts.get((row.conversation, row.from_initiator))):
            ledger.unsaid += 1
        else:
            ledger.unknown += 1
    for side in by_endpoint.values():
        if side.endpoint.is_initiator and side.peer is not None:
            ledger.locked[side.peer] += 1
    return ledger


def _account(
    ledger: Ledger,
    side: Side | None,
    messages: Sequence[Accepted],
    arrived: Sequence[Delivered],
    endings: Endings,
    sides: Mapping[EndpointKey, Side],
    begins: Begins,
) -> None:
    """Account for what one endpoint has sent."""
    place = _target(side, arrived)
    here = sorted((d for d in arrived if d.place == place), key=lambda d: d.offset)
    ledger.at_refused_targets += len(arrived) - len(here)
    found: defaultdict[uuid.UUID, list[Delivered]] = defaultdict(list)
    for row in here:
        found[row.message_id].append(row)
    last = max((d.sequence for d in here), default=-1)
    receivers = _receivers(messages[0].sender, place, endings)
    known = side is not None and any(e in sides for e in _others(messages[0].sender, receivers))
    messages = begins.numbered(messages, side, found)
    for message in messages:
        row_of = _missing(message)
        copies = found[message.message_id]
        if copies:
            outcome = Fate.DELIVERED
            if len(copies) > 1:
                ledger.twice.append(row_of)
            if copies[0].digest != message.digest or copies[0].sequence != message.sequence:
                ledger.changed.append(row_of)
        elif message.sequence > last:
            outcome = endings.outcome(message, side, receivers, sides)
        else:  # in order: what is missing before the last can have no reason
            outcome = Fate.LOST
        if outcome is Fate.LOST and begins.hide(message, here, receivers, known=known):
            outcome = Fate.TRIMMED
        ledger.outcomes[outcome] += 1
        if outcome is Fate.LOST:
            ledger.lost.append(row_of)
    ledger.disordered += [
        Missing(after.conversation, after.from_initiator, after.sequence, after.message_id)
        for before, after in pairwise(here)
        if after.sequence < before.sequence
    ]


def _target(side: Side | None, arrived: Sequence[Delivered]) -> str | None:
    """Return the locked target; where nobody knows it (any more), the one that has the most."""
    if side is not None and side.peer is not None:
        return side.peer
    counts = Counter(sorted(d.place for d in arrived))
    return next((place for place, _ in counts.most_common(1)), None)


def _receivers(sender: EndpointKey, place: str | None, endings: Endings) -> Sequence[str]:
    """Return where the other side is: the target, else wherever somebody has spoken for it."""
    if place is not None:
        return (place,)
    other = (sender.conversation, not sender.is_initiator)
    return [e.place for e in endings.said if (e.conversation, e.is_initiator) == other]


def _others(sender: EndpointKey, places: Iterable[str]) -> Iterable[EndpointKey]:
    """Return the other side of a dialog, at each of these places."""
    return (EndpointKey(p, sender.conversation, not sender.is_initiator) for p in places)


def _missing(message: Accepted) -> Missing:
    sender = message.sender
    return Missing(sender.conversation, sender.is_initiator, message.sequence, message.message_id)
