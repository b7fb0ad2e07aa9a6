"""Run a command with a pseudo-terminal as stdin, stdout and stderr."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

_BLOCK = 4_096


def at_terminal(*words: object, typed: str = "") -> tuple[int, str]:
    """Run ``hopline`` in a process with a terminal; return the exit code and what it shows.

    ``typed`` is in the terminal's input before the command asks for it.
    """
    ours, its = pty.openpty()
    args = [sys.executable, "-m", "streams", *map(str, words)]
    with subprocess.Popen(args, stdin=its, stdout=its, stderr=its, close_fds=True) as process:
        os.close(its)
        os.write(ours, typed.encode())
        shown = bytearray()
        while block := _read(ours):
            shown += block
    os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, _BLOCK)
    except OSError:  # Linux reports a terminal that nobody else has open as EIO
        return b""
