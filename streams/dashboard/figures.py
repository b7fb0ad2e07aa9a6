"""Query the store periodically, and keep the last result while the store is unavailable.

A range [since, until) has the windows that begin in it, however long it is: its totals are sums of
whole windows, so they are those of the store. A live range ends at the time of the query.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from streams.dashboard.span import Span
from streams.errors import HoplineError
from streams.store import Store

T = TypeVar("T")
_KEPT = 64
_SHARE = 10
"""A query pauses for this multiple of its duration, so it takes at most a tenth of the time."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """An unreadable source; ``since`` is the start of the failure, in epoch milliseconds."""

    since: int
    message: str


@dataclass(slots=True)
class _Known:
    answer: Any
    stamp: object = None
    again_at: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Window:
    """The requested time range [since, until), and the present; epoch milliseconds.

    A ``live`` range ends now. A row belongs to the range in which its window begins.
    """

    since: int
    until: int
    now: int
    live: bool = False

    @classmethod
    def of(cls, span: Span, now: int) -> Window:
        """Return the window at an instant."""
        return cls(*span.bounds(now), now, span.live)


class Figures:
    """Cached queries to a store; each is repeated when time has passed or data was added.

    A result is at most ``every`` seconds old, or ten times as old as its query took. Thread-safe.
    ``now`` returns epoch milliseconds; ``every`` is the refresh interval of pages, in seconds.
    """

    def __init__(self, store: Store, now: Callable[[], int], every: float) -> None:
        self._store, self._now = store, now
        self._every = max(1, round(every * 1_000))
        self._known: OrderedDict[object, _Known] = OrderedDict()
        self._lock = threading.Lock()
        self.trouble: Trouble | None = None

    @property
    def address(self) -> str:
        """Return the store's URL for users, without its password."""
        return self._store.address

    def ask(self, question: Callable[..., T], span: Span, default: T, *arguments: str) -> T:
        """Return the result of a query for a time range.

        ``question`` must be a module-level function, so that it is a stable cache key; it is called
        with the store, the time, and ``arguments``. While the store is unavailable the last result
        is returned, or ``default``.
        """
        known = self._known_of((question, span, arguments), default)
        with known.lock:
            try:
                self._look(known, lambda s, w: question(s, w, *arguments), span)
            except HoplineError as error:
                self._failed(error)
        found: T = known.answer
        return found

    def _look(self, known: _Known, question: Callable[[Store, Window], object], span: Span) -> None:
        window = Window.of(span, self._now())
        stamp = self._stamp(window)  # this also finds out whether the store is available
        if known.stamp != stamp and window.now >= known.again_at:
            known.answer = question(self._store, window)
            ended = self._now()
            known.stamp, known.again_at = stamp, ended + _SHARE * (ended - window.now)
        self.trouble = None

    def _stamp(self, window: Window) -> object:
        """Return a value that changes when the result of a query may change."""
        moved = window.now // self._every if window.live else None
        reached = {q: min(at, window.until) for q, at in self._store.reached().items()}
        return moved, self._store.progress(), reached

    def _known_of(self, key: object, default: object) -> _Known:
        with self._lock:
            known = self._known.setdefault(key, _Known(default))
            self._known.move_to_end(key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known

    def _failed(self, error: HoplineError) -> None:
        if self.trouble is None or self.trouble.message != error.message:
            began = self.trouble.since if self.trouble else self._now()
            self.trouble = Trouble(began, error.message)
