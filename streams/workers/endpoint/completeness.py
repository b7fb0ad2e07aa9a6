"""Decide whether state that was read from a compacted topic may lack deletions.

Kafka removes a tombstone some time after it was written (``delete.retention.ms``). A reader that
was suspended or disconnected for longer misses the tombstone, and keeps the deleted value.
"""

from __future__ import annotations


class Completeness:
    """Whether one reader may have missed a deletion; times are Kafka's, in epoch milliseconds.

    Reading begins at ``at``. From then on, at most ``limit`` milliseconds may pass between two
    times before which the reader is known to have read all records. If the clock misses a
    suspension, the doubt is detected only when the clock is correct again.
    """

    def __init__(self, at: int, limit: int) -> None:
        self._limit = limit
        self._through = at
        self._mark: tuple[int, int] | None = None

    def ends(self, end: int, at: int) -> None:
        """Record that all records written before ``at`` have offsets below ``end``."""
        if self._mark is None:  # on a busy topic, a later end would never be reached
            self._mark = end, at

    def reaches(self, position: int, at: int) -> None:
        """Record that all records below ``position`` have been read."""
        if self._mark is not None and position >= self._mark[0] and not self.is_doubtful(at):
            (_, self._through), self._mark = self._mark, None

    def is_doubtful(self, at: int) -> bool:
        """Return whether a deletion may be missing; also true if the clock was set back."""
        return abs(at - self._through) > self._limit
