"""Blocks of a container, compressed beside whoever makes them: the libraries let other threads run.

They come back in the order in which they were given, so a file's bytes depend on no timing; and so
few are on their way that memory does not grow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from streams.capture.codec import Codec, squeeze

_THREADS, _AHEAD = 2, 8


class Squeezer:
    """Compress blocks of records; ``write`` takes each one's number of records and its bytes."""

    def __init__(self, write: Callable[[int, bytes], None], codec: Codec) -> None:
        self._write, self._codec = write, codec
        self._under_way: deque[tuple[int, Future[bytes]]] = deque()
        self._threads: ThreadPoolExecutor | None = None

    def add(self, records: int, data: bytes) -> None:
        """Take a block; raises what ``write`` raises of former ones."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, "squeeze")
        self._under_way.append((records, self._threads.submit(squeeze, self._codec, data)))
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
