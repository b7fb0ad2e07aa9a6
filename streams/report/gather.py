"""Turn the parts of one dialog into the facts of the ledger.

Parts may be in any order; each has the position of its record.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import chain

from streams.errors.refusals import Refusal, Refusals
from streams.protocol import Dialog
from streams.report.balance import balance
from streams.report.begins import Begins
from streams.report.contradictions import Contradiction
from streams.report.dialog_parts import DialogParts, in_order
from streams.report.facts import ALWAYS, Accepted, Delivered, Ending, EndpointKey, Side, Span
from streams.report.ledger import Ledger
from streams.report.parts import (
    Copy,
    Delayed,
    Dropped,
    Duplicate,
    Ended,
    Kept,
    Part,
    QueuedEnd,
    Refused,
    Shared,
)
from streams.report.reasons import Endings
from streams.report.sites import Sites
from streams.routing import broker_key
from streams.wire import MalformedError
from streams.wire.glance import guid
from streams.wire.state import unpack_dialog

_ID = 16  # bytes


@dataclass(slots=True)
class Facts:
    """The facts of one or many dialogs, for the ledger and the report."""

    accepted: list[Accepted] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    sides: list[Side] = field(default_factory=list)
    end_kinds: dict[EndpointKey, Ending] = field(default_factory=dict)
    errors: dict[EndpointKey, int] = field(default_factory=dict)
    end_dialogs: set[EndpointKey] = field(default_factory=set)
    expired: set[uuid.UUID] = field(default_factory=set)
    ended: dict[EndpointKey, int] = field(default_factory=dict)
    unaccepted: dict[EndpointKey, int] = field(default_factory=dict)
    duplicates: Counter[str] = field(default_factory=Counter)
    drops: Counter[int] = field(default_factory=Counter)
    delays: Counter[int] = field(default_factory=Counter)
    refused: set[bytes] = field(default_factory=set)
    refusals: Refusals = field(default_factory=Refusals)
    contradictions: list[Contradiction] = field(default_factory=list)
    overruled: set[bytes] = field(default_factory=set)
    begins: Begins = field(default_factory=Begins)

    def balance(self, span: Span = ALWAYS) -> Ledger:
        """Return the account of these facts."""
        endings = Endings(
            self.end_kinds,
            self.errors,
            self.end_dialogs,
            self.expired,
            self.ended,
            self.unaccepted,
        )
        return balance(self.accepted, self.delivered, self.sides, endings, self.begins, span)

    def hiding(self, message_id: uuid.UUID) -> Facts:
        """Return the facts without one delivered message, to test the ledger."""
        return replace(self, delivered=[d for d in self.delivered if d.message_id != message_id])


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Context for all dialogs: places, the time, and the copies that count.

    ``now`` is in epoch milliseconds. ``refused`` contains rejected statements on several
    conversations, because the event names only one of these. ``overruled`` contains the rejected
    statements that were applied according to the state of a dialog.
    """

    sites: Sites
    now: int
    span: Span = ALWAYS
    refused: Set[bytes] = frozenset()
    overruled: Collection[bytes] = ()

    def add(self, facts: Facts, dialog: bytes, parts: Iterable[Part]) -> None:
        """Add all parts of one dialog."""
        found = DialogParts()
        for part in parts:
            found.take(part)
        self._count(facts, found.copies)
        if len(dialog) != _ID:
            return
        conversation = uuid.UUID(bytes=dialog)
        sides = tuple(self._sides(conversation, found.states()))
        refused = self._settle_refusals(facts, conversation, found, sides)
        self._note_statements(facts, conversation, found, refused)
        _note_queues(facts, conversation, found)
        for failed in sorted(found.failed):
            ended = EndpointKey(failed.place, conversation, failed.is_initiator)
            facts.ended.setdefault(ended, failed.error)
        for place, from_initiator, sequence in sorted(found.unaccepted):
            target = EndpointKey(place, conversation, not from_initiator)
            facts.unaccepted[target] = max(sequence, facts.unaccepted.get(target, 0))
        facts.sides += sides

    def _count(self, facts: Facts, copies: Iterable[Copy]) -> None:
        for copy in copies:
            if copy.reported_at not in self.span:
                continue
            match copy:
                case Duplicate(cause):
                    facts.duplicates[cause] += 1
                case Dropped(number):
                    facts.drops[number] += 1
                case Delayed(number):
                    facts.delays[number] += 1

    def _settle_refusals(
        self, facts: Facts, conversation: uuid.UUID, found: DialogParts, sides: Collection[Side]
    ) -> set[bytes]:
        """Count and return the valid refusals; note refusals that queues or state contradict."""
        own = (each.command_id for each in chain(found.statements, found.begins))
        claimed = {*found.refused, *(each for each in own if each in self.refused)}
        applied = claimed.intersection(self.overruled)
        applied |= found.applied(claimed - applied, sides, facts.begins)
        facts.contradictions += (
            Contradiction(conversation, uuid.UUID(bytes=each))
            for each in sorted(applied.intersection(found.refused))
        )
        facts.overruled |= applied.intersection(self.refused)
        refused = claimed - applied
        facts.refused |= refused
        reported = found.refused.items()
        self._count_refusals(facts, conversation, (r for id, r in reported if id in refused))
        return refused

    def _count_refusals(
        self, facts: Facts, conversation: uuid.UUID, refused: Iterable[Refused]
    ) -> None:
        for each in refused:
            if each.reported_at in self.span:
                found = Refusal(
                    each.reported_at,
                    conversation,
                    each.from_initiator,
                    uuid.UUID(bytes=each.command_id),
                    each.place,
                )
                facts.refusals.note(each.number, found)

    def _note_statements(
        self, facts: Facts, conversation: uuid.UUID, found: DialogParts, refused: Collection[bytes]
    ) -> None:
        for begin in found.begins:
            if begin.command_id not in refused and 0 < begin.expires_at <= self.now:
                facts.expired.add(conversation)
        sides: dict[tuple[str, bool], EndpointKey] = {}
        numbers: Counter[tuple[str, bool]] = Counter()
        for statement in in_order(found.statements):
            if statement.command_id in refused:
                continue
            side = place, from_initiator = statement.place, statement.from_initiator
            by = sides.get(side)
            if by is None:
                by = sides[side] = EndpointKey(place, conversation, from_initiator)
            if isinstance(statement, Ended):
                # Messages that WITH ERROR has discarded are not discarded again.
                if facts.end_kinds.get(by) is not Ending.WITH_ERROR:
                    facts.end_kinds[by] = statement.how
                continue
            number = numbers[side]
            numbers[side] = number + 1
            message = guid(statement.message_id), number, statement.digest
            facts.accepted.append(Accepted(by, *message, statement.read, statement.stored_at))

    def _sides(self, conversation: uuid.UUID, kept: Iterable[Kept]) -> Iterator[Side]:
        """Yield the existing states; find broker ids in the topology, or else in these states."""
        dialogs = [
            (EndpointKey(f"{k.home}/{k.database}", conversation, k.is_initiator), dialog)
            for k in kept
            if (dialog := _decoded(k, conversation)) is not None
        ]
        own = {broker_key(dialog.broker_id): key.place for key, dialog in dialogs}
        for key, dialog in dialogs:
            far = broker_key(dialog.far_broker or "") if dialog.locked else ""
            yield _side(key, dialog, self.sites.brokers.get(far, own.get(far)))


