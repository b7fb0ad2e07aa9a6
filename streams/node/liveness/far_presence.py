"""Which next hops in another Kafka cluster are reachable, seen from this one.

The predicate is that of :mod:`streams.node.liveness.presence`: silence of five seconds by the
reader's own clock, which goes only as its own presence advances. That one stands in its own
cluster, so nothing in the other cluster's topic tells how far it was read. Instead, everybody there
has five seconds more whenever the reader may have been asleep or cut off from its own cluster. And
a cluster that cannot be reached at all is silent, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.node.liveness.presence import SILENCE, STEP


@dataclass(slots=True)
class FarPresence:
    """Heartbeats in another cluster; every ``at`` is the reader's monotonic clock in seconds."""

    _clock: float = 0.0
    _awake: float = 0.0
    _own_at: float | None = None
    _changed: dict[str, float] = field(default_factory=dict)
    _count: dict[str, tuple[str, int]] = field(default_factory=dict)
    _own_period: float = 1.0
    _periods: dict[str, float] = field(default_factory=dict)

    def beat(self, at: float, period: float = 1.0) -> None:
        """Note that the reader's own presence has advanced at home; ``period`` s to the next."""
        gap = 0.0 if self._own_at is None else at - self._own_at
        step = min(gap, STEP * self._own_period)
        if self._own_at is None or gap >= SILENCE * self._own_period:
            self._awake = self._clock + step
        self._clock += step
        self._own_at, self._own_period = at, period

    def seen(self, instance: str, replica: str, count: int, period: float = 1.0) -> None:
        """Note a heartbeat over there; one that repeats an old count changes nothing."""
        if self._count.get(instance) != (replica, count):
            self._count[instance] = (replica, count)
            self._changed[instance] = self._clock
            self._periods[instance] = period

    def reachable(self, instance: str, at: float) -> bool:
        """Tell whether an instance may be written to; in doubt it may."""
        if self._own_at is None or at - self._own_at >= SILENCE * self._own_period:
            return True
        silent = self._clock - max(self._awake, self._changed.get(instance, 0.0))
        return silent < SILENCE * self._periods.get(instance, 1.0)
