"""Who works in which slot, as signs of life tell.

A slot is a worker's name across restarts, and one process at a time works in it. Whoever begins
looks here first. A predecessor that was killed must not be waited for longer than it takes to know
that it is none; one that lives must not be thrown out: it would begin again, and throw out in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

FRESH = 3_000
"""Milliseconds for which a sign of life may stand for somebody who lives: three are due in them."""
LEFT = 0
"""The count of a last sign: its worker has finished in order, and needs no more waiting for."""


class Tenancy(Enum):
    """Whether a slot may be taken; ``OPEN``: it is too early to say."""

    FREE = "free"
    OPEN = "open"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class _Sign:
    replica: str
    count: int
    appended: int
    came: bool  # since the end of the topic was read for the first time


@dataclass(slots=True)
class Tenants:
    """The last sign of life in the name of each slot; ``own`` is the reader's own replica.

    One thread tells it what it reads; any may ask. Moments are epoch milliseconds by Kafka's clock.
    """

    own: str
    _last: dict[str, _Sign] = field(default_factory=dict)
    _mine: dict[str, _Sign] = field(default_factory=dict)
    _other: dict[str, _Sign] = field(default_factory=dict)
    _end_read: bool = False

    def seen(self, slot: str, replica: str, count: int, appended: int) -> None:
        """Note a sign of life."""
        sign = self._last[slot] = _Sign(replica, count, appended, self._end_read)
        (self._mine if replica == self.own else self._other)[slot] = sign

    def end_read(self) -> None:
        """Note that the topic was read to its end: what comes now is written by who lives now."""
        self._end_read = True

    def has_left(self, slot: str) -> bool:
        """Tell whether the last one to work there has finished in order."""
        last = self._last.get(slot)
        return last is not None and last.count == LEFT

    def heard(self, slot: str) -> int:
        """Return the count of one's own last sign there that has come back; 0: of none."""
        mine = self._mine.get(slot)
        return 0 if mine is None else mine.count

    def has_rival(self, slot: str) -> bool:
        """Tell whether somebody else gives signs there beside one's own, as Kafka stamped them."""
        mine, other = self._mine.get(slot), self._other.get(slot)
        if mine is None or other is None or other.count == LEFT:
            return False
        return mine.appended - other.appended < FRESH

    def tenancy(self, slot: str, now: int) -> Tenancy:
        """Tell whether somebody else works there."""
        last = self._last.get(slot)
        if last is None or last.replica == self.own or last.count == LEFT:
            return Tenancy.FREE
        if now - last.appended >= FRESH:
            return Tenancy.FREE
        return Tenancy.TAKEN if last.came else Tenancy.OPEN
