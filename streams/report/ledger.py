"""The ledger of messages: what was accepted, and what became of every one of it.

For each message that an application's endpoint accepted exactly one of these is true:

    delivered     it is in the queue of the locked target, once and in its place
    waiting       it is still in a transmission queue
    discarded     its dialog ended in error, expired, or was cleaned up before it arrived
    lost          none of these; the list must be empty

Deliveries at targets that were refused (several targets) are counted apart, and so are copies.
Pure: facts in, verdict out; :mod:`streams.report.read` collects the facts from Kafka.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

Direction = tuple[uuid.UUID, bool]
"""(conversation, from the initiator)"""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message that an application handed over and its endpoint did not refuse."""

    conversation: uuid.UUID
    from_initiator: bool
    message_id: uuid.UUID
    sequence: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message in a queue topic; ``place`` is instance/database, ``offset`` its position."""

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


@dataclass(frozen=True, slots=True)
class Side:
    """What the committed state of one endpoint says about its sending direction.

    ``peer`` is the place of the broker id that the endpoint is locked to, if it is.
    """

    conversation: uuid.UUID
    from_initiator: bool
    place: str
    state: str
    peer: str | None
    acknowledged: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A message without an excuse."""

    conversation: uuid.UUID
    from_initiator: bool
    sequence: int
    message_id: uuid.UUID


@dataclass(slots=True)
class Ledger:
    """The account; ``balanced`` is the verdict "nothing lost"."""

    accepted: int = 0
    delivered: int = 0
    waiting: int = 0
    discarded: int = 0
    lost: list[Missing] = field(default_factory=list)
    twice: list[Missing] = field(default_factory=list)
    disordered: list[Missing] = field(default_factory=list)
    changed: list[Missing] = field(default_factory=list)
    unknown: int = 0
    at_refused_targets: int = 0
    locked: Counter[str] = field(default_factory=Counter)

    @property
    def balanced(self) -> bool:
        """Tell whether every accepted message is where it may be, once, in order, unchanged."""
        faults = (self.lost, self.twice, self.disordered, self.changed)
        return not any(faults) and not self.unknown

    @property
    def verdict(self) -> str:
        """Return the account's last line."""
        if self.balanced:
            return "nothing lost"
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
    discarding: Collection[Direction] = (),
) -> Ledger:
    """Hold what was accepted against what is in the queues and in the endpoints' state.

    ``discarding``: directions whose sender ended WITH ERROR or WITH CLEANUP, which discards what
    was not acknowledged.
    """
    ledger = Ledger()
    by_direction = {(s.conversation, s.from_initiator): s for s in sides}
    arrived = _by_direction(delivered)
    known: dict[Direction, list[Accepted]] = {}
    for message in accepted:
        known.setdefault((message.conversation, message.from_initiator), []).append(message)
    for direction, messages in known.items():
        side = by_direction.get(direction)
        excused = direction in discarding or (side is not None and side.state == "ER")
        _account(ledger, side, messages, arrived.pop(direction, []), excused=excused)
    ledger.unknown += sum(len(rows) for rows in arrived.values())
    for side in by_direction.values():
        if side.from_initiator and side.peer is not None:
            ledger.locked[side.peer] += 1
    return ledger


def _by_direction(delivered: Iterable[Delivered]) -> dict[Direction, list[Delivered]]:
    rows: dict[Direction, list[Delivered]] = {}
    for row in delivered:
        rows.setdefault((row.conversation, row.from_initiator), []).append(row)
    return rows


def _account(
    ledger: Ledger,
    side: Side | None,
    messages: list[Accepted],
    arrived: list[Delivered],
    *,
    excused: bool,
) -> None:
    """Account for one direction of one dialog."""
    here = [d for d in arrived if side is None or side.peer is None or d.place == side.peer]
    ledger.at_refused_targets += len(arrived) - len(here)
    here.sort(key=lambda d: d.offset)
    found: Mapping[uuid.UUID, list[Delivered]] = _by_id(here)
    for message in messages:
        ledger.accepted += 1
        copies = found.get(message.message_id, [])
        row = Missing(
            message.conversation, message.from_initiator, message.sequence, message.message_id
        )
        if copies:
            ledger.delivered += 1
            if len(copies) > 1:
                ledger.twice.append(row)
            if copies[0].digest != message.digest or copies[0].sequence != message.sequence:
                ledger.changed.append(row)
        elif excused:
            ledger.discarded += 1
        elif side is not None and message.sequence >= side.acknowledged:
            ledger.waiting += 1
        else:
            ledger.lost.append(row)
    sent = {m.message_id for m in messages}
    ledger.unknown += sum(d.message_id not in sent for d in here)
    for before, after in pairwise(here):
        if after.sequence < before.sequence:
            ledger.disordered.append(
                Missing(after.conversation, after.from_initiator, after.sequence, after.message_id)
            )


def _by_id(rows: list[Delivered]) -> dict[uuid.UUID, list[Delivered]]:
    found: dict[uuid.UUID, list[Delivered]] = {}
    for row in rows:
        found.setdefault(row.message_id, []).append(row)
    return found
