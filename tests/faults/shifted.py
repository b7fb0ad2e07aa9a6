"""``hopline`` with a clock that somebody else sets: ``python -m tests.faults.shifted FILE ...``.

The file holds by how many nanoseconds the clock is ahead; it is looked at whenever the time is
asked for, so the clock can be stepped while the process runs. Monotonic time goes on as it is, and
so does the clock of Kafka's client, which stamps records that nobody stamps.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

_LAYOUT = struct.Struct("<q")


class Clock:
    """A file that says how far clocks are ahead of the real one, in seconds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ahead = 0.0
        self.step(0.0)

    def step(self, seconds: float) -> None:
        """Set the clock forward by so many seconds, or back."""
        self.ahead += seconds
        self.path.write_bytes(_LAYOUT.pack(int(self.ahead * 1e9)))


def shift(path: Path) -> None:
    """Let this process go by the clock of a file."""
    real = time.time_ns
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), _LAYOUT.size, prot=mmap.PROT_READ)

    def now() -> int:
        return real() + int(_LAYOUT.unpack_from(view)[0])

    time.time_ns = now
    time.time = lambda: now() / 1e9


if __name__ == "__main__":
    shift(Path(sys.argv[1]))
    from streams.cli import main

    main(sys.argv[2:], prog_name="hopline")
