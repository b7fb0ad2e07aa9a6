"""Read slow sources in the background, so that pages are shown even if Kafka is slow.

The last few results are cached, or fewer if they are large. A result in use is read again after a
pause. The pause grows with the duration of reading, so reading takes at most a tenth of the time.
Only a few readings may wait for a thread; beyond that, the page reports that the dashboard is busy.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from streams.dashboard.figures import Trouble
from streams.errors import HoplineError

log = logging.getLogger("hopline.dashboard")

T = TypeVar("T")
PATIENCE = 0.4
"""Seconds for which a page waits for a first result before it is shown without the result."""
KEPT = 64
WAITING = 8
"""Maximum number of readings that wait for a thread."""
ROOM = 60_000
"""The cache size in units of ``weigh``; the last result is always kept."""
BUSY = f"The dashboard is busy: {WAITING} other reads are waiting."
_PAUSE, _SHARE = 3_000, 10


@dataclass(frozen=True, slots=True)
class CachedResult(Generic[T]):
    """A cached result; ``value`` is None while there is no result.

    ``as_of`` is its time (epoch milliseconds), ``took`` the duration of reading, ``tried_at`` the
    last attempt. ``trouble`` explains why it could not be read again; ``value`` is then older.
    """

    value: T | None = None
    as_of: int | None = None
    took: int = 0
    tried_at: int | None = None
    reading: bool = False
    trouble: Trouble | None = None

    def is_old(self, now: int) -> bool:
        """Return whether it is time to read again."""
        if self.reading or self.tried_at is None:
            return not self.reading
        return now - self.tried_at >= max(_PAUSE, _SHARE * self.took)


@dataclass(slots=True)
class _Reading:
    answer: CachedResult[Any] = field(default_factory=CachedResult)
    done: threading.Event = field(default_factory=threading.Event)
    """Set as soon as a result or an error is known."""


class Slow:
    """Cached results by key. Thread-safe; ``now`` returns epoch milliseconds.

    ``start`` runs slow functions, in a few threads by default. ``weigh`` returns the size of a
    value.
    """

    def __init__(
        self,
        now: Callable[[], int],
        weigh: Callable[[Any], int] = lambda _: 1,
        start: Callable[[Callable[[], None]], object] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._now, self._weigh, self._patience = now, weigh, patience
        self._start = start or ThreadPoolExecutor(4, thread_name_prefix="slow").submit
        self._lock, self._waiting = threading.Lock(), 0
        self._readings: OrderedDict[Hashable, _Reading] = OrderedDict()

    def get(self, key: Hashable, read: Callable[[], T]) -> CachedResult[T]:
        """Return the cached result; start ``read`` if it is due."""
        with self._lock:
            reading = self._readings.get(key, _Reading())
            wanted = reading.answer.is_old(self._now())
            if wanted and self._waiting >= WAITING:
                reading.answer = self._busy(reading.answer)
                return reading.answer
            self._readings[key] = reading
            self._readings.move_to_end(key)
            self._forget()
            if wanted:
                self._waiting += 1
                reading.answer = replace(reading.answer, reading=True)
        if wanted:
            self._start(lambda: self._read(key, reading, read))
        reading.done.wait(self._patience)
        return reading.answer

    def _busy(self, before: CachedResult[Any]) -> CachedResult[Any]:
        """Return a result that is still due; only the results of known keys are cached."""
        since = before.trouble.since if before.trouble else self._now()
        return replace(before, trouble=Trouble(since, BUSY))

    def _forget(self) -> None:
        def weight() -> int:
            known = (reading.answer.value for reading in self._readings.values())
            return sum(self._weigh(value) for value in known if value is not None)

        while len(self._readings) > KEPT or (len(self._readings) > 1 and weight() > ROOM):
            self._readings.popitem(last=False)

    def _read(self, key: Hashable, reading: _Reading, read: Callable[[], Any]) -> None:
        with self._lock:
            self._waiting -= 1
            forgotten = self._readings.get(key) is not reading
        if forgotten:
            reading.done.set()
            return
        began = self._now()
        try:
            answer = CachedResult(read(), began, self._now() - began, began)
        except HoplineError as error:
            answer = self._failed(reading.answer, error.message)
        except Exception as error:  # log any error; the next call retries
            log.exception("a page's content could not be read")
            why = f"It could not be read ({type(error).__name__}); see the log."
            answer = self._failed(reading.answer, why)
        with self._lock:
            reading.answer = answer
        reading.done.set()

    def _failed(self, before: CachedResult[Any], message: str) -> CachedResult[Any]:
        now = self._now()
        since = before.trouble.since if before.trouble else now
        return replace(before, reading=False, tried_at=now, trouble=Trouble(since, message))
