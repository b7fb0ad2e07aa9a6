"""Kill all processes that a test process has left behind, even if it was killed itself.

A process that outlives its parent by design, such as a worker of ``hopline up``, keeps the
environment with which it was started. Each test process adds a mark to its environment, and runs
this module in a process that reads a pipe. The pipe ends when the test process ends; all processes
with the mark are then killed. Only Linux shows the environment of other processes, so this has no
effect on other systems.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

PREFIX = "TESTS_OF_HOPLINE_"
"""Not ``HOPLINE_``: the command reports unknown variables that look like settings."""


class Leftovers:
    """Marks this process's descendants, and ends them after it or at :meth:`end`."""

    def __init__(self) -> None:
        mark = f"{PREFIX}{uuid.uuid4().hex}"
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, mark],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        os.environ[mark] = "1"  # after the start: it must not end itself

    def end(self) -> None:
        """End what is left now."""
        self._process.communicate()


def marked(mark: str) -> list[int]:
    """Return the processes that have a mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"\0{mark}".encode() in b"\0" + entry.read_bytes():
                found.append(int(entry.parent.name))
    return found


def main(mark: str) -> None:
    """Wait for the end of the test process; then kill what is left, until nothing is."""
    sys.stdin.buffer.read()
    deadline = time.monotonic() + 10
    while (left := marked(mark)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1])
