"""Interrupt a computation that takes too much CPU time.

The XML Schema library is written in Python and has no limit of its own. Some schemas of 2 kB make
it take minutes for a body of a few bytes, twice as long for each further type.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

log = logging.getLogger("hopline.endpoint")

_EVERY = 0.2
"""Seconds between two looks at the running computations."""
T = TypeVar("T")


class TooExpensiveError(BaseException):
    """A computation has taken too much CPU time.

    Not an Exception, because libraries catch these and continue.
    """


class _Run:
    """A computation of the current thread that may use ``seconds`` of CPU time."""

    def __init__(self, seconds: float) -> None:
        self._thread = threading.get_ident()
        self._clock = _clock(self._thread)
        self._until = self._clock() + seconds
        self._interrupted = threading.Event()

    def is_over(self) -> bool:
        """Return whether the computation has used its CPU time; called by another thread."""
        try:
            return self._clock() >= self._until
        except OSError:  # the computation and its thread have ended
            return False

    def interrupt(self) -> None:
        """Raise TooExpensiveError in the computation's thread, at its next bytecode."""
        _raise_in(self._thread)
        self._interrupted.set()

    def settle(self) -> None:
        """Make sure that no exception of :meth:`interrupt` is raised from now on.

        It may have been raised before, or it is still pending. To remove a pending one is not
        enough: until Python 3.12, the interpreter would then look for it before each call for ever,
        and it would never return from a call while it is traced.
        """
        try:
            self._interrupted.wait()
            _raise_in(self._thread)  # instead of the pending one
            while True:
                pass
        except TooExpensiveError:
            pass


_runs: dict[_Run, None] = {}
"""The running computations. The thread that removes a run, its own or the watching one, decides
whether the computation ends by itself or is interrupted."""
_started = threading.Event()
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
    if not _watching:  # two threads may start one each, which is harmless
        _watching.append(threading.Thread(target=_watch, name="cpu limit", daemon=True))
        _watching[-1].start()
    run = _Run(seconds)
    _runs[run] = None
    _started.set()
    is_interrupted = False
    try:
        try:
            result = compute()
        finally:
            if _runs.pop(run, run) is run:
                is_interrupted = True
                run.settle()
        if is_interrupted:
            raise TooExpensiveError
    except TooExpensiveError:
        log.warning(warning())
        raise
    return result


def _watch() -> None:
    while True:
        _started.wait()
        _started.clear()
        while _runs:
            time.sleep(_EVERY)
            for run in [run for run in list(_runs) if run.is_over()]:
                if _runs.pop(run, run) is None:
                    run.interrupt()


def _raise_in(thread: int) -> None:
    what = ctypes.py_object(TooExpensiveError)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)
