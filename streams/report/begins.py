"""Where logs begin later than with their first record: what was before was trimmed, rightly.

Of it nobody can say any more that it was delivered, nor that it was lost. So that neither is said
of what cannot be known, the account asks here before it misses anything. It stays exact where what
is left is proof enough: a queue's log has lost its beginning only, so of a dialog's messages those
before the first that is still there may be gone, and none between it and the last.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from streams.report.facts import Accepted, Delivered, Side


@dataclass(frozen=True, slots=True)
class Begins:
    """``commands`` of which instances, and ``queues`` of which places, begin later; maybe none.

    ``events_end``: the newest events could not be read (a transaction hangs there). Any of them may
    refuse a statement, or say why a dialog has ended.
    """

    commands: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    events_end: bool = False

    def __bool__(self) -> bool:
        return bool(self.commands or self.queues)

    def __or__(self, other: Begins) -> Begins:
        """Return what begins later by the account of one or the other cluster."""
        return Begins(
            self.commands | other.commands,
            self.queues | other.queues,
            self.events_end or other.events_end,
        )

    def has_all_commands(self, place: str) -> bool:
        """Tell whether the log still has every command that was issued at a place."""
        return _instance(place) not in self.commands

    def numbered(
        self,
        messages: Sequence[Accepted],
        side: Side | None,
        found: Mapping[UUID, Sequence[Delivered]],
    ) -> Sequence[Accepted]:
        """Return what one side has sent, as counted from the log's beginning, with its numbers.

        What arrived says them; else the state says how many there were, an END included.
        """
        if _instance(messages[0].sender.place) not in self.commands:
            return messages
        shifts = (c.sequence - m.sequence for m in messages for c in found.get(m.message_id, ()))
        read = sum(message.read for message in messages)
        shift = next(shifts, max(0, (side.sent or 0) - read) if side is not None else 0)
        return [replace(message, sequence=message.sequence + shift) for message in messages]

    def hide(
        self, message: Accepted, here: Sequence[Delivered], places: Collection[str], *, known: bool
    ) -> bool:
        """Tell whether a message may have been where logs begin no more, or why it never came.

        ``here`` is what is left of its dialog in the target's queue, ``places`` where that may be.
        ``known``: both sides' states are there, and say all that logs could.
        """
        if here and here[0].sequence < message.sequence:
            return not known and bool(self) and message.sequence > here[-1].sequence
        received = self.queues.intersection(places) if places else self.queues
        return bool(received) or (not known and bool(self))

    def unsaid(self, row: Delivered, first: int | None) -> bool:
        """Tell whether a delivered message's command may be gone.

        ``first`` is the first number of its sender that was delivered and whose command is there.
        """
        sent_by = row.path[0] if row.path else None
        gone = sent_by in self.commands if sent_by is not None else bool(self.commands)
        return gone and (first is None or row.sequence < first)


def _instance(place: str) -> str:
    return place.partition("/")[0]
