"""From the parts of one dialog to the facts of the ledger.

Parts come in any order; each has its record's position.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from streams.protocol import Dialog, Source
from streams.report.balance import balance
from streams.report.begins import Begins
from streams.report.facts import ALWAYS, Accepted, Delivered, Ending, EndpointKey, Side, Span
from streams.report.ledger import Ledger
from streams.report.parts import (
    Began,
    Copy,
    Delayed,
    Dropped,
    Duplicate,
    Ended,
    Failed,
    Kept,
    Part,
    Queued,
    QueuedEnd,
    Refused,
    Sent,
    Shared,
    Unaccepted,
)
from streams.report.reasons import Endings
from streams.report.sites import Sites
from streams.routing import broker_key
from streams.wire import MalformedError
from streams.wire.state import unpack_dialog

_ID = 16  # bytes


@dataclass(slots=True)
class Facts:
    """The facts for the ledger and the report, of one dialog or of many."""

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
        """Return the facts without one delivered message: to test the ledger."""
        return replace(self, delivered=[d for d in self.delivered if d.message_id != message_id])


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Context for all dialogs: places, the time, and which copies count.

    ``now`` is in epoch milliseconds. ``refused`` are rejected statements on several conversations:
    the event names only one of them.
    """

    sites: Sites
    now: int
    span: Span = ALWAYS
    refused: Collection[bytes] = ()

    def add(self, facts: Facts, dialog: bytes, parts: Iterable[Part]) -> None:
        """Add all parts of one dialog."""
        found = _Parts()
        for part in parts:
            found.take(part)
        self._count(facts, found.copies)
        if len(dialog) != _ID:
            return
        conversation = uuid.UUID(bytes=dialog)
        found.refused.update(self.refused)
        facts.refused |= found.refused
        self._note_statements(facts, conversation, found)
        _note_queues(facts, conversation, found)
        for failed in sorted(found.failed):
            ended = EndpointKey(failed.place, conversation, failed.is_initiator)
            facts.ended.setdefault(ended, failed.error)
        for place, from_initiator, sequence in found.unaccepted:
            target = EndpointKey(place, conversation, not from_initiator)
            facts.unaccepted[target] = max(sequence, facts.unaccepted.get(target, 0))
        facts.sides += self._sides(conversation, found.kept.values())

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

    def _note_statements(self, facts: Facts, conversation: uuid.UUID, found: _Parts) -> None:
        for begin in found.begins:
            if begin.command_id not in found.refused and 0 < begin.expires_at <= self.now:
                facts.expired.add(conversation)
        numbers: defaultdict[EndpointKey, int] = defaultdict(int)
        for statement in _once(found.statements):
            if statement.command_id in found.refused:
                continue
            by = EndpointKey(statement.place, conversation, statement.from_initiator)
            if isinstance(statement, Ended):
                # Messages discarded by WITH ERROR are not discarded again.
                if facts.end_kinds.get(by) is not Ending.WITH_ERROR:
                    facts.end_kinds[by] = statement.how
                continue
            message_id, number = uuid.UUID(bytes=statement.message_id), numbers[by]
            facts.accepted.append(
                Accepted(
                    by, message_id, number, statement.digest, statement.read, statement.stored_at
                )
            )
            numbers[by] += 1

    def _sides(self, conversation: uuid.UUID, kept: Iterable[Kept]) -> Iterator[Side]:
        """Yield the existing states; an unknown broker id may be the other side's."""
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


@dataclass(slots=True)
class _Parts:
    """The parts of one dialog, by type."""

    statements: list[Sent | Ended] = field(default_factory=list)
    begins: list[Began] = field(default_factory=list)
    queued: list[Queued] = field(default_factory=list)
    ends: list[QueuedEnd] = field(default_factory=list)
    kept: dict[tuple[str, str, bool], Kept] = field(default_factory=dict)
    refused: set[bytes] = field(default_factory=set)
    failed: list[Failed] = field(default_factory=list)
    unaccepted: list[Unaccepted] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)

    def take(self, part: Part) -> None:
        """Add a part."""
        match part:
            case Sent() | Ended():
                self.statements.append(part)
            case Queued():
                self.queued.append(part)
            case Kept():
                self._keep(part)
            case QueuedEnd():
                self.ends.append(part)
            case Began():
                self.begins.append(part)
            case Refused():
                self.refused.add(part.command_id)
            case Failed():
                self.failed.append(part)
            case Unaccepted():
                self.unaccepted.append(part)
            case Duplicate() | Dropped() | Delayed():
                self.copies.append(part)

    def _keep(self, part: Kept) -> None:
        """Keep only the latest state record of an endpoint."""
        key = part.home, part.database, part.is_initiator
        before = self.kept.get(key)
        if before is None or part.at >= before.at:
            self.kept[key] = part


def _once(statements: list[Sent | Ended]) -> Iterator[Sent | Ended]:
    """Yield statements in order, without repetitions."""
    last: dict[tuple[str, Source], tuple[int, int]] = {}
    for statement in sorted(statements, key=lambda statement: (statement.place, statement.at)):
        if (cause := statement.cause) is not None:
            if cause.at <= last.get((statement.place, cause.source), (-1, -1)):
                continue
            last[statement.place, cause.source] = cause.at
        yield statement


def _note_queues(facts: Facts, conversation: uuid.UUID, found: _Parts) -> None:
    for end in found.ends:
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
                uuid.UUID(bytes=row.message_id),
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


def _decoded(kept: Kept, conversation: uuid.UUID) -> Dialog | None:
    """Return an endpoint's state; ``None`` if it was removed, or cannot be decoded."""
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
