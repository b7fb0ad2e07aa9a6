"""Kafka's clock as a process estimates it, because the clocks of machines differ.

The broker stamps heartbeats when it appends them (``LogAppendTime``), so a reader knows the
broker's clock relative to its own monotonic clock, with a delay equal to the transfer time. The
transfer takes a fraction of a second, and the clock uses the record with the shortest transfer
within ten seconds. All workers of a cluster use this clock. A machine's own clock may be wrong or
may be changed, so it is used only until Kafka's clock is known.

When that record becomes too old and later records took longer, the clock is not set back: otherwise
a message could be in its queue before the time at which it was sent. Instead, the clock runs slower
until it is correct.
"""

from __future__ import annotations

from collections import deque

from streams.times import LATEST

SAMPLES = 10
"""The clock uses the record with the shortest transfer in this many seconds."""
FRESH = 2.0
"""A record counts as new if the topic was read to its end at most this many seconds earlier."""
STEP = 1.0
"""If the clock is ahead by at least this many seconds, it is set back immediately."""
DIFFERENCE = 24 * 3600.0
"""Maximum number of seconds by which another cluster's clock can plausibly differ from ours."""
SLEW = 0.5
"""The fraction by which the clock runs slower while it is ahead by less than :data:`STEP`."""


class KafkaClock:
    """The broker's clock. Every ``at`` is a time of the process's monotonic clock, in seconds.

    ``own``: seconds by which the machine's clock is ahead of the monotonic clock at the start. Only
    one thread updates the clock; any thread may read it.
    """

    def __init__(self, own: float = 0.0) -> None:
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)
        self._end_read = float("-inf")
        # Seconds by which Kafka's clock is ahead of the monotonic clock, seconds by which this
        # machine's clock was ahead at that time, and that time. They form one tuple because other
        # threads read them.
        self._course = own, own, 0.0

    def end_read(self, at: float) -> None:
        """Record that the topic was read to its end, so that later records are new."""
        self._end_read = at

    def seen(self, appended: int, at: float) -> None:
        """Process a record's append time (epoch milliseconds) by the broker's clock."""
        if at - self._end_read >= FRESH or not 0 <= appended <= LATEST:
            return
        sample, second = appended / 1000 - at, at
        if self._samples and at - self._samples[-1][1] < 1:
            before, second = self._samples.pop()
            sample = max(sample, before)
        self._samples.append((sample, second))
        best, ours = max(self._samples)[0], self._ahead(at)
        self._course = best, ours if ours - best < STEP else best, at

    def now(self, at: float) -> int:
        """Return Kafka's time in epoch milliseconds; the machine's time if Kafka's is unknown."""
        return int((at + self._ahead(at)) * 1000)

    def is_plausible(self, appended: int, at: float) -> bool:
        """Return whether a broker of another cluster may have this time (epoch milliseconds).

        If writers can set the timestamps in its topic, a single record could otherwise shift the
        expiries and timestamps of all copies by thousands of years, and brokers reject such
        timestamps.
        """
        return abs(appended - self.now(at)) <= DIFFERENCE * 1000

    def ahead_of(self, other: KafkaClock) -> int:
        """Return the milliseconds by which this clock is ahead of another; 0 if either is unknown.

        Both clocks are relative to the same monotonic clock.
        """
        if not self._samples or not other._samples:
            return 0
        return round((self._course[0] - other._course[0]) * 1000)

    def _ahead(self, at: float) -> float:
        best, ours, since = self._course
        return max(best, ours - SLEW * (at - since))