def refused_shared(parts: Iterable[Part]) -> bytes | None:
    """Return the id of a rejected SEND on several conversations, from the parts of its key."""
    refused, shared = None, False
    for part in parts:
        if isinstance(part, Refused):
            refused = part.command_id
        shared |= isinstance(part, Shared)
    return refused if shared else None


def _note_queues(facts: Facts, conversation: uuid.UUID, found: DialogParts) -> None:
    for end in sorted(found.ends, key=_end_order):
        receiver = EndpointKey(end.place, conversation, not end.from_initiator)
        if end.error is None:
            facts.end_dialogs.add(receiver)
        else:
            facts.errors[receiver] = end.error
    for row in found.queued:
        path = row.path
        arrived_at = path[-1][1] if path else 0
        facts.delivered.append(
            Delivered(
                conversation,
                row.from_initiator,
                guid(row.message_id),
                row.sequence,
                row.digest,
                row.place,
                row.at[1],
                arrived_at - row.sent_at if path else 0,
                tuple(name for name, _ in path),
                arrived_at,
                row.at[0],
                row.sent_at,
            )
        )


def _end_order(end: QueuedEnd) -> tuple[str, bool, int]:
    return end.place, end.from_initiator, end.error or 0


def _decoded(kept: Kept, conversation: uuid.UUID) -> Dialog | None:
    """Return an endpoint's state, or ``None`` if it was removed or cannot be decoded."""
    try:
        return None if kept.value is None else unpack_dialog(kept.value, conversation, {})
    except MalformedError:
        return None


def _side(endpoint: EndpointKey, dialog: Dialog, peer: str | None) -> Side:
    return Side(
        endpoint,
        dialog.state.name,
        peer,
        dialog.acknowledged[0],
        dialog.discarded_from,
        dialog.closed_at is not None and dialog.closed_at >= dialog.expires_at,
        dialog.deaf_from,
        frozenset(number for number, _ in dialog.parked if number >= 0),
        dialog.send_sequence,
        dialog.received[0],
    )
