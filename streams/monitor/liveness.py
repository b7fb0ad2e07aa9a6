"""The instances that are alive, according to one reader of ``presence``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streams.node import LEFT, MOST_NAMES, SILENCE, Keeps, displaced, next_removal

_SILENCE_MS = int(SILENCE * 1000)
_SKEW_MS = 30_000
"""The assumed maximum difference between the reader's clock and Kafka's, until it is known."""


@dataclass(slots=True)
class Liveness:
    """The last heartbeat of each instance; times are Kafka's, in epoch milliseconds.

    The heartbeats advance Kafka's clock; between heartbeats the reader's own clock is used. Any
    client with write access to ``presence`` may invent names. So at most MOST_NAMES names are
    remembered, in addition to those for which ``keeps`` returns true.
    """

    keeps: Keeps
    _last: dict[str, tuple[int, float]] = field(default_factory=dict)
    _newest: int = 0
    _moved_at: int | None = None
    _seen: int = 0
    _forget_from: int = MOST_NAMES

    def seen(self, instance: str, at: int, count: int, period: float = 1.0) -> None:
        """Record a heartbeat; the next heartbeat is due in ``period`` seconds.

        The count LEFT means that the sender is leaving.
        """
        self._last[instance] = (at, 0 if count == LEFT else _SILENCE_MS * period)
        self._newest = max(self._newest, at)
        if len(self._last) > self._forget_from:
            for name in displaced({name: at for name, (at, _) in self._last.items()}, self.keeps):
                del self._last[name]
            self._forget_from = next_removal(len(self._last))

    def judge(self, now: int) -> Iterator[tuple[str, bool, int]]:
        """Yield each instance, whether it is up, and the time of its last heartbeat.

        ``now`` is the reader's clock in epoch milliseconds, of which only differences are used.
        """
        if self._moved_at is None:
            clock = max(self._newest, now - _SKEW_MS)
            self._moved_at = now - (clock - self._newest)
        elif self._newest > self._seen:
            self._moved_at, clock = now, self._newest
        else:
            clock = self._newest + now - self._moved_at
        self._seen = self._newest
        for instance, (at, silence) in sorted(self._last.items()):
            yield instance, clock - at < silence, at
