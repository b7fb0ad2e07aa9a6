"""A watchdog process that kills a child process when the parent has exited or was killed.

The watchdog reads two pipes. Only the parent has the write end of the first pipe, and only the
child has the write end of the second. So a closed pipe means that its process has exited. There is
no watchdog on Windows.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys

_RELEASE = b"release\n"
_LEAVE_S = 5.0


class Watchdog:
    """A watchdog for one child process, which leads its own process group.

    The child inherits ``child_end``; :meth:`guard` is called when it has started, or :meth:`close`
    if it did not.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        child, self.child_end = os.pipe()
        parent, self._parent_end = os.pipe()
        script = [sys.executable, "-I", "-S", __file__, str(parent), str(child)]
        self.process = subprocess.Popen(
            script,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(parent, child),
            start_new_session=True,  # so that Ctrl-C in the shell does not reach the watchdog
        )
        os.close(parent)
        os.close(child)

    def guard(self, child: subprocess.Popen[bytes]) -> None:
        """Kill the child and its process group when our process exits."""
        self._child = child
        self._write(b"%d\n" % child.pid)
        os.close(self.child_end)

    def child_has_ended(self) -> bool:
        """Return whether the guarded process has exited."""
        return self._child is not None and self._child.poll() is not None

    def release(self) -> None:
        """Let the child outlive our process."""
        self._write(_RELEASE)

    def close(self) -> None:
        """Free the pipe and the process after the child has exited or has been released."""
        os.close(self._parent_end)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_LEAVE_S)

    def _write(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # the child and the watchdog have ended
            os.write(self._parent_end, line)


def watch(parent: int, child: int) -> None:
    """Wait until the pipe of the parent or the child is closed; kill the child if it still runs."""
    with open(parent, "rb", buffering=0) as orders, selectors.DefaultSelector() as selector:
        line = orders.readline()
        if not line:
            return  # no child was started
        selector.register(child, selectors.EVENT_READ)
        selector.register(orders, selectors.EVENT_READ)
        ready = {key.fd for key, _ in selector.select()}
        if child not in ready and orders.readline() != _RELEASE:
            os.killpg(int(line), signal.SIGKILL)


if __name__ == "__main__":
    watch(int(sys.argv[1]), int(sys.argv[2]))
