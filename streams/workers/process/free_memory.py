"""Return free memory to the operating system, because the C library would keep it.

Kafka's client allocates memory in many threads, and the C library has an arena for each thread,
which only grows. While a backlog drains, 20 to 50 MB of an endpoint worker's memory are free.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

EVERY = 10.0
"""Seconds between calls, each of which takes 1 to 20 ms."""


def _trim_of_libc() -> Callable[[int], int]:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):  # not glibc: musl, macOS, Windows
        return lambda _: 0
    return trim


_trim = _trim_of_libc()


class FreeMemory:
    """Trim this process's free memory every ten seconds; ``at`` is monotonic, in seconds."""

    def __init__(self, at: float) -> None:
        self._next = at + EVERY

    def give_back(self, at: float) -> bool:
        """Trim if a trim is due; return whether memory was trimmed."""
        if at < self._next:
            return False
        self._next = at + EVERY
        _trim(0)
        return True
