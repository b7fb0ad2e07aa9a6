"""The owners of slots, as shown by their heartbeats.

A slot is a worker's name across restarts, and only one process at a time may use it. A starting
worker first checks here that its slot is free. It must not wait for a killed predecessor longer
than the detection takes. It must not fence a live predecessor either, which would restart and fence
the new worker in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeVar

FRESH = 3_000
"""Milliseconds for which a heartbeat shows a live owner: three periods of at least a second.
"""
LEFT = 0
"""The count of a final heartbeat: the worker stopped properly, so a new worker need not wait."""
MANY = 1_000
"""Number of names above which names without a recent heartbeat are removed.

Any client with write access to ``presence`` can write heartbeats under any number of names.
"""
MOST_NAMES = 1 << 14
"""Maximum number of names that the reader does not need, even if all of them send heartbeats.

With 12,000 names, the period of heartbeats is at its maximum.
"""

_Name = TypeVar("_Name", bound=Hashable)
Keeps = Callable[[str], bool]
"""Returns whether the reader needs a name; other names never displace such a name."""


def keeps_none(_: str) -> bool:
    """Return False: the reader does not need any particular name."""
    return False


def displaced(seen_at: Mapping[_Name, float], keeps: Callable[[_Name], bool]) -> list[_Name]:
    """Return the names to remove if there are too many: the oldest quarter.

    ``seen_at``: the time at which the last heartbeat of each name was read.
    """
    excess = len(seen_at) - MOST_NAMES * 3 // 4
    if excess <= 0:
        return []
    return sorted((name for name in seen_at if not keeps(name)), key=seen_at.__getitem__)[:excess]


def next_removal(names: int) -> int:
    """Return the number of names above which names are removed again, if ``names`` are left."""
    return max(MANY, min(2 * names, MOST_NAMES), names + names // 4)


class SlotState(Enum):
    """Whether a slot may be taken; ``OPEN`` means that it is too early to decide."""

    FREE = "free"
    OPEN = "open"
    TAKEN = "taken"


class _Heartbeat(NamedTuple):
    replica: str
    number: int
    appended: int
    came: bool  # read after the topic was first read to its end
    fresh: float  # milliseconds for which the heartbeat may prove a live owner
    due: float  # when a running owner must have sent another; not changed by a final heartbeat


@dataclass(slots=True)
class SlotOwners:
    """The last heartbeat of each slot; ``own`` is the reader's own replica.

    Any client may also write under that replica, so ``keeps`` must return true for the reader's own
    slots.

    One thread updates this object; any thread may read it. Times are in epoch milliseconds by
    Kafka's clock, which is taken from the newest heartbeat of any name. No other clock may decide
    which processes are alive.
    """

    own: str
    keeps: Keeps = keeps_none
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
        """Record a heartbeat; the next heartbeat is due in ``period`` seconds.

        ``came``: the value of :attr:`is_end_read` when the heartbeat was read, if it is recorded
        only later.
        """
        self.time(appended)
        fresh, came = FRESH * period, self._end_read if came is None else came
        last = self._last.get(slot)
        due = appended + fresh / 2 if count != LEFT or last is None else last.due
        heartbeat = self._last[slot] = _Heartbeat(replica, count, appended, came, fresh, due)
        (self._mine if replica == self.own else self._other)[slot] = heartbeat
        if len(self._last) > self._forget_from:
            self._forget()

    def _forget(self) -> None:
        """Remove silent names; their slots remain free, because an unknown slot counts as free."""
        for slot, heartbeat in list(self._last.items()):
            if slot not in self._mine and self._newest - heartbeat.appended >= heartbeat.fresh:
                self._remove(slot)
        seen_at = {slot: heartbeat.appended for slot, heartbeat in self._last.items()}
        for slot in displaced(seen_at, self.keeps):
            self._remove(slot)
        self._forget_from = next_removal(len(self._last))

    def _remove(self, slot: str) -> None:
        del self._last[slot]
        self._mine.pop(slot, None)
        self._other.pop(slot, None)

    def time(self, appended: int) -> None:
        """Record the append time of a heartbeat of any name."""
        self._newest = max(self._newest, appended)

    @property
    def is_end_read(self) -> bool:
        """Return whether the topic has been read to its end at least once."""
        return self._end_read

    def __len__(self) -> int:
        """Return the number of names with a heartbeat."""
        return len(self._last)

    def end_read(self) -> None:
        """Record that the topic was read to its end; later heartbeats are from live processes."""
        self._end_read = True

    def has_left(self, slot: str) -> bool:
        """Return whether the last owner has stopped properly and has sent no heartbeat since.

        Any client with write access to ``presence`` can write a final heartbeat. So a final
        heartbeat counts only one and a half periods after the slot's last other heartbeat. By then,
        an owner that is still running has sent another heartbeat, which disproves the final one.
        """
        last = self._last.get(slot)
        return last is not None and last.number == LEFT and self._newest >= last.due

    def last_heartbeat(self, slot: str) -> int:
        """Return the count of the reader's own last heartbeat that it has read, or 0."""
        mine = self._mine.get(slot)
        return 0 if mine is None else mine.number

    def has_rival(self, slot: str) -> bool:
        """Return whether another process sends heartbeats of this slot, by Kafka's timestamps."""
        mine, other = self._mine.get(slot), self._other.get(slot)
        if mine is None or other is None or other.number == LEFT:
            return False
        return mine.appended - other.appended < other.fresh

    def state(self, slot: str) -> SlotState:
        """Return whether another process uses the slot.

        Call this after the topic was read to its end.
        """
        last = self._last.get(slot)
        if last is None or last.replica == self.own or last.number == LEFT:
            return SlotState.FREE
        if self._newest - last.appended >= last.fresh:
            return SlotState.FREE
        return SlotState.TAKEN if last.came else SlotState.OPEN

    @property
    def living(self) -> int:
        """Return the number of live names of instances and slots."""
        return sum(
            self._newest - heartbeat.appended < heartbeat.fresh and heartbeat.number != LEFT
            for heartbeat in self._last.values()
        )

    def patience(self, slots: Iterable[str]) -> float:
        """Return the maximum silence in seconds of a live owner of one of these slots."""
        signs = (self._last.get(slot) for slot in slots)  # another thread removes silent names
        return max((heartbeat.fresh for heartbeat in signs if heartbeat), default=0) / 1000
