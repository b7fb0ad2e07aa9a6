"""Decide when a worker is active: always for an instance; for a pair, only as the principal.

The catalog records which partner is the principal of a pair: a role with an epoch. A worker for a
pair waits until its instance is the principal, and stops when the instance loses the role.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streams.node import CatalogView, held_epoch, narrowed
from streams.workers.control import Control

_LOOK = 0.1
"""Seconds between checks whether the instance has the role."""
_SLEPT = 1.0
"""Seconds of suspension after which the catalog is read before any other work."""


class PairOwnership:
    """The right of one worker to use the topics of its ``home``: its instance, or a pair.

    ``assigned``: the worker has its partitions there. ``clock`` is monotonic, in seconds.
    """

    def __init__(
        self,
        control: Control,
        instance: str,
        pair: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.instance = instance
        self._control, self._pair = control, pair
        self._clock = clock
        self._epoch: int | None = None
        self._catalog: CatalogView | None = None
        self._seen: CatalogView | None = None
        self._awake_at = self._clock()
        self.assigned = False

    @property
    def home(self) -> str:
        """Return the instance or pair after which the topics are named."""
        return self.instance if self._pair is None else self._pair

    def __str__(self) -> str:
        return self.instance if self._pair is None else f"{self.instance}/{self._pair}"

    @property
    def of(self) -> str:
        """Return the suffix of a worker's role: empty for an instance."""
        return "" if self._pair is None else f" of the pair {self._pair}"

    @property
    def may_go(self) -> bool:
        """Return whether the right may be lost at any time, which is true for a pair."""
        return self._pair is not None

    @property
    def suffix(self) -> str:
        """Return the suffix of the group name, which prevents delays by earlier sessions.

        The suffix is empty for an instance.
        """
        return "" if self._pair is None else f".{self._epoch}"

    @property
    def is_served(self) -> bool:
        """Return whether the worker is active, or another instance has the role."""
        return self.assigned or self._held() is None

    @property
    def lasts(self) -> bool:
        """Return whether the worker still has its initial role in the catalog as read so far."""
        return self._pair is None or self._held() == self._epoch

    def begins(self, stop: threading.Event) -> bool:
        """Wait for the role; return ``False`` if stopped first."""
        while not stop.is_set():
            self._epoch = self._held()
            if self._epoch is not None:
                self._awake_at = self._clock()
                return True
            stop.wait(_LOOK)
        return False

    def confirm(self) -> bool:
        """Return whether the worker has the role according to the current end of the catalog."""
        if self._pair is not None:
            self._control.catch_up(self._clock())
        return self.lasts

    def confirm_awake(self) -> bool:
        """Return whether the worker has the role; after a suspension, read the catalog first."""
        before, self._awake_at = self._awake_at, self._clock()
        return self.lasts if self._awake_at - before < _SLEPT else self.confirm()

    def catalog(self) -> CatalogView:
        """Return the worker's part of the catalog: the databases of its home."""
        catalog = self._control.catalog
        if catalog is not self._catalog or self._seen is None:
            self._seen = narrowed(catalog, self.instance, self._pair)
            self._catalog = catalog
        return self._seen

    def _held(self) -> int | None:
        """Return the epoch of the role if this instance has it; 0 for a worker of an instance."""
        if self._pair is None:
            return 0
        return held_epoch(self._control.catalog, self.instance, self._pair)
