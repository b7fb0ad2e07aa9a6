"""Rejected statements: their count by error number, and the first of each number."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.errors.event import Event
from streams.errors.event_kinds import EventKind


class Refusal(NamedTuple):
    """A rejected statement; ``at`` is its time in epoch milliseconds, and the first sort key.

    ``statement`` is the kind, such as ``SEND``, if known.
    """

    at: int
    conversation: uuid.UUID
    from_initiator: bool
    command_id: uuid.UUID
    place: str
    statement: str = ""


def refusal_in(event: Event) -> Refusal | None:
    """Return the refusal that an event 124 reports, or ``None`` if it reports no refusal."""
    if event["event"] != EventKind.CONVERSATION or not event["error"]:
        return None
    try:
        ids = uuid.UUID(str(event["conversation"])), uuid.UUID(str(event["message_id"]))
    except ValueError:  # an end with an error, or an id of a foreign writer
        return None
    kind, refused, _ = event["detail"].partition(" refused")
    place = f"{event['instance']}/{event['database']}"
    statement = kind if refused else ""
    return Refusal(event["at"], ids[0], bool(event["from_initiator"]), ids[1], place, statement)


@dataclass(slots=True)
class Refusals:
    """Counts rejected statements by error number, and keeps the first of each number."""

    _found: dict[int, tuple[int, Refusal]] = field(default_factory=dict)

    def note(self, number: int, refusal: Refusal, count: int = 1) -> None:
        """Count several refusals with the same number; ``refusal`` is the first of them."""
        known, first = self._found.get(number, (0, refusal))
        self._found[number] = known + count, min(first, refusal)

    def add(self, other: Refusals) -> None:
        """Add the counts of other dialogs."""
        for number, count, first in other:
            self.note(number, first, count)

    def __iter__(self) -> Iterator[tuple[int, int, Refusal]]:
        """Yield (number, count, first refusal), sorted by number."""
        for number, (count, first) in sorted(self._found.items()):
            yield number, count, first

    def __bool__(self) -> bool:
        """Return whether any statement was rejected."""
        return bool(self._found)

    @property
    def total(self) -> int:
        """Return the number of rejected statements."""
        return sum(count for count, _ in self._found.values())

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a dictionary for JSON output."""
        return {
            str(number): {
                "count": count,
                "first": {
                    **({"statement": first.statement} if first.statement else {}),
                    "conversation": str(first.conversation),
                    "from": "initiator" if first.from_initiator else "target",
                    "command_id": str(first.command_id),
                    "place": first.place,
                    "at": first.at,
                },
            }
            for number, count, first in self
        }
