"""Which next hops are reachable: the one predicate behind failover, 9753 and 11290.

A durable topic never refuses a record, so "unreachable" is defined by heartbeats: a forwarder
writes its ``presence`` once a second, and an instance counts as unreachable when its presence has
not changed for five seconds by the *reader's* own clock. That clock goes only as the reader's own
presence is seen to advance, because what the others wrote stands between its own records in the
topic; and it goes no further at a time than a little more than a second, however long the reader
slept. Nobody is judged while the reader may have been asleep or cut off: its own presence must have
been seen to advance within five seconds, and the topic must have been read to its end since then.

These are the limits of a cluster with up to 200 names that give heartbeats. Where there are more,
each gives one less often (:func:`period_of`): every process reads all of them, so their cost would
grow with the square of the number of processes. A heartbeat says when the next one is due, and all
limits are multiples of that period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from streams.node.liveness.slot_owners import MANY
from streams.protocol import LONGEST_PERIOD

SILENCE = 5.0
"""Seconds without a change after which an instance counts as unreachable, in periods of one."""

STEP = 2.0
"""Seconds by which one own heartbeat moves the reader's clock at most, in periods of one."""

EACH_SECOND = 200
"""How many names of a cluster give one heartbeat a second; all together write no more than that."""


def period_of(names: int) -> float:
    """Return how many seconds there are between two heartbeats where so many names give them."""
    return float(min(max(1, math.ceil(names / EACH_SECOND)), LONGEST_PERIOD))


@dataclass(slots=True)
class Presence:
    """Heartbeats as one reader saw them; every ``at`` is its monotonic clock in seconds.

    ``own`` is the instance in whose name the reader itself writes; ``since`` when it began.
    """

    own: str
    since: float
    _clock: float = 0.0
    _own_at: float | None = None
    _own_period: float = 1.0
    _changed: dict[str, float] = field(default_factory=dict)
    _count: dict[str, tuple[str, int]] = field(default_factory=dict)
    _awake: float = float("inf")
    _end_read: float = float("-inf")
    _periods: dict[str, float] = field(default_factory=dict)
    _forget_from: int = MANY

    @property
    def clock(self) -> float:
        """Return the seconds that one's own heartbeats have advanced the reader's clock by."""
        return self._clock

    def seen(
        self,
        instance: str,
        replica: str,
        count: int,
        at: float,
        period: float = 1.0,
        *,
        clock: float | None = None,
    ) -> bool:
        """Note a heartbeat, and tell whether it is one's own; the next is due in ``period`` s.

        One that repeats an old count is none, and changes nothing. ``clock``: what :attr:`clock`
        was when it was read, if it is noted later.
        """
        if self._count.get(instance) == (replica, count):
            return False
        self._count[instance] = (replica, count)
        if period != 1 or instance in self._periods:
            self._periods[instance] = period
        if instance == self.own:
            gap = at - (self.since if self._own_at is None else self._own_at)
            if self._own_at is None or gap >= SILENCE * self._own_period:
                self._awake = at  # what the others wrote meanwhile is still to be read
            self._clock += min(gap, STEP * self._own_period)
            self._own_period = period
            self._own_at = at
        self._changed[instance] = self._clock if clock is None else clock
        if len(self._changed) > self._forget_from:
            self._forget()
        return instance == self.own

    def knows(self, instance: str) -> bool:
        """Tell whether an instance has sent a heartbeat, not too long ago."""
        return instance in self._changed

    def _forget(self) -> None:
        """Forget who has been unreachable for twice as long as it takes: so is who never came."""
        for instance, at in list(self._changed.items()):
            silence = SILENCE * self._periods.get(instance, 1.0)
            if instance != self.own and self._clock - at >= 2 * silence:
                del self._changed[instance], self._count[instance]
                self._periods.pop(instance, None)
        self._forget_from = max(MANY, 2 * len(self._changed))

    def end_read(self, at: float) -> None:
        """Note that the topic was read to its end."""
        self._end_read = at

    def may_judge(self, at: float) -> bool:
        """Tell whether the reader is awake and connected itself, and up to date."""
        own = self._own_at
        return (
            own is not None
            and at - own < SILENCE * self._own_period
            and self._end_read >= self._awake
        )

    def reachable(self, instance: str, at: float, silence: float = SILENCE) -> bool:
        """Tell whether an instance may be written to; in doubt it may.

        ``silence``: seconds without a change after which it may not, where one is due every second.
        """
        if instance == self.own or not self.may_judge(at):
            return True
        silent = self._clock - self._changed.get(instance, 0.0)
        return silent < silence * self._periods.get(instance, 1.0)
