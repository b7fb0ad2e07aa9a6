"""Compress a container's blocks in threads; the libraries release the GIL.

Blocks are written in order, so a file's bytes do not depend on timing. Only a few blocks are in
flight, so memory is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from streams.capture.codec import Codec, squeeze

_THREADS, _AHEAD = 2, 8


class Squeezer:
    """Compress blocks of records; ``write`` gets each block's number of records and its bytes."""

    def __init__(self, write: Callable[[int, bytes], None], codec: Codec) -> None:
        self._write, self._codec = write, codec
        self._in_flight: deque[tuple[int, Future[bytes]]] = deque()
        self._threads: ThreadPoolExecutor | None = None

    def add(self, records: int, data: bytes) -> None:
        """Add a block; raise any exception that ``write`` raised for earlier blocks."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, "squeeze")
        self._in_flight.append((records, self._threads.submit(squeeze, self._codec, data)))
        while self._in_flight and (self._in_flight[0][1].done() or len(self._in_flight) > _AHEAD):
            self._pass_on()

    def finish(self) -> None:
        """Write the blocks in flight and end the threads."""
        try:
            while self._in_flight:
                self._pass_on()
        finally:
            if self._threads is not None:
                self._threads.shutdown()

    def _pass_on(self) -> None:
        records, squeezed = self._in_flight.popleft()
        self._write(records, squeezed.result())
