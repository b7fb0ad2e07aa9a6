"""The load: numbered messages, each due at its time, in dialogs that begin and end.

The content of message ``k`` follows from ``k`` alone, so a killed application needs only one number
to continue, and the verdict needs none.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

_BODY = re.compile(rb"([0-9]{1,9})( more| last)?")
_NAMESPACE = uuid.UUID("5f0a4a5e-6a43-4a35-9a26-5d7e6a4bcb0f")


@dataclass(frozen=True, slots=True)
class Planned:
    """The role of message ``number``: the ``index``-th of its dialog, and whether the last."""

    number: int
    dialog: int
    index: int
    last: bool

    @property
    def body(self) -> bytes:
        """Return the body: the number, and whether the target must end the dialog."""
        return b"%d %s" % (self.number, b"last" if self.last else b"more")


@dataclass(frozen=True, slots=True)
class Load:
    """``dialogs`` are open at a time, each of ``length`` messages; ``rate`` messages a second.

    The target answers every ``answer``-th message, and ends a dialog after its last one; then the
    initiator ends it.
    """

    messages: int
    rate: float
    dialogs: int = 100
    length: int = 20
    answer: int = 4

    @property
    def seconds(self) -> float:
        """Return the duration in seconds."""
        return self.messages / self.rate

    def planned(self, number: int) -> Planned:
        """Return the role of a message; dialogs take turns, and a new set begins when one ends."""
        crowd, turn = divmod(number, self.dialogs * self.length)
        index, place = divmod(turn, self.dialogs)
        last = index == self.length - 1 or number + self.dialogs >= self.messages
        return Planned(number, crowd * self.dialogs + place, index, last)

    def due(self, seconds: float) -> int:
        """Return how many messages are due after this number of seconds."""
        return min(self.messages, int(max(0.0, seconds) * self.rate))

    def questions(self) -> Iterator[bytes]:
        """Yield the bodies of all messages of the initiators."""
        return (self.planned(number).body for number in range(self.messages))

    def answers(self) -> Iterator[bytes]:
        """Yield the bodies of all messages of the targets."""
        return (b"%d" % number for number in range(0, self.messages, self.answer))

    @property
    def talks(self) -> int:
        """Return how many dialogs there are."""
        return 1 + max((self.planned(n).dialog for n in self._tail()), default=-1)

    def conversations(self, prefix: str) -> frozenset[uuid.UUID]:
        """Return the ids of all dialogs of the load; other dialogs are not checked."""
        return frozenset(conversation(prefix, dialog) for dialog in range(self.talks))

    def _tail(self) -> range:
        return range(max(0, self.messages - self.dialogs * self.length), self.messages)


def conversation(prefix: str, dialog: int) -> uuid.UUID:
    """Return a dialog's id, the same at every start of the application."""
    return uuid.uuid5(_NAMESPACE, f"{prefix}{dialog}")


def number_in(body: bytes) -> int | None:
    """Return a message's number; ``None`` for a body that does not belong to the load."""
    found = _BODY.fullmatch(body)
    return int(found[1]) if found else None
