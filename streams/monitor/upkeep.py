"""Maintain the store periodically: merge windows, date acknowledgements, delete old rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from streams.store import Store, roll_up

_ROLL_EVERY_S = 60.0
_PRUNE_EVERY_S = 3600.0
_DAY_S = 86_400


@dataclass(slots=True)
class Upkeep:
    """Keep ``keep`` days of a store (None: all days); ``epoch`` returns the time in seconds."""

    store: Store
    keep: float | None
    epoch: Callable[[], float]
    _rolled_at: float = -math.inf
    _pruned_at: float = -math.inf

    def look(self, now: float) -> int:
        """Do the maintenance that is due; ``now`` is in monotonic seconds.

        Returns the number of deleted rows.
        """
        if now - self._rolled_at >= _ROLL_EVERY_S:
            self._rolled_at = now
            roll_up(self.store, round(self.epoch() * 1000))
            self.store.note_acknowledged()
        if self.keep is None or now - self._pruned_at < _PRUNE_EVERY_S:
            return 0
        self._pruned_at = now
        return self.store.prune(round((self.epoch() - self.keep * _DAY_S) * 1000))
