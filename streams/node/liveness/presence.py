"""Reachable next hops: the only predicate on which failover, 9753 and 11290 depend.

A durable topic never rejects a record, so "unreachable" is defined by heartbeats. A forwarder
writes its ``presence`` once a second. An instance is unreachable when its presence has not changed
for five seconds by the *reader's* own clock. That clock advances only when the reader reads its own
heartbeats, because the records of other names are interleaved with them in the topic. The clock
advances by little more than a second at a time, however long the reader was suspended. The reader
does not judge any instance while it may have been suspended or disconnected: its own presence must
have advanced within five seconds, and it must have read the topic to its end since then.

These limits apply to a cluster with up to 200 names. With more names, each name sends heartbeats
less often (:func:`period_of`): every process reads all heartbeats, so the cost would grow with the
square of the number of processes. A heartbeat contains the time until the next heartbeat, and all
limits are multiples of that period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from streams.node.liveness.slot_owners import MANY, Keeps, displaced, keeps_none, next_removal
from streams.protocol import LONGEST_PERIOD

SILENCE = 5.0
"""Number of one-second periods without a change after which an instance is unreachable."""

STEP = 2.0
"""Maximum advance of the reader's clock by one of its own heartbeats, in periods of one second."""

EACH_SECOND = 200
"""Maximum number of names that send one heartbeat per second; more names share this rate."""


def period_of(names: int) -> float:
    """Return the seconds between two heartbeats of a name if there are ``names`` names."""
    return float(min(max(1, math.ceil(names / EACH_SECOND)), LONGEST_PERIOD))


@dataclass(slots=True)
class Presence:
    """Heartbeats as read by one reader; every ``at`` is its monotonic clock in seconds.

    ``own`` is the name under which the reader itself writes, and ``since`` is its start time. Names
    for which ``keeps`` returns true are removed only if their heartbeats stop.
    """

    own: str
    since: float
    keeps: Keeps = keeps_none
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
        """Return the seconds by which the reader's own heartbeats have advanced its clock."""
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
        """Record a heartbeat; the next is due in ``period`` seconds. Return whether it is our own.

        Heartbeats with an old count are ignored. ``clock``: the value of :attr:`clock` when the
        heartbeat was read, if it is recorded only later.
        """
        if self._count.get(instance) == (replica, count):
            return False
        self._count[instance] = (replica, count)
        if period != 1 or instance in self._periods:
            self._periods[instance] = period
        if instance == self.own:
            gap = at - (self.since if self._own_at is None else self._own_at)
            if self._own_at is None or gap >= SILENCE * self._own_period:
                self._awake = at  # other names' records from this time have not been read yet
            self._clock += min(gap, STEP * self._own_period)
            self._own_period = period
            self._own_at = at
        self._changed[instance] = self._clock if clock is None else clock
        if len(self._changed) > self._forget_from:
            self._forget()
        return instance == self.own

    def _forget(self) -> None:
        """Remove names that have been unreachable for twice the limit."""
        for instance, at in list(self._changed.items()):
            silence = SILENCE * self._periods.get(instance, 1.0)
            if instance != self.own and self._clock - at >= 2 * silence:
                self._remove(instance)
        for instance in displaced(self._changed, self._is_needed):
            self._remove(instance)
        self._forget_from = next_removal(len(self._changed))

    def _is_needed(self, instance: str) -> bool:
        return instance == self.own or self.keeps(instance)

    def _remove(self, instance: str) -> None:
        del self._changed[instance], self._count[instance]
        self._periods.pop(instance, None)

    def end_read(self, at: float) -> None:
        """Record that the topic was read to its end."""
        self._end_read = at

    def may_judge(self, at: float) -> bool:
        """Return whether the reader itself is running, connected and up to date."""
        own = self._own_at
        return (
            own is not None
            and at - own < SILENCE * self._own_period
            and self._end_read >= self._awake
        )

    def reachable(self, instance: str, at: float, silence: float = SILENCE) -> bool:
        """Return whether an instance is reachable; true while this cannot be determined.

        ``silence``: the maximum number of seconds without a change, at one heartbeat per second.
        """
        if instance == self.own or not self.may_judge(at):
            return True
        silent = self._clock - self._changed.get(instance, 0.0)
        return silent < silence * self._periods.get(instance, 1.0)
