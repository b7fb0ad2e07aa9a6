"""Detect hung threads by counting their turns.

A call of Kafka's client may never return. Turns are counted, not timed, so that a suspended process
or machine does not look hung.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

HUNG = 120.0
"""Seconds without a turn after which a thread counts as hung; calls may take 30 s to time out.
"""

_beats: dict[int, int] = {}
_failures: dict[int, BaseException] = {}


def beat() -> None:
    """Count a turn of the calling thread, which must call this regularly from now on."""
    here = threading.get_ident()
    _beats[here] = _beats.get(here, 0) + 1


def rest() -> None:
    """Stop watching the calling thread, because it may wait indefinitely."""
    _beats.pop(threading.get_ident(), None)


@contextmanager
def closing(close: Callable[[], None]) -> Iterator[None]:
    """Run the block, then ``close``; make the block's error known even if ``close`` hangs.

    Otherwise the error of a thread that cannot close its clients would never be reported.
    """
    here = threading.get_ident()
    try:
        yield
    except BaseException as error:
        _failures[here] = error
        raise
    finally:
        try:
            close()
        finally:
            _failures.pop(here, None)


def failure_of(thread: threading.Thread) -> BaseException | None:
    """Return the error after which a thread is closing its clients, if any."""
    return _failures.get(thread.ident or 0)


class Pulses:
    """The pulses of the threads that ``threads`` returns, checked periodically."""

    def __init__(
        self, threads: Callable[[], Iterable[threading.Thread]], hung_after: float = HUNG
    ) -> None:
        self._threads, self._hung_after = threads, hung_after
        self._seen: dict[threading.Thread, tuple[int | None, float]] = {}

    def hung(self, since: float) -> threading.Thread | None:
        """Return a hung thread, if any; the last check was ``since`` seconds ago."""
        seen_before, self._seen = self._seen, {}
        for thread in self._threads():
            before, silent = seen_before.get(thread, (None, 0.0))
            beats = _beats.get(thread.ident or 0) if thread.is_alive() else None
            silent = silent + since if beats is not None and beats == before else 0.0
            self._seen[thread] = beats, silent
        return next((t for t, (_, s) in self._seen.items() if s > self._hung_after), None)
