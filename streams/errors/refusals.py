"""Statements that endpoints have refused: how many by error number, and the first of each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.errors.event import Event
from streams.errors.events import EventKind


class Refusal(NamedTuple):
    """A statement that was refused; ``at`` is when, in epoch milliseconds, and sorts first.

    ``statement`` is its kind, such as ``SEND``, if known.
    """

    at: int
    conversation: uuid.UUID
    from_initiator: bool
    command_id: uuid.UUID
    place: str
    statement: str = ""


def refusal_in(event: Event) -> Refusal | None:
    """Return the refusal that an event 124 reports; ``None`` if it reports something else."""
    if event["event"] != EventKind.CONVERSATION or not event["error"]:
        return None
    try:
        ids = uuid.UUID(str(event["conversation"])), uuid.UUID(str(event["message_id"]))
    except ValueError:  # an end in error, or an id of a foreign writer
        return None
    kind, refused, _ = event["detail"].partition(" refused")
    place = f"{event['instance']}/{event['database']}"
    statement = kind if refused else ""
    return Refusal(event["at"], ids[0], bool(event["from_initiator"]), ids[1], place, statement)


@dataclass(slots=True)
class Refusals:
    """Counts refused statements by error number, and keeps the first one of each."""

    _found: dict[int, tuple[int, Refusal]] = field(default_factory=dict)

    def note(self, number: int, refusal: Refusal, count: int = 1) -> None:
        """Count refusals with a number, of which ``refusal`` is the first."""
        known, first = self._found.get(number, (0, refusal))
        self._found[number] = known + count, min(first, refusal)

    def add(self, other: Refusals) -> None:
        """Count those of other dialogs too."""
        for number, count, first in other:
            self.note(number, first, count)

    def __iter__(self) -> Iterator[tuple[int, int, Refusal]]:
        """Yield (number, count, first) by number."""
        for number, (count, first) in sorted(self._found.items()):
            yield number, count, first

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._found)

    @property
    def total(self) -> int:
        """Return how many statements were refused."""
        return sum(count for count, _ in self._found.values())

    def to_json(self) -> dict[str, Any]:
        """Return them for scripts."""
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
