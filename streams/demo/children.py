"""The processes of the demo: start them, kill them on purpose, and stop them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from streams.embedded.process import release, spawn
from streams.errors import SurroundingsError
from streams.private import make_folder


class Children:
    """Child processes of ``hopline`` commands, each with a log file; a context manager.

    No child outlives this process, except after :meth:`leave`.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Children:
        make_folder(self._logs)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(*self._running)

    def start(self, name: str, *arguments: str) -> None:
        """Run ``hopline ARGUMENTS`` in the background, with its output in its log."""
        # Ctrl-C reaches only the demo, which then stops its children in order.
        command = [sys.executable, "-m", "streams", *arguments]
        self._running[name] = spawn(command, self.log(name), tied=True)

    def leave(self) -> dict[str, int]:
        """Keep all children running; return their process ids by name."""
        left = {name: child.pid for name, child in self._running.items()}
        for pid in left.values():
            release(pid)
        self._running.clear()
        return left

    def log(self, name: str) -> Path:
        """Return the file with a child's output."""
        return self._logs / f"{name}.log"

    def ended(self, name: str) -> bool:
        """Return whether a child has ended successfully; raise SurroundingsError if it failed."""
        code = self._running[name].poll()
        if code:
            lines = self.log(name).read_text(errors="replace").strip().splitlines()
            last = lines[-1] if lines else "no output"
            raise SurroundingsError(
                f"{name} ended with code {code}: {last}", f"Its log is {self.log(name)}."
            )
        return code == 0

    def check(self) -> None:
        """Raise SurroundingsError if a child has failed."""
        for name in list(self._running):
            self.ended(name)

    def kill(self, name: str) -> int:
        """Kill a child permanently with SIGKILL; return its process id."""
        child = self._running.pop(name)
        _kill(child)
        return child.pid

    def stop(self, *names: str, timeout: float = 20) -> None:
        """Drain and stop all children; after ``timeout`` seconds they are killed."""
        children = [self._running.pop(n) for n in names if n in self._running]
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
        for child in children:
            try:
                child.wait(timeout)
            except subprocess.TimeoutExpired:
                _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a child with its own children, and wait for it.

    This method does not use ``Popen.wait``: if Ctrl-C interrupts a poll, Popen may never release
    its lock, and would then wait for the lock forever.
    """
    os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):  # another call has already waited for the process
        os.waitpid(child.pid, 0)
    child.returncode = -signal.SIGKILL
