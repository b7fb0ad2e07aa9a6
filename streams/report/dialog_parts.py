"""The parts of one dialog by their kinds, in whatever order they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.protocol import Source
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
    """The parts of one dialog, by what they are."""

    statements: list[Sent | Ended] = field(default_factory=list)
    begins: list[Began] = field(default_factory=list)
    queued: list[Queued] = field(default_factory=list)
    ends: list[QueuedEnd] = field(default_factory=list)
    kept: dict[tuple[str, str, bool], Kept] = field(default_factory=dict)
    refused: dict[bytes, Refused] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)
    unaccepted: list[Unaccepted] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)

    def take(self, part: Part) -> None:
        """Put a part to its like."""
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
            case Refused():  # told once more: the first of them counts
                before = self.refused.get(part.command_id, part)
                self.refused[part.command_id] = min(before, part, key=_when_refused)
            case Failed():
                self.failed.append(part)
            case Unaccepted():
                self.unaccepted.append(part)
            case Duplicate() | Dropped() | Delayed():
                self.copies.append(part)

    def _keep(self, part: Kept) -> None:
        """Of the state records of an endpoint the latest counts."""
        key = part.home, part.database, part.is_initiator
        before = self.kept.get(key)
        if before is None or part.at >= before.at:
            self.kept[key] = part


def _when_refused(refused: Refused) -> tuple[int, int]:
    return refused.reported_at, refused.number


def in_order(statements: list[Sent | Ended]) -> Iterator[Sent | Ended]:
    """Yield statements in their order, without those that an application repeated."""
    last: dict[tuple[str, Source], tuple[int, int]] = {}
    for statement in sorted(statements, key=lambda statement: (statement.place, statement.at)):
        if (cause := statement.cause) is not None:
            if cause.at <= last.get((statement.place, cause.source), (-1, -1)):
                continue
            last[statement.place, cause.source] = cause.at
        yield statement
