"""Let the store go of what is old, now and then."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from streams.store import Store

_EVERY_S = 3600.0
_DAY_S = 86_400


@dataclass(slots=True)
class Pruning:
    """Keeps ``keep`` days of a store, everything where None; ``epoch`` tells the time, seconds."""

    store: Store
    keep: float | None
    epoch: Callable[[], float]
    _at: float = -math.inf

    def look(self, now: float) -> int:
        """Prune if that was long ago; ``now`` in seconds that only grow. Returns how many rows."""
        if self.keep is None or now - self._at < _EVERY_S:
            return 0
        self._at = now
        return self.store.prune(round((self.epoch() - self.keep * _DAY_S) * 1000))
