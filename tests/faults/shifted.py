"""``hopline`` with a clock that somebody else sets: ``python -m tests.faults.shifted FILE ...``.

The file holds by how many nanoseconds the machine's clock is ahead, and Kafka's; it is looked at
whenever the time is asked for, so clocks can be stepped while the process runs. Monotonic time goes
on as it is, and so does the clock of Kafka's client, which stamps records that nobody stamps.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

from streams.cli import main
from streams.kafka import Message
from streams.workers.control import heartbeat_writer, heartbeats, remote_clusters

_LAYOUT = struct.Struct("<qq")


class Clock:
    """A file that says how far clocks are ahead of the real one, in seconds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._machine = self._kafka = 0.0
        path.write_bytes(bytes(_LAYOUT.size))

    def step(self, seconds: float) -> None:
        """Set the machine's clock forward by so many seconds, or back."""
        self._machine += seconds
        found = _LAYOUT.pack(int(self._machine * 1e9), int(self._kafka * 1e9))
        with self.path.open("r+b") as file:  # in place: others have it in memory
            file.write(found)

    def let_pass(self, seconds: float) -> None:
        """Let time pass, for the machine and for Kafka."""
        self._kafka += seconds
        self.step(seconds)


def shift(path: Path) -> None:
    """Let this process go by the clocks of a file."""
    real_time, real_appended = time.time_ns, heartbeats.appended
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), _LAYOUT.size, prot=mmap.PROT_READ)

    def now() -> int:
        return real_time() + int(_LAYOUT.unpack_from(view)[0])

    def appended(message: Message) -> int:
        return real_appended(message) + int(_LAYOUT.unpack_from(view)[1]) // 1_000_000

    time.time_ns = now
    time.time = lambda: now() / 1e9
    for module in (heartbeat_writer, remote_clusters, heartbeats):
        module.appended = appended  # type: ignore[attr-defined]


if __name__ == "__main__":
    shift(Path(sys.argv[1]))
    main(sys.argv[2:], prog_name="hopline")
