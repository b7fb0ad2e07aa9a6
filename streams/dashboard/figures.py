"""The store, asked again and again: what it said last is kept while it is away."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from streams.dashboard.span import Span
from streams.errors import HoplineError
from streams.store import Store

T = TypeVar("T")
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something cannot be read; ``since`` is when that began, in epoch milliseconds."""

    since: int
    message: str


@dataclass(slots=True)
class _Known:
    stamp: object
    answer: Any


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of time that is asked about, [since, until), and when; epoch milliseconds.

    ``live`` tells whether it goes on with the clock.
    """

    since: int
    until: int
    now: int
    live: bool = False

    @classmethod
    def of(cls, span: Span, now: int) -> Window:
        """Return what is meant at an instant."""
        return cls(*span.bounds(now), now, span.live)


class Figures:
    """Questions to a store, each answered once for as long as nothing has changed.

    Safe to use from several threads. ``now`` returns epoch milliseconds.
    """

    def __init__(self, store: Store, now: Callable[[], int], every: float) -> None:
        self._store, self._now = store, now
        self._every = max(1, round(every * 1_000))
        self._known: OrderedDict[object, _Known] = OrderedDict()
        self._lock = threading.Lock()
        self.trouble: Trouble | None = None

    @property
    def address(self) -> str:
        """Return where the figures are from, as a user may see it."""
        return self._store.address

    def ask(self, question: Callable[[Store, Window], T], span: Span, default: T) -> T:
        """Return what a question finds in a stretch of time.

        ``question`` is a function of a module, so that it is the same one each time. Where the
        store is away it is the answer before, ``default`` where there was none.
        """
        now = self._now() // self._every * self._every
        window = Window.of(span, now)
        key = (question, span)
        with self._lock:
            try:
                stamp = (self._store.progress(), window.since, window.until)
                known = self._known.get(key)
                if known is None or known.stamp != stamp:
                    answer = question(self._store, window)
                    known = self._keep(key, _Known(stamp, answer))
                self.trouble = None
            except HoplineError as error:
                self._failed(error)
                known = self._known.get(key)
        found: T = default if known is None else known.answer
        return found

    def _keep(self, key: object, known: _Known) -> _Known:
        self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return known

    def _failed(self, error: HoplineError) -> None:
        if self.trouble is None or self.trouble.message != error.message:
            began = self.trouble.since if self.trouble else self._now()
            self.trouble = Trouble(began, error.message)
