"""The reachable next hops in another Kafka cluster.

The predicate is the same as in :mod:`streams.node.liveness.presence`: five seconds without a
heartbeat by the reader's own clock, which advances only with its own presence. The reader's
heartbeats are written only to its own cluster, so they cannot show how far it has read the other
cluster's topic. Instead, every name in that topic gets five more seconds whenever the reader may
have been suspended or disconnected from its own cluster. If a cluster is unreachable, no heartbeats
of its names arrive, so they become unreachable too.
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
        """Record a heartbeat of the reader itself; the next one is due in ``period`` seconds."""
        gap = 0.0 if self._own_at is None else at - self._own_at
        step = min(gap, STEP * self._own_period)
        if self._own_at is None or gap >= SILENCE * self._own_period:
            self._awake = self._clock + step
        self._clock += step
        self._own_at, self._own_period = at, period

    def seen(self, instance: str, replica: str, count: int, period: float = 1.0) -> None:
        """Record a heartbeat of the other cluster, unless its count is old."""
        if self._count.get(instance) != (replica, count):
            self._count[instance] = (replica, count)
            self._changed[instance] = self._clock
            self._periods[instance] = period

    def reachable(self, instance: str, at: float) -> bool:
        """Return whether an instance is reachable; true while this cannot be determined."""
        if self._own_at is None or at - self._own_at >= SILENCE * self._own_period:
            return True
        silent = self._clock - max(self._awake, self._changed.get(instance, 0.0))
        return silent < SILENCE * self._periods.get(instance, 1.0)
