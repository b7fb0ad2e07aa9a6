"""The time that a worker may spend on searches for unreadable records."""

from __future__ import annotations

import time
from collections.abc import Callable

from streams.errors import SurroundingsError

_SHARE = 0.25
"""Share of the time that searches may take, and the reserve in seconds."""


class NotNowError(SurroundingsError):
    """Whether a record can be read is not known, and there is no time now to find out."""


class SearchTime:
    """The time left for searches, shared by all partitions of a worker.

    Other records and partitions wait for a search. ``clock`` is in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left, self._at = _SHARE, clock()

    def has_left(self) -> bool:
        """Return whether a search may begin."""
        now = self._clock()
        self._left, self._at = min(_SHARE, self._left + _SHARE * (now - self._at)), now
        return self._left > 0

    def spend(self, seconds: float) -> None:
        """Subtract the duration of a search that has found an unreadable record."""
        self._left -= seconds
