"""Blocks of a container, compressed beside whoever makes them: zlib lets other threads run.

They come back in the order in which they were given, so a file's bytes depend on no timing; and so
few are on their way that memory does not grow.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

LEVEL = 6
"""How hard deflate tries, unless somebody is in a hurry."""
_THREADS, _AHEAD = 2, 8


class Squeezer:
    """Deflate blocks of records; ``write`` takes each one's number of records and its bytes."""

    def __init__(self, write: Callable[[int, bytes], None], level: int = LEVEL) -> None:
        self._write, self._level = write, level
        self._under_way: deque[tuple[int, Future[bytes]]] = deque()
        self._threads: ThreadPoolExecutor | None = None

    def add(self, records: int, data: bytes) -> None:
        """Take a block; raises what ``write`` raises of former ones."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, "deflate")
        self._under_way.append((records, self._threads.submit(_deflated, data, self._level)))
        while self._under_way and (self._under_way[0][1].done() or len(self._under_way) > _AHEAD):
            self._pass_on()

    def finish(self) -> None:
        """Write what is under way, and let the threads go."""
        try:
            while self._under_way:
                self._pass_on()
        finally:
            if self._threads is not None:
                self._threads.shutdown()

    def _pass_on(self) -> None:
        records, squeezed = self._under_way.popleft()
        self._write(records, squeezed.result())


def _deflated(data: bytes, level: int) -> bytes:
    """Return Avro's deflate: without zlib's frame."""
    squeeze = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return squeeze.compress(data) + squeeze.flush()
