"""Trimmed logs, whose earlier records are legitimately missing.

It is unknown whether the messages in those records were delivered or lost. So the account uses this
module before it reports a message as missing. The account stays exact if the remaining records are
sufficient proof. Only the beginning of a queue's log is trimmed, so a message of a dialog can be
trimmed only if it precedes the dialog's first remaining message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from uuid import UUID

from streams.report.facts import Accepted, Delivered, Side


@dataclass(frozen=True, slots=True)
class Begins:
    """The instances with trimmed ``commands`` and places with trimmed ``queues``.

    ``events_end``: whether a hung transaction hides the newest events. Any of them may reject a
    statement, or explain the end of a dialog.
    """

    commands: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    events_end: bool = False

    def __bool__(self) -> bool:
        return bool(self.commands or self.queues)

    def __or__(self, other: Begins) -> Begins:
        """Return the logs that are trimmed in either cluster."""
        return Begins(
            self.commands | other.commands,
            self.queues | other.queues,
            self.events_end or other.events_end,
        )

    def has_all_commands(self, place: str) -> bool:
        """Return whether the log still has every command issued at a place."""
        return _instance(place) not in self.commands

    def numbered(
        self,
        messages: Sequence[Accepted],
        side: Side | None,
        found: Mapping[UUID, Sequence[Delivered]],
    ) -> Sequence[Accepted]:
        """Return one side's messages with their numbers in the dialog, despite trimmed commands.

        The numbers follow from a delivered message or, without one, from the count in the state,
        which includes an END.
        """
        if _instance(messages[0].sender.place) not in self.commands:
            return messages
        shifts = (c.sequence - m.sequence for m in messages for c in found.get(m.message_id, ()))
        read = sum(message.read for message in messages)
        shift = next(shifts, max(0, (side.sent or 0) - read) if side is not None else 0)
        return [replace(message, sequence=message.sequence + shift) for message in messages]

    def hide(
        self, message: Accepted, here: Sequence[Delivered], places: Set[str], *, known: bool
    ) -> bool:
        """Return whether a message, or the reason for its absence, may have been trimmed.

        ``here`` are the remaining messages of its dialog in the target's queue, ``places`` the
        target's possible places. ``known``: whether the states of both sides exist and suffice.
        """
        if here and here[0].sequence < message.sequence:
            return not known and bool(self) and message.sequence > here[-1].sequence
        received = self.queues & places if places else self.queues
        return bool(received) or (not known and bool(self))

    def unsaid(self, row: Delivered, first: int | None) -> bool:
        """Return whether a delivered message's command may have been trimmed.

        ``first``: the lowest number among the sender's delivered messages whose commands remain.
        """
        sent_by = row.path[0] if row.path else None
        gone = sent_by in self.commands if sent_by is not None else bool(self.commands)
        return gone and (first is None or row.sequence < first)


def _instance(place: str) -> str:
    return place.partition("/")[0]
