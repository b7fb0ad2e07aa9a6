"""Run ``hopline`` with a clock that the test sets: ``python -m tests.faults.shifted FILE ...``.

The file has the number of nanoseconds by which the machine's clock and Kafka's are ahead. It is
read at every query of the time, so clocks can be stepped while the process runs. Monotonic time is
unchanged, and so is the clock of Kafka's client, which stamps records that have no timestamp.
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

from streams.cli import main
from streams.kafka import Message
from streams.workers.control import heartbeat_writer, heartbeats, remote_watch

_LAYOUT = struct.Struct("<qq")


class Clock:
    """A file with the number of seconds by which clocks are ahead of the real one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._machine = self._kafka = 0.0
        path.write_bytes(bytes(_LAYOUT.size))

    def step(self, seconds: float) -> None:
        """Set the machine's clock forward by this number of seconds, or back."""
        self._machine += seconds
        found = _LAYOUT.pack(int(self._machine * 1e9), int(self._kafka * 1e9))
        with self.path.open("r+b") as file:  # in place, because other processes have mapped it
            file.write(found)

    def let_pass(self, seconds: float) -> None:
        """Let time pass, for the machine and for Kafka."""
        self._kafka += seconds
        self.step(seconds)


def shift(path: Path) -> None:
    """Let this process use the clocks of a file."""
    real_time, real_appended = time.time_ns, heartbeats.appended
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), _LAYOUT.size, prot=mmap.PROT_READ)

    def now() -> int:
        return real_time() + int(_LAYOUT.unpack_from(view)[0])

    def appended(message: Message) -> int:
        return real_appended(message) + int(_LAYOUT.unpack_from(view)[1]) // 1_000_000

    time.time_ns = now
    time.time = lambda: now() / 1e9
    for module in (heartbeat_writer, remote_watch, heartbeats):
        module.appended = appended  # type: ignore[attr-defined]


if __name__ == "__main__":
    shift(Path(sys.argv[1]))
    main(sys.argv[2:], prog_name="hopline")
