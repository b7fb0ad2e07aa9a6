"""When a worker works: always for its instance, and for a mirrored pair while it has the role.

The catalog says who is the principal of a pair (its role, under an epoch). A worker for a pair
waits until that is its instance, and leaves when it is no more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streams.node import CatalogView, held_epoch, narrowed
from streams.workers.control import Control

_LOOK = 0.1
"""Seconds between two looks whether the role has come."""
_SLEPT = 1.0
"""Seconds after which who was not awake asks the catalog before it does anything."""


class PairOwnership:
    """The right of one worker to work in the topics of its ``home``: its instance, or a pair.

    ``assigned``: it has been dealt its partitions there. ``clock`` is monotonic, in seconds.
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
        """Return after whom the topics are named."""
        return self.instance if self._pair is None else self._pair

    def __str__(self) -> str:
        return self.instance if self._pair is None else f"{self.instance}/{self._pair}"

    @property
    def of(self) -> str:
        """Return what a worker's role is called by, behind it: nothing for an instance's own."""
        return "" if self._pair is None else f" of the pair {self._pair}"

    @property
    def may_go(self) -> bool:
        """Tell whether the right may go at any moment, and must be seen to: it is a pair's."""
        return self._pair is not None

    @property
    def suffix(self) -> str:
        """Return what makes a group's name one tenure's: nobody waits for a predecessor's session.

        Nothing for an instance's own.
        """
        return "" if self._pair is None else f".{self._epoch}"

    @property
    def is_served(self) -> bool:
        """Tell whether nothing is missing: it works, or another instance has the role."""
        return self.assigned or self._held() is None

    @property
    def lasts(self) -> bool:
        """Tell whether it has the role for which it began to work, by the catalog as it is read."""
        return self._pair is None or self._held() == self._epoch

    def begins(self, stop: threading.Event) -> bool:
        """Wait for the role; ``False``: to be stopped came first."""
        while not stop.is_set():
            self._epoch = self._held()
            if self._epoch is not None:
                self._awake_at = self._clock()
                return True
            stop.wait(_LOOK)
        return False

    def confirm(self) -> bool:
        """Tell whether it has the role by the end of the catalog as it is now."""
        if self._pair is not None:
            self._control.catch_up(self._clock())
        return self.lasts

    def confirm_awake(self) -> bool:
        """Tell whether it has the role; who was stopped for a second reads the catalog first."""
        before, self._awake_at = self._awake_at, self._clock()
        return self.lasts if self._awake_at - before < _SLEPT else self.confirm()

    def catalog(self) -> CatalogView:
        """Return what it may see of the catalog: the databases that live in its home."""
        catalog = self._control.catalog
        if catalog is not self._catalog or self._seen is None:
            self._seen = narrowed(catalog, self.instance, self._pair)
            self._catalog = catalog
        return self._seen

    def _held(self) -> int | None:
        """Return the epoch under which the role is here; 0 of an instance, which is always here."""
        if self._pair is None:
            return 0
        return held_epoch(self._control.catalog, self.instance, self._pair)
