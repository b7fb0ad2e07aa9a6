"""Kafka's clock, as a process knows it: messages carry instants, and machines' clocks differ.

Signs of life are stamped by the broker when it appends them (``LogAppendTime``), so whoever reads
them as they come knows the broker's clock by its own monotonic one, late by what the record took:
a fraction of a second, and the best of ten counts. By that clock all workers of a cluster go. A
machine's own clock may be wrong or be set while they run: nobody looks at it once this is known.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

SAMPLES = 10
FRESH = 2.0
"""Seconds since the end of the topic was last read, up to which a record counts as just come."""


@dataclass(slots=True)
class KafkaClock:
    """The broker's clock; ``at`` is always the process's monotonic clock in seconds.

    One thread tells it what it reads; any may ask.
    """

    _samples: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    _ahead: float | None = None
    _end_read: float = float("-inf")

    def end_read(self, at: float) -> None:
        """Note that the topic was read to its end: what comes now was appended after that."""
        self._end_read = at

    def seen(self, appended: int, at: float) -> None:
        """Note a record that was appended at so many epoch milliseconds by the broker's clock."""
        if at - self._end_read < FRESH:
            self._samples.append(appended / 1000 - at)
            self._ahead = max(self._samples)

    def now(self, at: float) -> int | None:
        """Return the time in epoch milliseconds; ``None`` while nothing is known of it."""
        ahead = self._ahead
        return None if ahead is None else int((at + ahead) * 1000)

    def ahead_of(self, other: KafkaClock) -> int:
        """Return by how many milliseconds it is ahead of another one's; 0 while either is unknown.

        Both are known by the same monotonic clock.
        """
        mine, theirs = self._ahead, other._ahead
        return 0 if mine is None or theirs is None else round((mine - theirs) * 1000)
