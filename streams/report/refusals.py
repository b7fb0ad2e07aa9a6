"""Statements that endpoints have refused: how many by error number, and the first of each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Refusal(NamedTuple):
    """A statement that was refused; ``at`` is when, in epoch milliseconds, and sorts first."""

    at: int
    conversation: uuid.UUID
    from_initiator: bool
    command_id: uuid.UUID
    place: str


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

    def to_json(self) -> dict[str, Any]:
        """Return them for scripts."""
        return {
            str(number): {
                "count": count,
                "first": {
                    "conversation": str(first.conversation),
                    "from": "initiator" if first.from_initiator else "target",
                    "command_id": str(first.command_id),
                    "place": first.place,
                    "at": first.at,
                },
            }
            for number, count, first in self
        }
