"""The broker's operating-system process: start, inspect and terminate it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streams.embedded.watchdog import Watchdog
from streams.private import open_private

POLL_S = 0.02

_SPAWNED: list[subprocess.Popen[bytes]] = []
"""Child processes, referenced until the interpreter exits.

Otherwise Python would warn about children that are still running, which is intended here.
"""
_WATCHDOGS: dict[int, Watchdog] = {}
"""Watchdogs by the process id of their child."""


def environment() -> dict[str, str]:
    """Return the environment for Java; with locale C, Java could not open a file named Übung."""
    return {**os.environ, "LC_ALL": "C.UTF-8"}


def spawn(
    command: list[str], log: Path, mode: str = "wb", *, umask: int = -1, tied: bool = False
) -> subprocess.Popen[bytes]:
    """Start a process in its own session; write its output to ``log`` (mode ``ab`` appends).

    Ctrl-C in the shell does not reach the new process, and the new process outlives this one. A
    ``tied`` process is killed when this process exits or is killed, unless it was released.
    """
    _forget_ended()
    if not tied or sys.platform == "win32":
        child = _popen(command, log, mode, umask)
    else:
        child = _tied(Watchdog(), command, log, mode, umask)
    _SPAWNED.append(child)
    return child


def release(pid: int) -> None:
    """Let a tied process outlive this process."""
    watchdog = _WATCHDOGS.pop(pid, None)
    if watchdog is not None:
        watchdog.release()
        watchdog.close()


def _tied(
    watchdog: Watchdog, command: list[str], log: Path, mode: str, umask: int
) -> subprocess.Popen[bytes]:
    _SPAWNED.append(watchdog.process)
    try:
        child = _popen(command, log, mode, umask, watchdog.child_end)
    except BaseException:
        os.close(watchdog.child_end)
        watchdog.close()
        raise
    watchdog.guard(child)
    _WATCHDOGS[child.pid] = watchdog
    return child


def _forget_ended() -> None:
    # Other threads may wait or start a process at the same time.
    for pid, watchdog in list(_WATCHDOGS.items()):
        if watchdog.child_has_ended() and _WATCHDOGS.pop(pid, None) is not None:
            watchdog.close()
    for each in list(_SPAWNED):
        if each.poll() is not None:
            with contextlib.suppress(ValueError):
                _SPAWNED.remove(each)


def _popen(
    command: list[str], log: Path, mode: str, umask: int, *inherited: int
) -> subprocess.Popen[bytes]:
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
        apart = {"creationflags": flags}
    with open_private(log, mode) as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(),
            umask=umask,
            pass_fds=inherited,
            **apart,
        )


def end(pid: int, gone: Callable[[], bool], timeout: float) -> None:
    """Terminate the process, and kill it if it has not exited within ``timeout`` seconds."""
    for number, patience in (
        (signal.SIGTERM, timeout),
        (getattr(signal, "SIGKILL", signal.SIGTERM), 5.0),
    ):
        try:
            os.kill(pid, number)
        except OSError:
            break
        if wait_until(gone, patience):
            break
    _forget_ended()  # the process may be our child


def wait_until(condition: Callable[[], bool], timeout: float) -> bool:
    """Poll until the condition is true; return whether it was within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def command_line(pid: int) -> str:
    """Return a process's command line, or "" if there is no such process.

    Callers compare it with the expected command line, because process ids are reused.
    """
    proc = Path(f"/proc/{pid}/cmdline")
    if proc.parent.parent.joinpath("self").exists():  # Linux
        try:
            return proc.read_bytes().replace(b"\0", b" ").decode(errors="surrogateescape")
        except OSError:
            return ""
    if sys.platform == "win32":
        query = f'(Get-CimInstance Win32_Process -Filter "ProcessId={pid}").CommandLine'
        command = ["powershell", "-NoProfile", "-Command", query]
    else:
        command = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return ""
