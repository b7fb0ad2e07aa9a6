"""Interrupt a computation that takes too much CPU time.

The XML Schema library is written in Python and has no limit of its own. Some schemas of 2 kB make
it take minutes for a body of a few bytes, twice as long for each further type.
"""

from __future__ import annotations

import ctypes
import logging
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

log = logging.getLogger("hopline.endpoint")

_EVERY = 0.2
"""Seconds between two looks at the running computations."""
_AGAIN = 1.0
"""Seconds of CPU time until a computation is interrupted again."""
T = TypeVar("T")


class TooExpensiveError(BaseException):
    """A computation has taken too much CPU time.

    Not an Exception, because libraries catch these and continue.
    """


class _Run:
    """A computation of the current thread, which :meth:`limit` limits.

    Attributes:
        is_interrupted: whether an exception was raised in the computation.
    """

    def __init__(self) -> None:
        self.is_interrupted = False
        self._thread = threading.get_ident()
        self._clock = _clock(self._thread)
        self._until = math.inf
        self._is_over = False
        self._is_watched = False

    def limit(self, seconds: float) -> None:
        """Let the computation use ``seconds`` of CPU time from now on."""
        self._until = self._clock() + seconds

    def watch(self) -> None:
        """Interrupt the computation if its time is used up; called by another thread.

        It is interrupted again later, because an exception in a finalizer or in a callback of the
        garbage collector is lost. Meanwhile, its thread has time for :meth:`settle`.
        """
        self._is_watched = True
        if not self._is_over and self._is_due():
            _raise_in(self._thread)
            self.is_interrupted = True
            self._until = self._clock() + _AGAIN
        self._is_watched = False

    def _is_due(self) -> bool:
        try:
            return self._clock() >= self._until
        except OSError:  # the computation and its thread have ended
            return False

    def settle(self) -> None:
        """Make sure that no exception of :meth:`watch` is raised from now on.

        It may have been raised before, or it is still pending. To remove a pending one is not
        enough: until Python 3.12, the interpreter would then look for it before each call for ever,
        and it would never return from a call while it is traced.
        """
        is_last = False
        while not is_last:
            try:
                self._is_over = True
                while self._is_watched:
                    time.sleep(0)
                is_last = True
                while self.is_interrupted:
                    _raise_in(self._thread)  # instead of the pending one
                    for _ in range(100):  # since Python 3.12, a finalizer may run here and lose it
                        pass
            except TooExpensiveError:
                pass


_runs: dict[_Run, None] = {}
"""The running computations."""
_started = threading.Event()
_starting = threading.Lock()
_watching: list[threading.Thread] = []


def _clock(thread: int) -> Callable[[], float]:
    """Return the CPU clock of a thread, or the monotonic clock on systems without CPU clocks."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    return partial(time.clock_gettime, time.pthread_getcpuclockid(thread))


def limited(seconds: float, compute: Callable[[], T], warning: Callable[[], str]) -> T:
    """Return the result of a computation; raise TooExpensiveError after ``seconds`` of CPU time.

    If it is interrupted, ``warning`` is logged. The time is measured by the CPU clock of the
    calling thread, so a paused process or a busy machine does not count. A call of a C function is
    not interrupted before it returns.
    """
    with _starting:
        if not _watching:
            _watching.append(threading.Thread(target=_watch, name="cpu limit", daemon=True))
            _watching[-1].start()
    run = _Run()
    _runs[run] = None
    _started.set()
    try:
        try:
            run.limit(seconds)
            result = compute()
        finally:
            run.settle()
        if run.is_interrupted:
            raise TooExpensiveError
    except TooExpensiveError:
        run.settle()  # the exception may have come before the first call of it
        log.warning(warning())
        raise
    finally:
        del _runs[run]
    return result


def _watch() -> None:
    while True:
        _started.wait()
        _started.clear()
        while _runs:
            time.sleep(_EVERY)
            for run in list(_runs):
                run.watch()


def _raise_in(thread: int) -> None:
    what = ctypes.py_object(TooExpensiveError)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)
