"""Who works in which slot, as heartbeats tell.

A slot is a worker's name across restarts, and one process at a time works in it. Whoever begins
looks here first. A predecessor that was killed must not be waited for longer than it takes to know
that it is none; one that lives must not be thrown out: it would begin again, and throw out in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

FRESH = 3_000
"""Milliseconds for which a heartbeat may stand for somebody who lives: three are due in them.

Three of their periods, where they are due less often than once a second.
"""
LEFT = 0
"""The count of a last sign: its worker has finished in order, and needs no more waiting for."""
MANY = 1_000
"""Names from which on those without a fresh heartbeat are forgotten now and then.

Whoever may write into ``presence`` may write any name there, and as many as it likes.
"""


class SlotState(Enum):
    """Whether a slot may be taken; ``OPEN``: it is too early to say."""

    FREE = "free"
    OPEN = "open"
    TAKEN = "taken"


class _Heartbeat(NamedTuple):
    replica: str
    number: int
    appended: int
    came: bool  # since the end of the topic was read for the first time
    fresh: float  # milliseconds for which it may stand for somebody who lives


@dataclass(slots=True)
class SlotOwners:
    """The last heartbeat in the name of each slot; ``own`` is the reader's own replica.

    One thread tells it what it reads; any may ask. Moments are epoch milliseconds by Kafka's clock,
    which is read off the newest sign of anybody: no other clock may judge who lives.
    """

    own: str
    _last: dict[str, _Heartbeat] = field(default_factory=dict)
    _mine: dict[str, _Heartbeat] = field(default_factory=dict)
    _other: dict[str, _Heartbeat] = field(default_factory=dict)
    _end_read: bool = False
    _newest: int = 0
    _forget_from: int = MANY

    def seen(
        self,
        slot: str,
        replica: str,
        count: int,
        appended: int,
        period: float = 1.0,
        *,
        came: bool | None = None,
    ) -> None:
        """Note a heartbeat; the next one is due in ``period`` seconds.

        ``came``: what :attr:`is_end_read` was when it was read, if it is noted later.
        """
        self.time(appended)
        fresh, came = FRESH * period, self._end_read if came is None else came
        heartbeat = self._last[slot] = _Heartbeat(replica, count, appended, came, fresh)
        (self._mine if replica == self.own else self._other)[slot] = heartbeat
        if len(self._last) > self._forget_from:
            self._forget()

    def _forget(self) -> None:
        """Forget who is silent by now; a slot that nobody knows is as free as theirs."""
        for slot, heartbeat in list(self._last.items()):
            if slot not in self._mine and self._newest - heartbeat.appended >= heartbeat.fresh:
                del self._last[slot]
                self._other.pop(slot, None)
        self._forget_from = max(MANY, 2 * len(self._last))

    def time(self, appended: int) -> None:
        """Note when anybody's sign was appended."""
        self._newest = max(self._newest, appended)

    @property
    def is_end_read(self) -> bool:
        """Tell whether the topic was ever read to its end."""
        return self._end_read

    def __len__(self) -> int:
        """Return in how many names any sign was noted."""
        return len(self._last)

    def end_read(self) -> None:
        """Note that the topic was read to its end: what comes now is written by who lives now."""
        self._end_read = True

    def has_left(self, slot: str) -> bool:
        """Tell whether the last one to work there has finished in order."""
        last = self._last.get(slot)
        return last is not None and last.number == LEFT

    def last_heartbeat(self, slot: str) -> int:
        """Return the count of one's own last sign there that has come back; 0: of none."""
        mine = self._mine.get(slot)
        return 0 if mine is None else mine.number

    def has_rival(self, slot: str) -> bool:
        """Tell whether somebody else gives signs there beside one's own, as Kafka stamped them."""
        mine, other = self._mine.get(slot), self._other.get(slot)
        if mine is None or other is None or other.number == LEFT:
            return False
        return mine.appended - other.appended < other.fresh

    def state(self, slot: str) -> SlotState:
        """Tell whether somebody else works there.

        Who asks has waited until the topic was read to its end.
        """
        last = self._last.get(slot)
        if last is None or last.replica == self.own or last.number == LEFT:
            return SlotState.FREE
        if self._newest - last.appended >= last.fresh:
            return SlotState.FREE
        return SlotState.TAKEN if last.came else SlotState.OPEN

    @property
    def living(self) -> int:
        """Return in how many names somebody sends heartbeats: instances' and slots'."""
        return sum(
            self._newest - heartbeat.appended < heartbeat.fresh and heartbeat.number != LEFT
            for heartbeat in self._last.values()
        )

    def patience(self, slots: Iterable[str]) -> float:
        """Return for how many seconds at most somebody who lives in one of these is silent."""
        signs = (self._last[slot] for slot in slots if slot in self._last)
        return max((heartbeat.fresh for heartbeat in signs), default=0) / 1000
