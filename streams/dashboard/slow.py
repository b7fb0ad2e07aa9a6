"""What takes long is read beside the page: Kafka may be slow, or away, and the rest is shown."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from streams.errors import HoplineError

log = logging.getLogger("hopline.dashboard")

T = TypeVar("T")
PATIENCE = 0.4
"""Seconds that a page waits before it shows the rest."""
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What was read last, and when (epoch milliseconds); None where that goes on still.

    ``trouble`` says why the last attempt failed; ``value`` is then from before.
    """

    value: T | None = None
    at: int | None = None
    trouble: str = ""


@dataclass(slots=True)
class _Reading:
    future: Future[None] | None
    answer: Answer[Any]
    tried_at: int = -1


class Slow:
    """Answers by key, each read again in ``pool`` when it is older than ``keep`` milliseconds."""

    def __init__(
        self, now: Callable[[], int], keep: int = 5_000, pool: Executor | None = None
    ) -> None:
        self._now, self._keep = now, keep
        self._lock = threading.Lock()
        self._readings: OrderedDict[Hashable, _Reading] = OrderedDict()
        self._pool = pool or ThreadPoolExecutor(4, thread_name_prefix="slow")

    def get(self, key: Hashable, read: Callable[[], T]) -> Answer[T]:
        """Return what is known by now; ``read`` runs in another thread where it is time for it."""
        with self._lock:
            reading = self._readings.setdefault(key, _Reading(None, Answer()))
            self._readings.move_to_end(key)
            while len(self._readings) > _KEPT:
                self._readings.popitem(last=False)
            old = reading.tried_at < 0 or self._now() - reading.tried_at >= self._keep
            if reading.future is None and old:
                reading.future = self._pool.submit(self._read, reading, read)
            running = reading.future
        if running is not None and reading.answer.value is None:
            with suppress(Late):
                running.result(PATIENCE)
        return reading.answer

    def _read(self, reading: _Reading, read: Callable[[], Any]) -> None:
        try:
            answer = Answer(read(), self._now())
        except Exception as error:  # whatever it is: it is told, and the next look tries again
            known = error.message if isinstance(error, HoplineError) else None
            if known is None:
                log.exception("what a page asked for could not be read")
            trouble = known or f"it could not be read ({type(error).__name__}), see the log"
            answer = Answer(reading.answer.value, reading.answer.at, trouble)
        with self._lock:
            reading.answer, reading.tried_at, reading.future = answer, self._now(), None
