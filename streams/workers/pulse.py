"""Whether a worker's thread gets anywhere: it counts what it does, and others look at the count.

A call of Kafka's client may never come back. Turns are counted and not timed, so a process that was
stopped as a whole, or a machine that slept, does not look like one that hangs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

HUNG = 120.0
"""Seconds without a beat after which a thread hangs: the longest call with a deadline takes 30."""

_beats: dict[int, int] = {}


def beat() -> None:
    """Say that this thread gets on; from now on it must say so again and again."""
    here = threading.get_ident()
    _beats[here] = _beats.get(here, 0) + 1


def rest() -> None:
    """Say that this thread waits for something that may take any time."""
    _beats.pop(threading.get_ident(), None)


class Pulses:
    """The pulses of threads as somebody else sees them, who looks every few moments."""

    def __init__(self, threads: Iterable[threading.Thread], hung_after: float = HUNG) -> None:
        self._seen: dict[threading.Thread, tuple[int | None, float]] = dict.fromkeys(
            threads, (None, 0.0)
        )
        self._hung_after = hung_after

    def hung(self, since: float) -> threading.Thread | None:
        """Return a thread that hangs, if one does; the last look was ``since`` seconds ago."""
        for thread, (before, silent) in self._seen.items():
            beats = _beats.get(thread.ident or 0) if thread.is_alive() else None
            silent = silent + since if beats is not None and beats == before else 0.0
            self._seen[thread] = beats, silent
            if silent > self._hung_after:
                return thread
        return None
