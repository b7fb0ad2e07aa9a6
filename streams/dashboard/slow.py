"""What takes long is read beside the page: Kafka may be slow, or away, and the rest is shown.

The last few answers are kept, fewer where they are large. What somebody looks at is read again
after a pause that grows with how long reading takes: looking costs Kafka a tenth of the time.
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
"""Seconds that a page waits for what nothing is known of before it shows the rest."""
KEPT = 64
ROOM = 60_000
"""So much of all answers together is kept, but always the last one, in units of ``weigh``."""
_PAUSE, _SHARE = 3_000, 10


@dataclass(frozen=True, slots=True)
class CachedResult(Generic[T]):
    """What is known; ``value`` is None where nothing is.

    ``as_of`` is from when it is (epoch milliseconds), ``took`` how long reading took, ``tried_at``
    when somebody last tried. ``trouble`` says why it could not be read again: ``value`` is then
    from before.
    """

    value: T | None = None
    as_of: int | None = None
    took: int = 0
    tried_at: int | None = None
    reading: bool = False
    trouble: Trouble | None = None

    def is_old(self, now: int) -> bool:
        """Tell whether it is time to read again."""
        if self.reading or self.tried_at is None:
            return not self.reading
        return now - self.tried_at >= max(_PAUSE, _SHARE * self.took)


@dataclass(slots=True)
class _Reading:
    answer: CachedResult[Any] = field(default_factory=CachedResult)
    done: threading.Event = field(default_factory=threading.Event)
    """Something is known, or why not."""


class Slow:
    """Answers by key. Safe to use from many threads; ``now`` returns epoch milliseconds.

    ``start`` runs what takes long elsewhere, in a few threads by default. ``weigh`` says
    how much room a value takes.
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
        self._lock = threading.Lock()
        self._readings: OrderedDict[Hashable, _Reading] = OrderedDict()

    def get(self, key: Hashable, read: Callable[[], T]) -> CachedResult[T]:
        """Return what is known by now; ``read`` runs elsewhere where it is time for it."""
        with self._lock:
            reading = self._readings.setdefault(key, _Reading())
            self._readings.move_to_end(key)
            self._forget()
            wanted = reading.answer.is_old(self._now())
            if wanted:
                reading.answer = replace(reading.answer, reading=True)
        if wanted:
            self._start(lambda: self._read(reading, read))
        reading.done.wait(self._patience)
        return reading.answer

    def _forget(self) -> None:
        def weight() -> int:
            known = (reading.answer.value for reading in self._readings.values())
            return sum(self._weigh(value) for value in known if value is not None)

        while len(self._readings) > KEPT or (len(self._readings) > 1 and weight() > ROOM):
            self._readings.popitem(last=False)

    def _read(self, reading: _Reading, read: Callable[[], Any]) -> None:
        began = self._now()
        try:
            answer = CachedResult(read(), began, self._now() - began, began)
        except HoplineError as error:
            answer = self._failed(reading.answer, error.message)
        except Exception as error:  # any error is reported, and the next look tries again
            log.exception("a page's content could not be read")
            why = f"It could not be read ({type(error).__name__}), see the log."
            answer = self._failed(reading.answer, why)
        with self._lock:
            reading.answer = answer
        reading.done.set()

    def _failed(self, before: CachedResult[Any], message: str) -> CachedResult[Any]:
        now = self._now()
        since = before.trouble.since if before.trouble else now
        return replace(before, reading=False, tried_at=now, trouble=Trouble(since, message))
