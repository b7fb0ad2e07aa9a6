"""Limit how often a failure with the same cause is logged."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

PAUSE = 60.0
"""Seconds until a failure with the same cause is logged again."""
_MOST_CAUSES = 1_000


class Causes:
    """Decide whether to log a failure: at most once a minute for each cause.

    ``clock`` is monotonic, in seconds. If there are too many causes, all of them are removed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: dict[Hashable, tuple[float, int]] = {}
        """For each cause, when it was last logged, and the number of failures omitted since."""

    def due(self, cause: Hashable) -> int | None:
        """Return how many failures with this cause were omitted since it was last logged.

        Returns ``None`` if the failure must not be logged now.
        """
        now = self._clock()
        at, omitted = self._logged.get(cause, (None, 0))
        if at is not None and now - at < PAUSE:
            self._logged[cause] = (at, omitted + 1)
            return None
        if len(self._logged) >= _MOST_CAUSES:
            self._logged.clear()
        self._logged[cause] = (now, 0)
        return omitted


def more(omitted: int) -> str:
    """Return the end of a sentence in the log, with the number of omitted failures."""
    return f"; {omitted} more records failed in the same way" if omitted else ""
