"""The parts of one dialog by kind; they can be added in any order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from streams.protocol import Source
from streams.report.begins import Begins
from streams.report.contradictions import Evidence
from streams.report.facts import Side
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
    Unaccepted,
)


@dataclass(slots=True)
class DialogParts:
    """The parts of one dialog by type."""

    statements: list[Sent | Ended] = field(default_factory=list)
    begins: list[Began] = field(default_factory=list)
    queued: list[Queued] = field(default_factory=list)
    ends: list[QueuedEnd] = field(default_factory=list)
    kept: dict[tuple[str, str, bool, int], Kept] = field(default_factory=dict)
    """The latest state record of each endpoint in each partition."""
    refused: dict[bytes, Refused] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)
    unaccepted: list[Unaccepted] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)

    def take(self, part: Part) -> None:
        """Add a part to the collection for its type."""
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
            case Refused():  # reported again: the first report counts
                before = self.refused.get(part.command_id, part)
                self.refused[part.command_id] = min(before, part, key=_when_refused)
            case Failed():
                self.failed.append(part)
            case Unaccepted():
                self.unaccepted.append(part)
            case Duplicate() | Dropped() | Delayed():
                self.copies.append(part)

    def applied(
        self, claimed: Collection[bytes], sides: Collection[Side], begins: Begins
    ) -> set[bytes]:
        """Return the statements that were applied although events report them as refused."""
        begun = {begin.command_id for begin in self.begins}
        mine = begun.union(each.command_id for each in self.statements).intersection(claimed)
        if not mine:
            return mine
        found = self._evidence(sides, begins).contradicts(mine, in_order(self.statements))
        exists = any(side.endpoint.is_initiator for side in sides)
        exists |= any(row.from_initiator for row in self.queued)
        return found | begun if exists and begun <= mine else found

    def _evidence(self, sides: Iterable[Side], begins: Begins) -> Evidence:
        """Return the facts that queues, state and commands show."""
        return Evidence(
            # If a message has two numbers, use the lower number, regardless of their order.
            {r.message_id: r.sequence for r in sorted(self.queued, key=lambda r: -r.sequence)},
            {end.from_initiator for end in self.ends if end.error is None or end.error > 0},
            {
                (side.endpoint.place, side.endpoint.is_initiator): side.sent
                for side in sides
                if side.sent is not None
            },
            {each.place for each in self.statements if begins.has_all_commands(each.place)},
        )

    def _keep(self, part: Kept) -> None:
        """Keep the latest state record of each endpoint in each partition."""
        key = part.home, part.database, part.is_initiator, part.at[0]
        before = self.kept.get(key)
        if before is None or part.at >= before.at:
            self.kept[key] = part

    def states(self) -> Iterator[Kept]:
        """Yield the state record of each endpoint that still has a state.

        If the instance was repartitioned, an endpoint has a tombstone in its earlier partition,
        which says nothing about its state in the new partition.
        """
        latest = sorted(part for part in self.kept.values() if part.value is not None)
        states = {(part.home, part.database, part.is_initiator): part for part in latest}
        for endpoint in sorted(states):
            yield states[endpoint]


def _when_refused(refused: Refused) -> tuple[int, int]:
    return refused.reported_at, refused.number


def in_order(statements: list[Sent | Ended]) -> Iterator[Sent | Ended]:
    """Yield statements in order, without those that an application repeated."""
    last: dict[tuple[str, Source], tuple[int, int]] = {}
    for statement in sorted(statements, key=lambda statement: (statement.place, statement.at)):
        if (cause := statement.cause) is not None:
            if cause.at <= last.get((statement.place, cause.source), (-1, -1)):
                continue
            last[statement.place, cause.source] = cause.at
        yield statement
